//! Us and our peers on the same work.

fn main() {}
