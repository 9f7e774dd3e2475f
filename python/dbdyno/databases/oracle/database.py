"""Oracle. Written from its manual; never run against a server here."""

from dbdyno.model.database import Database

DATABASE = Database(
    name="oracle",
    title="Oracle",
    protocol="odbc",
    product="oracle",
    known_from="documentation",
    says=r"(?i)^oracle",
)
