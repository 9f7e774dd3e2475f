"""Hot rows of the standard workloads, and the same workloads where no row is hot."""

from tests.planted.causes import Cause, Ground


def workload_causes(ground: Ground) -> list[Cause]:
    """Return the causes of every kind of server; clean runs come last.

    No commit waits for the disk, so that a row is held for what its transaction does.
    """
    cause, relaxed = ground.cause, ground.relaxed
    return [
        cause(
            "hot-warehouse",
            "tpcc with one warehouse and 32 clients",
            *("tpcc", "-s", "1", "-c", "32"),
            finding="row_lock_convoy",
            about="warehouse",
            settings=relaxed,
            clients_max=32,
            seconds=8,
        ),
        cause(
            "hot-customers",
            "smallbank with two hot customers and 16 clients",
            *("smallbank", "-D", "customers=1000", "-D", "hot_customers=2", "-c", "16"),
            finding="row_lock_convoy",
            about="savings",
            settings=relaxed,
        ),
        cause(
            "hot-records",
            "ycsb F, half of whose operations are on one record in a hundred, with 16 clients",
            *("ycsb", "-D", "workload=f", "-D", "record_count=100", "-D", "zipf_percent=200"),
            *("-c", "16"),
            finding="row_lock_convoy",
            about="usertable",
            settings=relaxed,
        ),
        cause(
            "clean-tpcc",
            "tpcc with four warehouses and 4 clients, 20/s",
            *("tpcc", "-s", "4", "-c", "4", "-R", "20"),
            settings=relaxed,
        ),
        cause(
            "clean-smallbank",
            "smallbank, 100/s",
            *("smallbank", "-c", "4", "-R", "100"),
            settings=relaxed,
        ),
        cause(
            "clean-tatp",
            "tatp, 200/s",
            *("tatp", "-s", "1", "-c", "4", "-R", "200"),
            settings=relaxed,
        ),
        cause(
            "clean-ycsb",
            "ycsb A with uniform keys, 100/s",
            *("ycsb", "-D", "distribution=uniform", "-D", "record_count=20000"),
            *("-c", "4", "-R", "100"),
            settings=relaxed,
        ),
    ]
