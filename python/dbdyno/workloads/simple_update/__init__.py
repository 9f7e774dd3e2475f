"""TPC-B without its hot rows."""
