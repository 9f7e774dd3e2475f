"""What the statements of a script do: their text, tables, rows and order."""
