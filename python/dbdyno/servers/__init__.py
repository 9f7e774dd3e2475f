"""How a server comes to exist: found, or started, privately or kept, and always stopped again.

A ``spec`` says which server is wanted. A ``Product`` is a server that can be started, with all that
differs between products; a ``Blueprint`` is what was found and checked for one server, a
``Cluster`` its folder. A ``Guard`` outlives dbdyno and ends a private server; a kept one has a
record, by which it is found. A ``DataSet`` is data from which later servers start.
"""
