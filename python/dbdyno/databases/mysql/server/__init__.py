"""MySQL and MariaDB as private servers: their programs, settings and folders."""
