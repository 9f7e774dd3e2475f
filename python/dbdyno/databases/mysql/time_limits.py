"""Limits on time that are meant for the load."""

from dbdyno.databases.connection import Connection

# Either brand has one limit on the time of statements, and ignores the comment for the other.
UNLIMITED = """set @dbdyno_unlimited = 1
    /*M! , session max_statement_time = 0 */ /*!50708 , session max_execution_time = 0 */"""


def lift_time_limits(connection: Connection) -> None:
    """Lift those of the session."""
    connection.execute(UNLIMITED)
