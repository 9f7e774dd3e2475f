"""Which MariaDB a private server would use."""

from dbdyno.host.server_binaries import probe_of

PROBE = probe_of("mariadb")
