"""Workloads: schema, data, weighted scripts, parameters, invariants; a folder for each family.

A :class:`~dbdyno.workloads.base.Workload` declares what it consists of; the ``registry`` finds it.
``preparing`` provides its data: ``status`` says what exists, a ``Loader`` loads what is missing.
"""
