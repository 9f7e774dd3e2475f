"""Which MySQL a private server can be made of."""

from dbdyno.host.server_binaries import probe_of

PROBE = probe_of("mysql")
