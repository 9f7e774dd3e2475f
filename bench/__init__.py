"""Measures dbdyno against its peers on this machine: ``make bench``.

Speed is shown as a ratio against the real peer, both run in turn on the same server and data,
so that what disturbs one disturbs the other. Both tools are measured from outside, as whole
process trees. Only the ratios mean something elsewhere.
"""
