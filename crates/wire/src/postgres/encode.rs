//! Encodes a client's messages. Knows neither states nor answers.

use super::parameter;
use dbdyno_model::Value;

/// Describe of the unnamed portal.
const DESCRIBE_PORTAL: &[u8] = b"D\0\0\0\x06P\0";
/// Execute of the unnamed portal, without a row limit.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";
const SYNC: &[u8] = b"S\0\0\0\x04";
const EXECUTE_AND_SYNC: &[u8] = b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
const COPY_DONE: &[u8] = b"c\0\0\0\x04";
const TERMINATE: &[u8] = b"X\0\0\0\x04";
/// Takes the place of the version in a startup message.
const CANCEL_REQUEST: u32 = 80_877_102;

/// The name of a prepared statement: empty, or derived from its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Unnamed,
    Numbered(u32),
}

impl Name {
    #[inline]
    fn write(self, out: &mut Vec<u8>) {
        if let Self::Numbered(number) = self {
            out.push(b's');
            decimal(out, number);
        }
        out.push(0);
    }
}

/// Appends one message; the length is filled in after the body is written.
#[inline]
pub(crate) fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    sized(out, body);
}

/// Appends a body preceded by its length.
#[inline]
fn sized(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

pub(crate) fn startup<'a>(
    version: u32,
    parameters: impl Iterator<Item = (&'a str, &'a str)>,
    out: &mut Vec<u8>,
) {
    sized(out, |out| {
        out.extend_from_slice(&version.to_be_bytes());
        for (name, value) in parameters {
            text(out, name);
            text(out, value);
        }
        out.push(0);
    });
}

pub(crate) fn cancel(process_id: u32, key: &[u8], out: &mut Vec<u8>) {
    sized(out, |out| {
        out.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
        out.extend_from_slice(&process_id.to_be_bytes());
        out.extend_from_slice(key);
    });
}

pub(crate) fn password(password: &str, out: &mut Vec<u8>) {
    message(out, b'p', |out| text(out, password));
}

pub(crate) fn sasl_initial(mechanism: &str, response: &str, out: &mut Vec<u8>) {
    message(out, b'p', |out| {
        text(out, mechanism);
        sized_text(out, response);
    });
}

pub(crate) fn sasl_response(response: &str, out: &mut Vec<u8>) {
    message(out, b'p', |out| out.extend_from_slice(response.as_bytes()));
}

/// A text preceded by its length, which here does not include itself.
fn sized_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
    out.extend_from_slice(text.as_bytes());
}

pub(crate) fn query(sql: &str, out: &mut Vec<u8>) {
    message(out, b'Q', |out| text(out, sql));
}

/// Parse with the types of the first parameters; the server infers those of the others.
pub(crate) fn parse(name: Name, sql: &str, types: &[u32], out: &mut Vec<u8>) {
    message(out, b'P', |out| {
        name.write(out);
        text(out, sql);
        out.extend_from_slice(&(types.len() as u16).to_be_bytes());
        for oid in types {
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
}

pub(crate) fn describe_statement(name: Name, out: &mut Vec<u8>) {
    message(out, b'D', |out| {
        out.push(b'S');
        name.write(out);
    });
}

pub(crate) fn close_statement(name: Name, out: &mut Vec<u8>) {
    message(out, b'C', |out| {
        out.push(b'S');
        name.write(out);
    });
}

/// Bind to the unnamed portal; `types` are the parameters' types, as far as known.
#[inline]
pub(crate) fn bind(name: Name, types: &[u32], parameters: &[Value], out: &mut Vec<u8>) {
    message(out, b'B', |out| {
        out.push(0);
        name.write(out);
        let count = (parameters.len() as u16).to_be_bytes();
        out.extend_from_slice(&count);
        let formats = out.len();
        out.resize(formats + 2 * parameters.len(), 0);
        out.extend_from_slice(&count);
        for (index, value) in parameters.iter().enumerate() {
            let type_oid = types.get(index).copied().unwrap_or(parameter::UNKNOWN);
            let format = parameter::write(type_oid, value, out);
            out[formats + 2 * index + 1] = format as u8;
        }
        out.extend_from_slice(&[0, 0]); // all results as text
    });
}

pub(crate) fn describe_portal(out: &mut Vec<u8>) {
    out.extend_from_slice(DESCRIBE_PORTAL);
}

pub(crate) fn execute(out: &mut Vec<u8>) {
    out.extend_from_slice(EXECUTE);
}

#[inline]
pub(crate) fn execute_and_sync(out: &mut Vec<u8>) {
    out.extend_from_slice(EXECUTE_AND_SYNC);
}

pub(crate) fn sync(out: &mut Vec<u8>) {
    out.extend_from_slice(SYNC);
}

pub(crate) fn copy_data(rows: &[u8], out: &mut Vec<u8>) {
    message(out, b'd', |out| out.extend_from_slice(rows));
}

pub(crate) fn copy_done(out: &mut Vec<u8>) {
    out.extend_from_slice(COPY_DONE);
}

pub(crate) fn copy_fail(reason: &str, out: &mut Vec<u8>) {
    message(out, b'f', |out| text(out, reason));
}

pub(crate) fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(TERMINATE);
}

/// A number in decimal, without Rust's formatting: every Bind contains one.
#[inline]
fn decimal(out: &mut Vec<u8>, number: u32) {
    if number >= 10 {
        decimal(out, number / 10);
    }
    out.push(b'0' + (number % 10) as u8);
}
