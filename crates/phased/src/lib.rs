//! The workloads of fixed work: tiobench and AIM7, which the mails of 2004 and 2014 measured with.
//!
//! What distinguishes them from the loops of the `workloads` crate is said at [`vfs_api::Phased`]. To add one: its file and its
//! line in [`registry!`](self).

use vfs_api::{Info, Params, Phased, Selected};

/// Something done once for every workload of fixed work, with its type.
pub trait Visitor {
    /// Called once for each, in the order of the registry.
    fn visit<W: Phased>(&mut self);
}

macro_rules! registry {
    ($($module:ident: $workload:ident;)*) => {
        $(pub mod $module;)*
        $(pub use $module::$workload;)*

        /// Every workload's description.
        pub const ALL: &[Info] = &[$(<$workload as Phased>::INFO),*];

        /// Calls `visitor` for every workload.
        pub fn visit_all(visitor: &mut impl Visitor) {
            $(visitor.visit::<$workload>();)*
        }
    };
}

registry! {
    tiobench: Tiobench;
    aim7: Aim7;
}

/// The workload of that name, with the parameters that follow a colon: `tiobench:size=1M,access=pread`. None if none has it.
///
/// # Errors
/// It does not take the parameters; in words.
pub fn find(text: &str) -> Option<Result<Selected, String>> {
    let (name, params) = text.split_once(':').unwrap_or((text, ""));
    let info = ALL.iter().find(|info| info.name == name)?;
    if text == name {
        return Some(Ok(Selected::from(info)));
    }
    let params = Params::parse(info.params, params).map_err(|problem| format!("{name}: {problem}"));
    Some(params.map(|params| Selected::new(info, params)))
}

/// Whether the parameters of a workload go together ([`Phased::check`]).
///
/// # Errors
/// They do not; in words.
pub fn check(workload: &Selected) -> Result<(), String> {
    struct Check<'a>(&'a Selected, Result<(), String>);
    impl Visitor for Check<'_> {
        fn visit<W: Phased>(&mut self) {
            if W::INFO.name == self.0.info().name {
                self.1 = W::check(self.0.params());
            }
        }
    }
    let mut check = Check(workload, Ok(()));
    visit_all(&mut check);
    check.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_found_by_name_and_parameters() {
        let shown = |text: &str| find(text).map(|found| found.map(|found| found.to_string()));
        assert_eq!(shown("tiobench"), Some(Ok("tiobench".into())));
        assert_eq!(
            shown("tiobench:size=1M,access=pread"),
            Some(Ok("tiobench:size=1M,access=pread".into()))
        );
        assert_eq!(shown("aim7:mix=disk"), Some(Ok("aim7:mix=disk".into())));
        assert_eq!(shown("open_close"), None);
        let error = shown("aim7:mix=discs").unwrap().unwrap_err();
        assert!(error.contains("new_fserver"), "{error}");
        assert!(shown("tiobench:").unwrap().is_err());
    }
}
