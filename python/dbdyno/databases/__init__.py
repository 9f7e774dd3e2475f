"""What a database is, one folder each: dialect, telemetry, driver, private server."""
