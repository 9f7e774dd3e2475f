"""Studies: from a file with factors to runs in a fair order, and their results.

A file is read and resolved for a size (``file``, ``sizes``, ``spec``), multiplied out and put in
order (``matrix``), checked against the host (``plan``, ``feasibility``) and run (``execute``):
turn by turn (``turn``), each on a server of its own (``turn_server``) with a copy of the same data
(``prepared_data``). ``folder`` keeps all of it, so that it can be resumed.
"""
