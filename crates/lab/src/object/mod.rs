//! struct file, inode, dentry, mount, super block.

mod file;
mod file_data;
mod inode;
mod mount;
mod raw;
mod super_block;

pub use file::{File, FileBody, Link};
pub use file_data::FileData;
pub use inode::{Inode, Kind};
pub use mount::Mount;
pub use raw::Raw;
pub use super_block::SuperBlock;
