"""MariaDB 10.6 and later: what differs from MySQL."""
