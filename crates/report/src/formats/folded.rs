//! For flame graph tools: a line per stack, frames joined by `;`, then its weight.

use crate::{Format, Medium, Style, escape, stacks};
use results::Run;
use std::fmt::Write;

pub(crate) const FORMAT: Format = Format {
    name: "folded",
    medium: Medium::Terminal,
    summary: "folded stacks of what --locks found (ns waited, else samples), for flame graph tools",
    render,
};

fn render(run: &Run, _: &Style) -> String {
    let (_, stacks) = stacks::weighted(run);
    let mut text = String::new();
    for (frames, weight) in stacks {
        // What separates frames cannot be in one.
        let clean = |frame: &String| escape::plain(frame).replace(';', ":");
        let clean: Vec<String> = frames.iter().map(clean).collect();
        writeln!(text, "{} {weight}", clean.join(";")).expect("to a String");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_line_per_stack_whatever_names_hold() {
        let mut run = fixture::traced_run();
        run.curves[0].workload = "a;b\nc".into();
        let text = render(&run, &Style::default());
        assert_eq!(
            text,
            "a:b\\nc;2 tasks;do_syscall_64;sys_unlink;do_unlinkat;down_write;[rwsem write] 81234567\n\
             a:b\\nc;2 tasks;do_syscall_64;lookup_fast;lockref_get_not_dead;down_write;[spin] 1234567\n"
        );
    }
}
