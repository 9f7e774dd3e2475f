"""What a database is: its dialect, settings and abilities. Takes a connection, opens none."""
