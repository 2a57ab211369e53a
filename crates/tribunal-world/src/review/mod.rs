//! Reviewers: who is asked, what each is shown, what their answers become.

pub(crate) mod assemble;
pub(crate) mod earlier;
pub(crate) mod evidence;
pub(crate) mod judge;
pub(crate) mod origin;
pub(crate) mod panel;
pub(crate) mod proof;
pub(crate) mod request;
pub(crate) mod show;
pub(crate) mod track;
