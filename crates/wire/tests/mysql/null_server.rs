//! Our client against our own server side: the two must agree on the protocol.
