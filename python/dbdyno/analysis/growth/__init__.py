"""How throughput grows with clients, and with the rows of a table."""
