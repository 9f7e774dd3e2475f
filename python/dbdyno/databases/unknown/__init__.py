"""A database that dbdyno does not know, over a protocol that it knows."""
