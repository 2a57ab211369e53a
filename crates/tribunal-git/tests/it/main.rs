//! Real git in temporary directories: what Tribunal does with it, and what it must never let happen.

mod archive;
mod capture;
mod forward;
mod history;
mod hooks;
mod hostile;
mod landing;
mod opening;
mod proposed;
mod quick;
mod sign;
mod snapshot;
mod speed;
mod support;
mod worktree_pool;
