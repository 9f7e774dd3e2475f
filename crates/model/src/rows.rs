//! The values of an answer's rows.

use std::fmt;

/// Rows of text values, each with the same number of columns; all of it in two buffers, since most
/// answers are read once and dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Rows {
    text: String,
    /// Where each value ends in `text`, and whether it is NULL.
    values: Vec<(u32, bool)>,
    /// How many values each row has; known when the first one has ended.
    width: usize,
}

impl Rows {
    /// Adds a row, whose values `write` adds one after the other. One that has more or fewer values
    /// than the first is cut, or filled with NULL.
    ///
    /// # Errors
    ///
    /// That of `write`; the row is then not added.
    pub fn push<E>(
        &mut self,
        write: impl FnOnce(&mut RowWriter<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (text, values) = (self.text.len(), self.values.len());
        let written = write(&mut RowWriter { text: &mut self.text, values: &mut self.values });
        if written.is_err() {
            self.text.truncate(text);
            self.values.truncate(values);
        } else if values == 0 {
            self.width = self.values.len();
        } else {
            let end = self.text.len() as u32;
            self.values.resize(values + self.width, (end, true));
            self.text.truncate(self.values.last().map_or(0, |(end, _)| *end as usize));
        }
        written
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.text.clear();
        self.values.clear();
    }

    /// Bytes that the values take.
    pub fn bytes(&self) -> usize {
        self.text.len() + size_of_val(&self.values[..])
    }

    /// The number of rows that have values.
    pub fn len(&self) -> usize {
        self.values.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether no row has values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The rows, each as its values, with nothing for NULL.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = Option<&str>>> {
        (0..self.len()).map(|row| self.row(row))
    }

    /// The last row.
    pub fn last(&self) -> Option<impl Iterator<Item = Option<&str>>> {
        self.len().checked_sub(1).map(|row| self.row(row))
    }

    fn row(&self, row: usize) -> impl Iterator<Item = Option<&str>> {
        (row * self.width..(row + 1) * self.width).map(|place| self.value(place))
    }

    fn value(&self, place: usize) -> Option<&str> {
        let start = place.checked_sub(1).map_or(0, |before| self.values[before].0);
        let (end, is_null) = self.values[place];
        (!is_null).then(|| &self.text[start as usize..end as usize])
    }
}

/// Writes the values of one row.
#[derive(Debug)]
pub struct RowWriter<'a> {
    text: &'a mut String,
    values: &'a mut Vec<(u32, bool)>,
}

impl RowWriter<'_> {
    /// Adds NULL.
    pub fn null(&mut self) {
        self.values.push((self.text.len() as u32, true));
    }

    /// Adds a value, which `write` appends to the text before it.
    ///
    /// # Errors
    ///
    /// That of `write`.
    pub fn value<E>(&mut self, write: impl FnOnce(&mut String) -> Result<(), E>) -> Result<(), E> {
        write(self.text)?;
        self.values.push((self.text.len() as u32, false));
        Ok(())
    }

    /// Adds a value, or NULL.
    pub fn text(&mut self, value: Option<&str>) {
        match value {
            Some(text) => {
                self.text.push_str(text);
                self.values.push((self.text.len() as u32, false));
            }
            None => self.null(),
        }
    }
}

impl<'a, R: IntoIterator<Item = Option<&'a str>>> FromIterator<R> for Rows {
    fn from_iter<I: IntoIterator<Item = R>>(rows: I) -> Self {
        let mut all = Self::default();
        for row in rows {
            let written: Result<(), std::convert::Infallible> = all.push(|writer| {
                row.into_iter().for_each(|value| writer.text(value));
                Ok(())
            });
            match written {
                Ok(()) => {}
            }
        }
        all
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.iter().map(Iterator::collect::<Vec<_>>)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn what_is_added_is_there() {
        let given = [[Some("1"), None, Some("")], [None, Some("ab"), Some("c")]];
        let rows: Rows = given.into_iter().collect();
        assert_eq!(rows.iter().map(Iterator::collect::<Vec<_>>).collect::<Vec<_>>(), given);
        assert_eq!(rows.last().expect("two rows").collect::<Vec<_>>(), given[1]);
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn every_row_has_as_many_values_as_the_first() {
        let rows: Rows =
            [vec![Some("1"), None], vec![Some("2"), Some("3"), Some("4")], vec![], vec![Some("5")]]
                .into_iter()
                .collect();
        let found: Vec<Vec<_>> = rows.iter().map(Iterator::collect).collect();
        assert_eq!(
            found,
            [[Some("1"), None], [Some("2"), Some("3")], [None, None], [Some("5"), None]]
        );
    }

    #[test]
    fn a_row_that_fails_is_not_there() {
        let mut rows: Rows = [[Some("1")]].into_iter().collect();
        let failed = rows.push(|row| {
            row.text(Some("2"));
            row.value(|_| Err("broken"))
        });
        assert_eq!(failed, Err("broken"));
        assert_eq!(rows, [[Some("1")]].into_iter().collect());
    }
}
