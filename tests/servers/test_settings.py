"""Which setting wins, for every kind of server."""

from dbdyno.servers.settings import Setting, choose_settings, connections_max

OURS = [Setting("fsync", "on", "ours"), Setting("jit", "on", "ours")]


def test_a_promise_replaces_ours_and_a_person_replaces_both() -> None:
    promised = [Setting("fsync", "off", "promised")]
    assert choose_settings(OURS, promised, {"jit": "off"}) == (
        Setting("fsync", "off", "promised"),
        Setting("jit", "off", "asked for"),
    )
    assert choose_settings(OURS, promised, {"fsync": "on"}) == (
        Setting("jit", "on", "ours"),
        Setting("fsync", "on", "asked for"),
    )


def test_every_client_finds_a_connection() -> None:
    assert connections_max(8, least=100).value == "100"
    assert connections_max(500, least=100).value == "520"
