"""Which rules see a cause more directly than others, whose findings are then not shown.

Only here do rules know of each other. An order of all rules would hide too much: rules about one
resource account for different parts of client time (a saturated CPU, and what passes beside it on
the way), and many rules account for none.
"""

from collections.abc import Mapping, Sequence

from dbdyno.explain.rule import SEVERITIES
from dbdyno.model.record import Finding

COVERS: Mapping[str, frozenset[str]] = {
    rule: frozenset(others.split())
    for rule, others in {
        # What stopped everything, whatever it looked like.
        "outage": "connection_churn cpu_generator cpu_others cpu_server cpu_steal cpu_throttled "
        "failed_transactions round_trips schedule_lag too_many_connections unsteady",
        # Who took the CPU, before who lacked it.
        "cpu_throttled": "cpu_generator cpu_others cpu_server own_work round_trips "
        "too_many_connections",
        "cpu_others": "cpu_generator cpu_server own_work round_trips too_many_connections",
        "cpu_steal": "cpu_server own_work too_many_connections",
        "cpu_generator": "round_trips",
        "too_many_connections": "own_work",
        # The statement, before what it uses.
        "missing_index": "cpu_server data_read memory_work page_copies parallel_workers "
        "plan_choice snapshot_work trigger_work",
        "temporary_files": "cpu_server memory_work page_copies",
        "connection_churn": "catalog_work memory_work tls_work",
        # What the server's work was, before that it worked.
        "jit_compilation": "cpu_server memory_work parse_and_plan",
        "statement_logging": "cpu_server page_copies",
        "page_copies": "cpu_server data_read",
        "many_partitions": "catalog_work cpu_server memory_work parse_and_plan snapshot_work",
        "parse_and_plan": "cpu_server memory_work",
        "instruments": "cpu_server",
        "tls_work": "cpu_server",
        "trigger_work": "cpu_server memory_work",
        "snapshot_work": "cpu_server",
        "spinning": "cpu_server lwlock",
        "catalog_work": "cpu_server",
        "memory_work": "cpu_server",
        "background_work": "autovacuum_interference",
        # Who holds a lock, before who waits for it.
        "foreign_lock": "long_transaction other_waits row_lock_convoy",
        "deadlocks": "row_lock_convoy",
        # What keeps dead rows, before what they lead to.
        "long_transaction": "autovacuum_behind hot_updates purge_lag snapshot_work table_growth",
        "hot_updates": "autovacuum_behind full_page_writes table_growth wal_write",
        "autovacuum_behind": "table_growth",
        # What fills the log, before the wait for it.
        "full_page_writes": "checkpoint_io no_checkpoint_cycle wal_write",
        "furious_flushing": "wal_write",
        # Why transactions failed, before that they did.
        "statements_lost": "failed_transactions",
    }.items()
}
_MOST = 0.5


def uncovered(
    findings: Sequence[Finding], covers: Mapping[str, frozenset[str]] = COVERS
) -> list[Finding]:
    """Drop findings whose cause another names more directly, with at least the same severity.

    One that accounts for more than twice as much also covers something else, and stays; and a hint
    never hides a finding that is more certain.
    """

    def hides(nearer: Finding, found: Finding) -> bool:
        return (
            found.id in covers.get(nearer.id, ())
            and SEVERITIES.index(nearer.severity) >= SEVERITIES.index(found.severity)
            and (nearer.certainty != "hint" or found.certainty == "hint")
            and _accounts_for_most(nearer, found)
        )

    return [found for found in findings if not any(hides(nearer, found) for nearer in findings)]


def _accounts_for_most(nearer: Finding, of: Finding) -> bool:
    """Assumed if their shares are not known, or are not shares of the same total."""
    if nearer.share is None or of.share is None or nearer.share_of != of.share_of:
        return True
    return nearer.share >= of.share * _MOST
