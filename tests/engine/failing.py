"""How to make each kind of server fail, and the errors that it then returns.

The tests are the same for both kinds, their statements and errors are not. They use a table ``one``
with the columns ``id``, its key, and ``n``, which is never below 0, and the rows 1 to 4.
"""

from msgspec import Struct

CONFLICT = """begin isolation level repeatable read;
update one set n = n + 1 where id = 1;
commit;
"""
# The pause makes some last longer than the possible delay between the two threads.
DEADLOCK = """begin;
update one set n = n + 1 where id = 1 + :client_id;
\\sleep 20 ms
update one set n = n + 1 where id = 2 - :client_id;
commit;
"""


class FailingStatements(Struct, frozen=True, kw_only=True):
    """The statements and errors of one kind of server."""

    failing: dict[str, tuple[str, str]]
    """The class and code of each script's failure."""
    hopeless: dict[str, str]
    """The beginning of the reason with which each script ends the run."""
    broken: tuple[str, str]
    """A statement that fails in the middle of a transaction block, and its code."""
    deadlock: str
    """The code of a deadlock."""
    hurry: dict[str, str]
    """Connection parameters with which deadlocks are detected quickly."""
    conflict: str
    """A statement that always fails with an error that may be retried."""
    colliding: tuple[str, str]
    """Statements in which clients collide, and the condition that causes it."""


POSTGRESQL = FailingStatements(
    failing={
        "insert into one values (1, 0);": ("duplicate_key", "23505"),
        "insert into one values (5, -1);": ("constraint", "23514"),
        "select * from nowhere;": ("statement", "42P01"),
        "select 1 / (select 0 from one limit 1);": ("data", "22012"),
        "do $$ begin raise exception 'so be it'; end $$;": ("other", "P0001"),
        "set role nobody_special;\nselect * from one;": ("permission", "42501"),
        "set statement_timeout = '5ms';\nselect pg_sleep(5);": ("cancelled", "57014"),
        "begin;\nselect * from one where id = 4 for update nowait;": ("lock_timeout", "55P03"),
    },
    hopeless={
        "select 1;\nselekt 1;": 's0:2 can never work: 42601 syntax error at or near "selekt"',
        "select *\n  from nowhere;": 's0:1 can never work: 42P01 relation "nowhere" does not exist',
        "select wrong from one;": 's0:1 can never work: 42703 column "wrong" does not exist',
        "begin;\nset local role nobody_special;\ntable one;\nend;": "s0:3 can never work: 42501",
    },
    broken=("select 1 / 0;", "22012"),
    deadlock="40P01",
    hurry={"deadlock_timeout": "10ms"},
    conflict="do $$ begin raise sqlstate '40001'; end $$;",
    # The pause is within the transaction's snapshot, so that the two clients always collide.
    colliding=(CONFLICT.replace("update", "select pg_sleep(0.01);\nupdate"), "id = 1"),
)
MARIADB = FailingStatements(
    failing={
        "insert into one values (1, 0);": ("duplicate_key", "1062"),
        "insert into one values (5, -1);": ("constraint", "4025"),
        "select * from nowhere;": ("statement", "1146"),
        "selekt 1;": ("statement", "1064"),
        "insert into one values (6, 99999999999);": ("data", "1264"),
        "signal sqlstate '45000' set message_text = 'so be it';": ("other", "1644"),
        # If the limit is reached before the first of these rows sleeps, the second sees it.
        "set statement max_statement_time = 0.02 for select sleep(5) from one;": (
            "cancelled",
            "1969",
        ),
        "begin;\nselect * from one where id = 4 for update nowait;": ("lock_timeout", "1205"),
    },
    hopeless={
        "select 1;\nselekt 1;": "s0:2 can never work: 1064 You have an error in your SQL syntax",
        "select * from nowhere;": "s0:1 can never work: 1146 Table 'load_test.nowhere' doesn't",
        "select wrong from one;": "s0:1 can never work: 1054 Unknown column 'wrong'",
        "insert into one values (9);": "s0:1 can never work: 1136 Column count doesn't match",
    },
    broken=("select nothing;", "1054"),
    deadlock="1213",
    hurry={},
    conflict="signal sqlstate '40001' set mysql_errno = 1213;",
    colliding=(DEADLOCK, "id = 2 - :client_id"),
)
