"""Whether the server takes parameters where a statement has variables, and of which types."""

from psycopg import Connection, pq

from dbdyno.databases.adapter import Parameters

# Found by the parser or by the inference of types, whichever tables exist: syntax, undetermined or
# ambiguous types, and constants of a wrong form. What names something that does not exist (yet)
# says nothing: the script itself may create it.
_REFUSALS = frozenset({"42601", "42P02", "42P08", "42P18", "42725", "42804", "22P02", "0A000"})
_LOCK_TIMEOUT = "set local lock_timeout = '2s'"  # someone may be changing the table


def parameters(connection: Connection, sql: str, count: int) -> Parameters:
    """Return whether the server takes ``count`` parameters in this statement, and their types.

    The statement is parsed and described, in a transaction: behind a pooler both reach one session.
    """
    with connection.transaction(force_rollback=True):
        connection.execute(_LOCK_TIMEOUT)
        parsed = connection.pgconn.prepare(b"", sql.encode())
        if parsed.status != pq.ExecStatus.COMMAND_OK:
            field = parsed.error_field
            state = (field(pq.DiagnosticField.SQLSTATE) or b"").decode()
            message = (field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
            return Parameters(message if state in _REFUSALS else "")
        described = connection.pgconn.describe_prepared(b"")
    taken = described.nparams
    if taken != count:
        return Parameters(f"{taken} of {count} variables are parameters to it")
    return Parameters(types=tuple(map(described.param_type, range(count))))
