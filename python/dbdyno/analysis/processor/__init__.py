"""Where the server's CPU time goes: by kind of process, subsystem and function."""
