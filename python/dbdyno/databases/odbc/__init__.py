"""Any database that has an ODBC driver."""
