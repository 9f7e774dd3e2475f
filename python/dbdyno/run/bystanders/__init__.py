"""Clients beside the load, which see what the load itself cannot tell. They decide nothing."""
