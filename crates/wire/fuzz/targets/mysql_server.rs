//! Any bytes from a client: the test server answers or gives an error, and never panics.

#![no_main]

use dbdyno_wire::testserver::mysql::{CannedReply, Server};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut answer = CannedReply::rows(&["a"], &[&[Some("1")]]);
    let mut out = Vec::new();
    let mut server = Server::greet(&mut out);
    for piece in data.chunks(17) {
        if server.receive(piece, &mut answer, &mut out).is_err() {
            break;
        }
    }
});
