"""Causes planted on real servers, which the explanation must name, and clean runs."""
