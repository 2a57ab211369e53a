//! Integration tests of the planning documents.

mod corpus;
