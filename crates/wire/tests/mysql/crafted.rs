//! Exchanges that are legal but rare, or not legal at all, written by hand.
