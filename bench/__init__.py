"""Measures dbdyno against its peers on this host: ``make bench``.

Speed is a ratio to the real peer: both tools run alternately on the same server and data, so that
a disturbance affects both. Both are measured from outside, as whole process trees. Only the
ratios are valid on other hosts.
"""
