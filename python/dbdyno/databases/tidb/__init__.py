"""TiDB. From its documentation; never run against a server here."""
