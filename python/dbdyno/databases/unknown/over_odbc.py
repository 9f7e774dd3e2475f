"""Any database with an ODBC driver, in standard SQL. For the user's own scripts only.

There is no single way to ask every database for its tables: a workload's data is loaded only where
dbdyno knows the database.
"""

from dbdyno.databases.odbc.adapter import behind_odbc

ADAPTER = behind_odbc("odbc", "any database by ODBC")
