"""Which transactions were committed: by the script's words and the server's answers."""

import pytest

from dbdyno.model.frame import Interval
from dbdyno.model.plan import Lua
from tests.engine.running import plan_for, times

COMMITTED, ROLLED_BACK, ABORTED, LEFT_OPEN = range(4)
SCRIPTS = {
    "select 1;": COMMITTED,
    "begin; select 1; commit;": COMMITTED,
    "begin; select 1; rollback;": ROLLED_BACK,
    "begin read only; select 1; end;": COMMITTED,
    "begin; savepoint s; select 1; rollback to s; commit;": COMMITTED,
    "rollback; select 1;": COMMITTED,
    "begin; select 1; commit; begin; select 2; rollback;": ROLLED_BACK,
    "begin; select 1; rollback; begin; select 2; commit;": COMMITTED,
    "do $$ begin rollback; end $$;": COMMITTED,
}
IN_LUA = """
function thread_init() con = sysbench.sql.driver():connect() end
function event()
  con:query("BEGIN")
  %s
end
"""


def outcomes(result):
    counts = result.counters
    for each in result.all(Interval):
        assert each.completed_committed == sum(script.committed for script in each.scripts)
    assert counts.broken_identity(counts.failed, counts.ok) is None
    return [counts.committed, counts.rolled_back, counts.aborted, counts.left_open]


def expected(outcome, number):
    return [number if place == outcome else 0 for place in range(4)]


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_end_of_the_last_block_decides(local, checked, script, mode):
    plan = plan_for(local.endpoint(), script, query_mode=mode, **times(1))
    assert outcomes(checked(plan)) == expected(SCRIPTS[script], 2)


@pytest.mark.parametrize(
    ("script", "mode"),
    [
        ("begin \\; select 1 \\; rollback;", "simple"),
        ("\\startpipeline\nbegin;\nselect 1;\nrollback;\n\\endpipeline", "extended"),
        ("\\startpipeline\nbegin;\nselect 1;\nrollback;\n\\endpipeline", "prepared"),
    ],
)
def test_a_block_within_one_round_trip(local, checked, script, mode):
    plan = plan_for(local.endpoint(), script, query_mode=mode, **times(1))
    assert outcomes(checked(plan)) == expected(ROLLED_BACK, 2)


@pytest.mark.parametrize(
    ("rest", "outcome"),
    [
        ('pcall(con.query, con, "SELECT nothing FROM nowhere") con:query("COMMIT")', ABORTED),
        ('pcall(con.query, con, "SELECT nothing FROM nowhere") con:query("ROLLBACK")', ROLLED_BACK),
        ('con:query("SELECT 1") con:query("COMMIT")', COMMITTED),
        ('con:query("SELECT 1")', LEFT_OPEN),
    ],
)
def test_a_script_in_lua_may_commit_what_has_failed(local, checked, rest, outcome):
    plan = plan_for(local.endpoint(), IN_LUA % rest, lua=Lua(path="mine.lua"), **times(2))
    assert outcomes(checked(plan)) == expected(outcome, 4)


@pytest.mark.parametrize("mode", ["simple", "prepared"])
@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("select 1;", COMMITTED),
        ("begin;\nselect 1;\ncommit;", COMMITTED),
        ("start transaction read only;\nselect 1;\nrollback;", ROLLED_BACK),
        ("begin;\nsavepoint s;\nrollback to s;\ncommit;", COMMITTED),
        ("set autocommit = 0;\nselect count(*) from mysql.user;\nrollback;", ROLLED_BACK),
        ("begin;\ncreate database if not exists outcomes;", COMMITTED),
        ("rollback;\nselect 1;", COMMITTED),
    ],
)
def test_mariadb_says_less_and_its_words_say_the_rest(mariadb, checked, script, outcome, mode):
    plan = plan_for(mariadb.endpoint(), script, query_mode=mode, **times(1))
    assert outcomes(checked(plan)) == expected(outcome, 2)
