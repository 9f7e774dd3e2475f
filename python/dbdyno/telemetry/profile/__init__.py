"""What the server's processes are there for, and which functions they run in."""
