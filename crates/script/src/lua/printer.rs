//! Splits what scripts print into lines.

/// Keeps the beginning of a line until its end is printed.
#[derive(Debug)]
pub(super) struct Printer {
    line: String,
    print: fn(&str),
}

impl Printer {
    pub(super) fn new(print: fn(&str)) -> Self {
        Self { line: String::new(), print }
    }

    /// Prints each line that is complete now.
    pub(super) fn write(&mut self, words: &str) {
        let mut rest = words;
        while let Some((end, more)) = rest.split_once('\n') {
            self.line.push_str(end);
            (self.print)(&self.line);
            self.line.clear();
            rest = more;
        }
        self.line.push_str(rest);
    }
}

/// An incomplete last line is printed as well.
impl Drop for Printer {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            (self.print)(&self.line);
        }
    }
}
