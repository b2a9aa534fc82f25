//! What is known of a design beside its code.

use machine::SpinKind;

/// A design of a part; `vfscale list designs` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DesignInfo {
    /// The part: fd_table, file_list, ...
    pub part: &'static str,
    /// The design's name on the command line; the file's name.
    pub name: &'static str,
    /// Kernel version it was in, or "proposed 2004", ...
    pub kernel: &'static str,
    /// Commit or posting it is taken from.
    pub source: &'static str,
    /// The shared lines that one operation writes, in a few words.
    pub shared: &'static str,
    /// True if its text could not be found and it is built from descriptions.
    pub reconstruction: bool,
}

/// What every part needs to know of the kernel it is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Env {
    /// Number of CPUs.
    pub cpus: usize,
    /// The era's spinlock.
    pub spin: SpinKind,
}

/// Declares the designs of a part: one line registers one.
///
/// `designs! { "fd_table", dyn FdDesign<P>; spinlock::Spinlock, ... }` declares the modules, `DESIGNS`, and
/// `make::<P>(name, env)`. Each type must have `const INFO: DesignInfo` and `fn make<P: Platform>(env: &Env) -> Box<dyn ..>`.
macro_rules! designs {
    ($product:ident; $($module:ident::$design:ident),* $(,)?) => {
        $(mod $module;)*
        $(pub use $module::$design;)*

        /// Every design of this part, in the order of time.
        pub const DESIGNS: &[$crate::design::DesignInfo] = &[$($design::INFO),*];

        /// The design called `name` for a kernel like `env`; none if there is no such design.
        pub fn make<P: machine::Platform>(
            name: &str,
            env: &$crate::design::Env,
        ) -> Option<Box<dyn $product<P>>> {
            $(if name == $design::INFO.name {
                return Some($design::make::<P>(env));
            })*
            None
        }
    };
}

pub(crate) use designs;
