"""What a database is, one folder each: dialect, telemetry, driver, private server.

``adapter``, ``telemetry`` and ``connecting`` declare what a folder may provide; ``known`` finds the
folders and ``identify`` asks a server which it is. ``standard`` is the SQL from which the dialects
differ, ``bare`` the adapter of databases of which little is known, ``odbc`` the driver of all that
have one.
"""
