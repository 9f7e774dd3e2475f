"""The machine's numbers of a real server: nothing is lost of backends that have gone."""

import time

from dbdyno.host.sources import disk, process_io, processes
from dbdyno.host.watched import watch
from dbdyno.servers.base import Server

BUSY = "select count(*) from generate_series(1, 2000000) n where n % 7 = 3"


def test_what_backends_used_stays_when_they_have_gone(any_server: Server):
    assert any_server.process_id is not None
    assert any_server.data_directory is not None
    host = watch(any_server.process_id, None, [any_server.data_directory])
    before = processes.read(host)["server"]
    with any_server.connect() as connection:
        connection.execute(BUSY)
        backend = connection.info.backend_pid
        at_work = {
            process.pid for process in host.processes.tree(any_server.process_id, fresh=True)
        }
    assert backend in at_work
    while host.processes.now(fresh=True).get(backend):
        time.sleep(0.01)
    after = processes.read(host)["server"]
    # The parent had buried it before it was read.
    assert after["user_us"] - before["user_us"] > 50_000
    assert after["minor_faults"] - before["minor_faults"] > 100
    assert after["memory_bytes"] > 2**20


def test_the_disk_below_a_server_is_found_or_it_is_said_why_not(any_server: Server):
    assert any_server.data_directory is not None
    host = watch(any_server.process_id, None, [any_server.data_directory])
    assert disk.read(host) or disk.lack(host)
    assert "server" in process_io.read(host) or process_io.lack(host)
