//! Compiles the loops written by hand in C, with -O2 whatever the profile: they are what the harness is compared with.

fn main() {
    println!("cargo::rerun-if-changed=src/loops.c");
    cc::Build::new().file("src/loops.c").opt_level(2).warnings(true).compile("loops");
}
