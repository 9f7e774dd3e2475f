"""MariaDB as a private server."""
