//! What tests share: the simulated world. Nothing of it is part of the product.

pub mod sim;
