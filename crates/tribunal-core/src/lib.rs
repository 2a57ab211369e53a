//! What is true and what should happen: the Run and Loop machines and what they are made of.
//!
//! Nothing here knows the time, a file, a process or a random number. A time comes in with a report; effects come out
//! as wants.
//!
//! Begin with [`machine`], then read `review_loop` and `run`, in each `decide`, `settle`, `apply` and `wants` in this
//! order. Every decision of Tribunal belongs here, so that the laws and the simulator meet it.

pub mod checks;
pub mod contract;
pub mod converge;
pub mod cover;
pub mod defence;
pub mod effect;
pub mod evidence;
pub mod failure;
pub mod finding;
pub mod forward;
pub mod gate;
pub mod green;
pub mod hash;
pub mod held;
pub mod ids;
pub mod judge_files;
pub mod lease;
pub mod ledger;
pub mod machine;
pub mod message;
pub mod network;
pub mod panel;
pub mod policy;
pub mod prepare;
pub mod protected;
pub mod review_loop;
pub mod roster;
pub mod run;
pub mod search_path;
pub mod tables;
pub mod tool;
pub mod trust;
pub mod usage;
pub mod who;
pub mod words;
