"""A study as a page, as text for a terminal, and as one object for programs."""
