"""What people's harnesses do with pgbench, on the link: the loop of pgbench-tools.

Its ``runset`` makes the tables, its ``benchwarmer`` starts each run in the background, finds the
logs by the number of that process, takes figures from the summary by their words, and loads the
logs into its own database. This is the same sequence of calls, in shell and psql as there.
"""

import os
import subprocess
from pathlib import Path

import pytest

from dbdyno.servers.base import Server
from dbdyno.store.listing import RUNS
from tests.peers.side_by_side import PGBENCH, link

SELECT = """\
\\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""
SETUP = """\
create table tests (test serial, tps decimal, trans int, avg_latency float, p90 float);
create table timing (ts timestamp, script int, latency numeric(9, 3), lag int);
"""
LOOP = """\
set -e
psql -q -f setup.sql
$PGBENCHBIN -i -s 1 -h $PGHOST -U $PGUSER -p $PGPORT $PGDATABASE
scale=$(psql -At -c 'select count(*) from pgbench_branches')
psql -q -c 'truncate table pgbench_history' -c 'vacuum analyze' -c checkpoint
psql -q -c 'insert into tests default values'
$PGBENCHBIN -f $PWD/select.sql -s $scale -l -n $OPTIONS -U $PGUSER -h $PGHOST -p $PGPORT \
  -c 4 -j 2 $PGDATABASE > results.txt 2>&1 &
P=$!
wait $P
cat pgbench_log.${P}* > pgbench.log
tps=$(grep -E '(without initial connection time)|(including connections establishing)' results.txt \
  | cut -d ' ' -f 3)
trans=$(grep 'number of transactions actually processed:' results.txt | cut -d: -f 2 | cut -d/ -f 1)
psql -q -c "update tests set tps = '$tps', trans = '$trans'"
while read client number latency script sec usec lag; do
  printf '%s,%d,%s,%s\\n' "$(date -u -d @$sec '+%F %T').$(printf %06d $usec)" $script \
    $(printf '%d.%03d' $((latency / 1000)) $((latency % 1000))) $lag
done < pgbench.log > timing.csv
psql -q -c "\\\\copy timing from timing.csv with csv"
psql -q -c 'update tests set avg_latency = (select avg(latency) from timing), p90 = (select latency
  from timing order by latency offset (round(0.90 * trans)) limit 1)'
psql -At -F ' ' -c "select tps, trans, avg_latency, p90, (select count(*) from timing),
  (select count(*) from timing where lag is not null),
  (select count(*) from timing where abs(extract(epoch from ts - now() at time zone 'utc')) < 600)
  from tests"
"""


@pytest.fixture
def login(embedded_server: Server, new_database) -> dict[str, str]:
    """A database of its own, as libpq's variables."""
    endpoint = new_database(embedded_server).endpoint()
    assert endpoint.address.unix
    folder, _, port = endpoint.address.unix.path.rpartition("/.s.PGSQL.")
    return {
        "PGHOST": folder,
        "PGPORT": port,
        "PGUSER": endpoint.user,
        "PGDATABASE": endpoint.database,
    }


@pytest.mark.parametrize(
    ("options", "has_lag"),
    [("-t 50 -Dmultiplier=1", False), ("-T 1 -R 200 -L 1000 -M prepared", True)],
)
@pytest.mark.parametrize("is_link", [False, True])
def test_the_loop_of_pgbench_tools_runs_unchanged(
    login: dict[str, str],
    home: Path,
    *,
    is_link: bool,
    options: str,
    has_lag: bool,
) -> None:
    folder = home.parent
    (folder / "setup.sql").write_text(SETUP)
    (folder / "select.sql").write_text(SELECT)
    ended = subprocess.run(
        ["bash", "-c", LOOP],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            **login,
            "PATH": f"{PGBENCH.parent}:{os.environ['PATH']}",
            "PGBENCHBIN": str(link(folder, "pgbench") if is_link else PGBENCH),
            "OPTIONS": options,
        },
    )
    assert ended.returncode == 0, ended.stderr
    tps, trans, mean_ms, p90_ms, lines, with_lag, near = map(float, ended.stdout.split())
    assert min(tps, mean_ms, p90_ms) > 0
    # Each transaction has its line, with the time as it is.
    assert trans == lines == near
    assert trans == 200 or has_lag
    assert with_lag == (lines if has_lag else 0)
    assert len([*home.glob(f"{RUNS}/*")]) == is_link
