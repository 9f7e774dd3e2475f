"""MySQL 8.0 and later, and what MariaDB shares with it."""
