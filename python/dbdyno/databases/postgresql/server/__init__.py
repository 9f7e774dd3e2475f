"""PostgreSQL as a private server: its programs, settings and folder."""
