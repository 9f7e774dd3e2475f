"""``dbdyno serve``: pages and an interface for programs, made from the run folders.

The server keeps nothing of its own: what it shows is read when it is asked for, so that runs that
were started elsewhere are there, too, and ending it ends no run. What changes something is a
command, in a process of its own.
"""
