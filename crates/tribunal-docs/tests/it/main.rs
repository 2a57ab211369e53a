//! Integration tests of the planning documents.

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod edit;
#[cfg(test)]
mod import;
#[cfg(test)]
mod import_corpus;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod messy;
#[cfg(test)]
mod names;
#[cfg(test)]
mod phase;
#[cfg(test)]
mod plan;
#[cfg(test)]
mod progress;
#[cfg(test)]
mod review;
#[cfg(test)]
mod summary;
#[cfg(test)]
mod uat;
