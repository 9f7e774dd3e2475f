"""Whatever is not known: nothing is presumed that is not true of every database."""

from dbdyno.model.database import Database

DATABASE = Database(name="unknown", title="another database", protocol="odbc", known_from="nothing")
