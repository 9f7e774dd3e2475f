"""What a database is: its words, its settings, what it can do. Given a connection, opens none."""
