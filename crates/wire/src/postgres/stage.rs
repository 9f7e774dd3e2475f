//! How far the answer to a request has been received, and which message may come next.
//!
//! The legal transitions are a table, which shows the grammar of answers; a message that is not in
//! it is either asynchronous (a notice may come at any time) or violates the protocol.

/// How far the answer to the oldest outstanding request has been received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Nothing is outstanding.
    Idle,
    /// Parse was sent, after Close if the statement was stale.
    Parsing,
    /// Bind comes next: the statement exists, or has just been parsed. If Describe was sent with
    /// Parse, its two answers come first.
    Parsed,
    /// The types of the parameters have been received; the columns come next.
    Described,
    /// Described completely. A preparation before the run ends here; any other use continues with
    /// Bind.
    Planned,
    /// Bound: next come rows, or the end of a command without rows.
    Bound,
    /// Rows are being received. They are counted; few are kept.
    Rows,
    /// A COPY of an extended request is in progress.
    Copying,
    /// Executed. An error may still come, when the implicit transaction cannot commit; a request
    /// with a synchronization point ends with `ReadyForQuery`.
    Executed,
    /// A simple query was sent: before or between its statements.
    Text,
    /// Rows of one statement of a simple query.
    TextRows,
    /// A COPY of a simple query is in progress.
    TextCopying,
    /// An error occurred, and the server skips everything up to the synchronization point.
    Failed,
}

use Stage::{
    Bound, Copying, Described, Executed, Failed, Idle, Parsed, Parsing, Planned, Rows, Text,
    TextCopying, TextRows,
};

/// (in this stage, these messages, lead to this stage)
const MOVES: &[(Stage, &[u8], Stage)] = &[
    (Parsing, b"3", Parsing),
    (Parsing, b"1", Parsed),
    (Parsed, b"t", Described),
    (Parsed, b"2", Bound),
    (Described, b"Tn", Planned),
    (Planned, b"2", Bound),
    (Planned, b"Z", Idle),
    (Bound, b"Tn", Rows),
    (Bound, b"D", Rows),
    (Bound, b"CI", Executed),
    (Bound, b"GHW", Copying),
    (Rows, b"D", Rows),
    (Rows, b"CI", Executed),
    (Copying, b"dc", Copying),
    (Copying, b"C", Executed),
    (Executed, b"Z", Idle),
    (Text, b"T", TextRows),
    (Text, b"CI", Text),
    (Text, b"GHW", TextCopying),
    (Text, b"Z", Idle),
    (TextRows, b"D", TextRows),
    (TextRows, b"C", Text),
    (TextCopying, b"dc", TextCopying),
    (TextCopying, b"C", Text),
    (Failed, b"Z", Idle),
    (Parsing, b"E", Failed),
    (Parsed, b"E", Failed),
    (Described, b"E", Failed),
    (Planned, b"E", Failed),
    (Bound, b"E", Failed),
    (Rows, b"E", Failed),
    (Copying, b"E", Failed),
    (Executed, b"E", Failed),
    (Text, b"E", Failed),
    (TextRows, b"E", Failed),
    (TextCopying, b"E", Failed),
];

const STAGES: usize = Failed as usize + 1;
const TAGS: usize = 128;

/// [`MOVES`] as a table with one lookup per message.
static NEXT: [[Option<Stage>; TAGS]; STAGES] = laid_out();

const fn laid_out() -> [[Option<Stage>; TAGS]; STAGES] {
    let mut table = [[None; TAGS]; STAGES];
    let mut row = 0;
    while row < MOVES.len() {
        let (from, tags, to) = MOVES[row];
        let mut column = 0;
        while column < tags.len() {
            table[from as usize][tags[column] as usize] = Some(to);
            column += 1;
        }
        row += 1;
    }
    table
}

impl Stage {
    /// The next stage after a message, if the message is allowed now.
    #[inline]
    pub(crate) fn after(self, tag: u8) -> Option<Self> {
        *NEXT[self as usize].get(usize::from(tag))?
    }

    /// The stage's name, for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Idle => "Idle",
            Parsing => "Parsing",
            Parsed => "Parsed",
            Described => "Described",
            Planned => "Planned",
            Bound => "Bound",
            Rows => "Rows",
            Copying => "Copying",
            Executed => "Executed",
            Text => "Text",
            TextRows => "TextRows",
            TextCopying => "TextCopying",
            Failed => "Failed",
        }
    }
}
