"""Order entry: what runs draw follows NURand, and no killed connection breaks a condition.

``python -m tests.workloads.test_tpcc_proofs 600`` kills connections for ten minutes on each server.
"""

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from dbdyno.databases.connecting import open_connection
from dbdyno.servers.base import Server
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from dbdyno.store.run import open_run
from tests.conftest import SMALL, SMALL_INNODB
from tests.run.test_end_to_end import begin
from tests.run.test_interrupts import wait_for
from tests.support.patience import PATIENCE_S
from tests.workloads.both_servers import TPCC, Database, command, database_on
from tests.workloads.test_schemas import last_name

CLIENTS = 64
SPECS = {
    "postgresql": ServerSpec(settings=SMALL),
    "mariadb": ServerSpec("mariadb", settings=SMALL_INNODB),
}


@pytest.fixture(params=SPECS, scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server that admits as many clients."""
    with start_private(SPECS[request.param], connections=CLIENTS + 8) as started:
        yield started


@pytest.fixture(scope="module")
def whole(server: Server) -> Iterator[Database]:
    with database_on(server, "tpcc_proofs") as database:
        database.prepare(TPCC)
        yield database


def nurand(a: int, c: int, low: int, high: int) -> NDArray[np.float64]:
    """The chance of each number up to ``high``, exactly.

    That of ``rnd(0, a) | rnd(low, high)`` is, summed over all subsets of bits, a product.
    """
    bits = max(a, high).bit_length()
    one, other = np.zeros(1 << bits), np.zeros(1 << bits)
    one[: a + 1] = 1 / (a + 1)
    other[low : high + 1] = 1 / (high - low + 1)
    both = summed(one, bits, 1) * summed(other, bits, 1)
    chances = np.zeros(high + 1)
    np.add.at(chances, (np.arange(1 << bits) + c) % (high - low + 1) + low, summed(both, bits, -1))
    return chances


def summed(values: NDArray[np.float64], bits: int, sign: int) -> NDArray[np.float64]:
    """Over the subsets of each number's bits; or, with -1, undone."""
    result = values.copy()
    for bit in range(bits):
        halves = result.reshape(-1, 2, 1 << bit)
        halves[:, 1] += sign * halves[:, 0]
    return result


def test_the_chances_are_those_of_the_definition() -> None:
    drawn = [(r | x) + 5 for r in range(8) for x in range(3, 13)]
    counted = np.bincount([number % 10 + 3 for number in drawn], minlength=13) / len(drawn)
    assert nurand(7, 5, 3, 12) == pytest.approx(counted)


def likelihood(numbers: list[int], chances: NDArray[np.float64]) -> float:
    """How likely numbers of this law are no nearer to it: by value, and by chance, in groups."""
    counts = np.bincount(numbers, minlength=len(chances))
    least = 1.0
    for order in (np.arange(len(chances)), np.argsort(chances, kind="stable")):
        groups = (np.cumsum(chances[order]) * 40 * 0.999999).astype(int)
        expected = np.bincount(groups, weights=chances[order]) * len(numbers)
        seen = np.bincount(groups, weights=counts[order])
        least = min(least, float(chisquare(seen[expected > 0], expected[expected > 0]).pvalue))
    return least


RARE = 1e-4  # the same seed draws the same: a law that is kept once is kept always


def test_items_customers_and_names_of_a_run_follow_their_law(whole: Database) -> None:
    left_out = ("order_status", "delivery", "stock_level")
    words = [word for name in left_out for word in ("-D", f"{name}_weight=0")]
    once = ("-c", "8", "-t", "400", "--warmup", "0", "--telemetry", "off", "--seed", "29")
    code, record = command("run", "tpcc", "--target", whole.server.url, *words, *once)
    assert (code, record["invalid_reasons"]) == (0, [])
    drawn = open_run("last").plan["variables"]

    items = numbers(whole, "select ol_i_id from order_line where ol_o_id > 3000")
    assert len(items) > 10_000
    assert likelihood(items, nurand(8191, drawn["c_item"], 1, 100_000)) > RARE
    assert likelihood(items, nurand(8191, drawn["c_item"] + 900, 1, 100_000)) < RARE
    assert likelihood(items, uniform(1, 100_000)) < RARE

    customers = numbers(whole, "select o_c_id from orders where o_id > 3000")
    assert len(customers) > 1_000
    assert likelihood(customers, nurand(1023, drawn["c_id"], 1, 3000)) > RARE
    assert likelihood(customers, nurand(1023, drawn["c_id"] + 300, 1, 3000)) < RARE
    assert likelihood(customers, uniform(1, 3000)) < RARE

    paid = whole.rows(
        "select c_last from history join customer on c_w_id = h_c_w_id and c_d_id = h_c_d_id "
        "and c_id = h_c_id where h_amount <> 10"
    )
    names = [NUMBER_OF[name] for (name,) in paid]
    assert len(names) > 1_000
    # Six in ten customers are found by name; the others have the names of those who are drawn.
    found = 0.6 * nurand(255, drawn["c_last"], 0, 999)
    of_ids = by_name(whole, nurand(1023, drawn["c_id"], 1, 3000))
    assert likelihood(names, found + 0.4 * of_ids) > RARE
    assert likelihood(names, 0.6 * nurand(255, drawn["c_last"] + 85, 0, 999) + 0.4 * of_ids) < RARE
    assert likelihood(names, of_ids) < RARE


NUMBER_OF = {last_name(number): number for number in range(1000)}


def uniform(low: int, high: int) -> NDArray[np.float64]:
    return np.where(np.arange(high + 1) < low, 0, 1 / (high - low + 1))


def by_name(database: Database, chances: NDArray[np.float64]) -> NDArray[np.float64]:
    """The chance of each last name, given those of the customers' numbers, in any district."""
    of_names = np.zeros(1000)
    for name, customer in database.rows("select c_last, c_id from customer"):
        of_names[NUMBER_OF[name]] += chances[customer] / 10
    return of_names


def numbers(database: Database, query: str) -> list[int]:
    return [int(number) for (number,) in database.rows(query)]


# Sessions that have changed something, which only clients do; and what ends one.
KILLS = {
    "postgresql": (
        "select pid from pg_stat_activity where datname = current_database() "
        "and backend_xid is not null",
        "select pg_terminate_backend({})",
    ),
    "mysql": (
        "select trx_mysql_thread_id from information_schema.innodb_trx "
        "where trx_mysql_thread_id <> 0 and trx_rows_modified > 0",
        "kill {}",
    ),
}


class Killer(threading.Thread):
    """Ends one of the clients' sessions after the other, until it is stopped."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database, self.stopped, self.killed = database, threading.Event(), 0

    def run(self) -> None:
        find, kill = KILLS[self.database.target.name]
        chance = random.Random(3)
        with closing(open_connection(self.database.server.conninfo)) as control:
            while not self.stopped.wait(0.02):
                sessions = [int(session) for (session,) in control.execute(find).fetchall()]
                if sessions:
                    self.kill(control, kill.format(chance.choice(sessions)))

    def kill(self, control: Any, statement: str) -> None:
        try:
            control.execute(statement)
            self.killed += 1
        except Exception as error:  # it has just ended by itself
            if "Unknown thread" not in str(error):
                raise


def test_the_conditions_hold_although_connections_are_killed(whole: Database) -> None:
    hold_although_killed(whole, seconds=8)


def hold_although_killed(whole: Database, *, seconds: int) -> str:
    """Kill all the time but at the ends; return how much has happened."""
    load = ("-c", str(CLIENTS), "-T", str(seconds), "--warmup", "0", "--telemetry", "off")
    out = ("--json", "--progress", f"{max(1, seconds // 10)}s")  # few lines: nobody reads them
    killer = Killer(whole)
    with begin("run", "tpcc", "--target", whole.server.url, *load, *out) as process:
        wait_for("measure", process)
        killer.start()
        time.sleep(seconds * 0.8 - 1)
        killer.stopped.set()
        killer.join()
        printed, err = process.communicate(timeout=PATIENCE_S)
    assert killer.killed > 0
    record = json.loads(printed)
    assert record["transactions"]["ok"] > 0, err
    lost = sum(one["count"] for one in record["failures"] if one["class"] == "connection")
    assert lost > 0, record["failures"]
    assert [one for one in record["invalid_reasons"] if "invariant" in one] == []
    assert {one["id"]: one["ok"] for one in record["checks"]} == {
        str(number): True for number in range(1, 13)
    }
    assert whole.broken() == {}
    return f"{record['transactions']['ok']} transactions, {killer.killed} sessions killed"


if __name__ == "__main__":
    for spec in SPECS.values():
        with (
            start_private(spec, connections=CLIENTS + 8) as started,
            database_on(started, "tpcc_killed") as database,
        ):
            database.prepare(TPCC)
            happened = hold_although_killed(database, seconds=int(sys.argv[1]))
            sys.stdout.write(f"{spec.kind}: {happened}\n")
