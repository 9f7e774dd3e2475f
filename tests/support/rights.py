"""Marks for tests that need rights which an ordinary user does not have."""

import pytest

another_account = pytest.mark.roots_own("a server is run under another account")
control_groups = pytest.mark.roots_own("control groups are made")
mounts = pytest.mark.roots_own("a disk is mounted")
namespaces = pytest.mark.roots_own("a server is run in a namespace")
network_namespaces = pytest.mark.roots_own("a network is made")
