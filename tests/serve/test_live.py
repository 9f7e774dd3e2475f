"""A real run that is watched: by programs, in two browsers, to its end."""

import http.client
import itertools
import json
import os
import signal
import socket
from collections import Counter
from contextlib import closing, contextmanager

from dbdyno.serve.listening import CONNECTIONS_MAX
from dbdyno.serve.live import STREAMS_MAX
from dbdyno.store.listing import run_folders
from tests.fleet.test_runs import agents_of
from tests.run.test_end_to_end import begin
from tests.run.test_servers import WRITES, two_that_take_writes
from tests.serve.conftest import Served
from tests.support.patience import PATIENCE_S, wait_until

RUN = ("run", "tpcb", "-s", "1", "--warmup", "1")
FEW = ("-c", "2", "--telemetry", "basic")
ALL = ("-c", "8", "--telemetry", "full")


def running(database, seconds, observed=FEW):
    """A run on one server in a terminal of its own."""
    return begun(*RUN, *observed, "-T", str(seconds), "--target", database.conninfo)


@contextmanager
def begun(*words):
    """A run in a terminal of its own, from when it has a folder; its name."""
    with begin(*words, "--json") as process:
        wait_until(lambda: run_folders() or process.poll() is not None, "a run folder")
        try:
            yield process, run_folders()[-1].name
        finally:
            if process.poll() is None:
                process.terminate()
            process.communicate(timeout=PATIENCE_S)


@contextmanager
def stream(served: Served, name, **headers):
    """The events of a run as they come: kind, number, data."""
    with closing(http.client.HTTPConnection(served.place, timeout=PATIENCE_S)) as connection:
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        path = f"/api/v1/runs/{name}/events"
        connection.request("GET", path, headers={"Authorization": f"Bearer {served.token}"} | own)
        reply = connection.getresponse()
        assert reply.status == 200
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.headers["x-accel-buffering"] == "no"
        yield _events(reply)


def _events(reply):
    fields = {}
    for raw in reply:
        line = raw.decode().rstrip("\r\n")
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield fields["event"], fields.get("id"), json.loads(fields["data"])
            fields = {}


def test_a_run_is_followed_to_its_end(served, database):
    with running(database, 6) as (_, name), stream(served, name) as events:
        seen = list(events)
    intervals = [(int(number), data) for kind, number, data in seen if kind == "interval"]
    assert [number for number, _ in intervals] == list(range(len(intervals)))
    assert len(intervals) >= 6
    # On a busy host a disk may answer nothing for a second.
    assert sum(data["tps"] > 0 for _, data in intervals if data["phase"] == "measure") >= 3
    assert all(data["servers"] == data["workers"] == [] for _, data in intervals)
    assert any(kind == "findings" for kind, *_ in seen)
    assert seen[-1] == ("state", None, {"run_id": name, "status": "done"})
    # What the stream said is what the run folder says.
    kept = served.ask(f"/api/v1/runs/{name}/intervals").json["intervals"]
    assert [data for _, data in intervals] == kept


def test_a_stream_goes_on_after_the_last_event(served, database):
    with running(database, 5) as (_, name):
        with stream(served, name) as events:
            first = [one for one in itertools.islice(events, 3) if one[0] == "interval"]
        last = first[-1][1]
        with stream(served, name, Last_Event_ID=last) as events:
            again = [int(one[1]) for one in events if one[0] == "interval"]
    assert again[0] == int(last) + 1
    with stream(served, name, Last_Event_ID=str(again[-2])) as events:
        assert [one[:2] for one in events] == [("interval", str(again[-1])), ("state", None)]


def test_a_run_that_is_killed_ends_its_stream(served, database):
    with running(database, 600) as (process, name), stream(served, name) as events:
        next(events)
        process.kill()
        assert list(events)[-1] == ("state", None, {"run_id": name, "status": "interrupted"})


def test_the_page_follows_a_run_to_its_report(served, database, visit):
    with running(database, 20) as (_, name):
        page, other = visit(served.url), visit(served.url, 390, "dark")
        for one in (page, other):
            one.goto(f"http://{served.place}/runs/{name}")
            curve = "document.querySelector('[data-curve=tps]').points.length"
            wait_until(lambda one=one, curve=curve: one.evaluate(curve) > 2, "a curve")
            assert one.locator("[data-live=tps]").inner_text() != "–"
            assert not one.locator("[data-parts]:visible").count(), "one server, one worker"
        assert page.get_by_role("heading", name="So far").is_visible()
        page.get_by_role("heading", name="Lock queue now").wait_for()
        assert "telemetry" in page.locator("section#log").inner_text()
        assert other.evaluate("document.documentElement.scrollWidth") == 390
        other.close()
        page.wait_for_selector(".live", state="detached")
        assert page.get_by_text("Throughput", exact=True).first.is_visible()
        assert page.complaints == []


def test_the_page_shows_why_while_it_happens(served, database, connection, visit, axe):
    """Eight clients want one row, and a checkpoint happens: all is drawn, on every screen."""
    with running(database, 600, ALL) as (_, name):
        wait_until(lambda: len(measured(served, name)) > 1, "measurement")
        connection.execute("checkpoint")
        wait_until(lambda: len(measured(served, name)) > 9, "the checkpoint, and what follows")
        sizes = ((1440, "light"), (768, "dark"), (390, "light"))
        pages = wide, _, narrow = [visit(served.url, *size) for size in sizes]
        for page in pages:
            page.goto(f"http://{served.place}/runs/{name}")
        for section, *words in SHOWN:
            said = wide.locator(f"section#{section}").inner_text()
            assert [word for word in words if word not in said] == [], section
        for section in DRAWN:
            marks = wide.locator(f"section#{section} svg").first.locator("path, rect, image")
            assert marks.count() > 0, section
        assert wide.get_by_role("heading", name="Doubts", exact=True).is_visible()
        so_far = wide.get_by_role("main").inner_text().lower()
        doubts = served.ask(f"/api/v1/runs/{name}").json["doubts"]
        assert any(doubt.partition(":")[0] in so_far for doubt in doubts)
        wait_until(lambda: rate_shown(wide) in rates(served, name), "a rate that was measured")
        queue = wide.locator("section#queue-now")
        wait_until(lambda: " × UPDATE pgbench_" in queue.inner_text(), "a queue")
        for page in pages:
            width = page.viewport_size["width"]
            assert page.evaluate("document.documentElement.scrollWidth") == width
            found = page.evaluate(axe + "\n;axe.run().then((found) => found.violations)")
            assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], width
        wait_until(lambda: is_on_stop(narrow), "the button, by keyboard")
        narrow.keyboard.press("Enter")
        for page in pages:
            page.wait_for_selector(".live", state="detached")
            assert page.complaints == []


SHOWN = (
    ("waits", "were working or waiting: lock"),
    ("locks", "UPDATE pgbench_branches"),
    ("log", "telemetry: "),
    ("findings", "Row-lock convoy on pgbench_branches"),
    ("server-cpu", "sessions of the load", "Server CPU time by subsystem", "execution"),
    ("throughput", "transactions per second"),
    ("events", "checkpoint"),
    ("heat-map", "the fullest bucket starts at"),
    ("statements", "of it waiting for locks"),
)
"""The sections of a live page, and what is in them of this run."""
DRAWN = ("waits", "locks", "server-cpu", "throughput", "heat-map", "statements")


def measured(served, name):
    intervals = served.ask(f"/api/v1/runs/{name}/intervals").json["intervals"]
    return [one for one in intervals if one["phase"] == "measure"]


def rates(served, name):
    found = [one["tps"] for one in measured(served, name)]
    return {f"{tps:.0f}" if tps >= 99.95 else f"{tps:.3g}" for tps in found}


def rate_shown(page):
    return "".join(page.locator("[data-live=tps]").inner_text().split())


def is_on_stop(page):
    """Whether the button has the focus; else the next element gets it."""
    if page.evaluate("document.activeElement.innerText") == "Stop the run":
        return True
    page.keyboard.press("Tab")
    return False


def test_who_may_only_read_is_offered_no_stop(serve, database, tokens):
    served = serve("--token-file", tokens)
    with running(database, 600) as (_, name):
        pages = [
            served.ask(f"/runs/{name}", token=f"a-token-that-may-{right}").text
            for right in ("change", "read", "change")
        ]
    assert ["Stop the run" in page for page in pages] == [True, False, True]
    assert all("Its log" in page for page in pages)


def test_a_page_whose_events_are_held_back_asks_for_the_intervals(served, database, visit):
    """As behind a proxy that collects an answer before it passes it on."""
    with running(database, 600) as (process, name):
        page = visit(served.url)
        page.route("**/events", lambda _: None)
        page.goto(f"http://{served.place}/runs/{name}")
        curve = "document.querySelector('[data-curve=tps]').points.length"
        wait_until(lambda: page.evaluate(curve) > 2, "a curve")
        assert "do not arrive" in page.locator("[data-said]").inner_text()
        process.terminate()
        page.wait_for_selector(".live", state="detached")
        assert page.complaints == []


def test_the_page_shows_each_worker_and_where_one_was_lost(served, database, visit, axe):
    shared = ("-c", "3", "--telemetry", "off", "--workers", "local*3", "--on-lost", "continue")
    with running(database, 600, shared) as (process, name):
        pages = [visit(served.url, *size) for size in ((1440, "light"), (390, "dark"))]
        for page in pages:
            page.goto(f"http://{served.place}/runs/{name}")
            curve = "document.querySelector('[data-worker=local-3] polyline').points.length"
            page.wait_for_selector("[data-worker=local-3]")
            wait_until(lambda page=page, curve=curve: page.evaluate(curve) > 2, "a curve")
            names = page.locator("[data-worker] b").all_inner_texts()
            assert names == ["local-1", "local-2", "local-3"]
        os.kill(agents_of(process)[1], signal.SIGKILL)
        for page in pages:
            lost = page.locator("[data-worker].lost")
            lost.wait_for()
            assert lost.inner_text().split() == ["local-2", "lost"]
            ends = "document.querySelector('[data-worker={}] polyline').points.length"
            wait_until(
                lambda page=page, ends=ends: (
                    page.evaluate(ends.format("local-2")) < page.evaluate(ends.format("local-1"))
                ),
                "an end before the other's",
            )
            width = page.viewport_size["width"]
            assert page.evaluate("document.documentElement.scrollWidth") == width
            found = page.evaluate(axe + "\n;axe.run('.live').then((found) => found.violations)")
            assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], width
        process.terminate()
        for page in pages:
            page.wait_for_selector(".live", state="detached")
            assert page.locator("#workers-p99-chart svg:visible").is_visible()
            assert "until " in page.locator("#workers-throughput-chart").inner_text()
            assert (
                page.evaluate("document.documentElement.scrollWidth")
                == (page.viewport_size["width"])
            )
            assert page.complaints == []


def test_the_page_shows_how_the_load_moves_to_another_server(served, tmp_path, visit, axe):
    script = tmp_path / "writes.sql"
    script.write_text(WRITES)
    with two_that_take_writes() as (gone, left):
        targets = ("--target", f"{gone.url},{left.url}", "--max-failures", "100%")
        with begun("run", script, "-c", "4", "--think", "20ms", "-T", "600", *targets) as (_, name):
            pages = [visit(served.url, *size) for size in ((1440, "light"), (390, "dark"))]
            for page in pages:
                page.goto(f"http://{served.place}/runs/{name}")
                page.wait_for_selector("[data-server='1']")
                titles = [f"no. 0: {gone.url}", f"no. 1: {left.url}"]
                assert page.locator("[data-server] b").all_inner_texts() == titles
            wait_until(lambda: sum(map(is_shared, measured(served, name))) > 3, "both work")
            for page in pages:
                assert not page.locator("[data-server] .bad").first.is_visible()
            gone.kill()
            # Each client pauses between its transactions, so that twice as many are twice as fast.
            for page in pages:
                wait_until(lambda page=page: heights(page, 0)[-2:] == [0, 0], "the fall")
                wait_until(lambda page=page: rises(heights(page, 1)), "the rise")
                words = page.locator("[data-server='0'] p").inner_text()
                assert words.startswith("0 TPS, ")
                assert words.endswith("2 connections lost")
                assert page.locator("[data-server='1'] p").inner_text().endswith(" TPS")
                assert page.locator("[data-server='0'] .bad").is_visible()
                assert max(heights(page, 0, "bad")) > 0 == max(heights(page, 1, "bad"))
                width = page.viewport_size["width"]
                assert page.evaluate("document.documentElement.scrollWidth") == width
                found = page.evaluate(axe + "\n;axe.run('.live').then((found) => found.violations)")
                assert [(fault["id"], fault["nodes"][0]["html"]) for fault in found] == [], width
                assert page.complaints == []
            servers = [one["servers"] for one in measured(served, name)]
            assert servers[-1][0]["tps"] == 0 < servers[-1][1]["tps"]
            assert sum(first["connections_lost"] for first, _ in servers) == 2
            assert sum(second["connects"] for _, second in servers) == 2


def test_a_server_that_gets_nothing_is_there_with_zeros(served, database):
    """One client needs only the first of two servers."""
    one_client = ("-c", "1", "--telemetry", "off", "--further-target", database.conninfo)
    with running(database, 3, one_client) as (process, name):
        process.wait(PATIENCE_S)
    intervals = measured(served, name)
    assert len(intervals) > 1
    for one in intervals:
        assert [server["tps"] for server in one["servers"]] == [one["tps"], 0]


def is_shared(interval):
    return all(server["tps"] > 0 for server in interval["servers"])


def heights(page, server, style="series"):
    """The values of a curve of one of the servers, on the scale of its box."""
    shape = f"[data-server='{server}'] .{style}"
    script = "(shape) => [...document.querySelector(shape).points].map((point) => 40 - point.y)"
    return page.evaluate(script, shape)


def rises(values):
    """Whether a curve is higher in the end than it was at first."""
    return min(values[-2:]) > 1.2 * max(values[2:5])


def test_the_page_of_a_run_reads_without_scripts(served, database, visit):
    with running(database, 600) as (_, name):
        page = visit(served.url, scripts=False)
        page.get_by_role("link", name=name).click()
        assert page.get_by_role("heading", name="So far").is_visible()
        telemetry = page.locator("#telemetry")
        assert telemetry.get_by_role("heading", name="Telemetry").is_visible()
        assert not telemetry.get_by_role("table").first.is_visible()

        def is_unfolded() -> bool:
            """It is folded again when the page has loaded itself again meanwhile."""
            if not telemetry.get_by_role("table").first.is_visible():
                telemetry.get_by_text("Unfold").click()
            return telemetry.get_by_role("table").first.is_visible()

        wait_until(is_unfolded, "the telemetry")


def test_streams_are_bounded(served, database):
    with running(database, 600) as (process, name):
        opened = []
        try:
            path = f"/api/v1/runs/{name}/events"
            for _ in range(STREAMS_MAX + 20):  # before the first of them is answered
                connection = http.client.HTTPConnection(served.place, timeout=PATIENCE_S)
                opened.append(connection)
                connection.request("GET", path, headers={"Authorization": f"Bearer {served.token}"})
            answers = Counter(connection.getresponse().status for connection in opened)
            assert answers == {200: STREAMS_MAX, 503: 20}
            answer = served.ask(path)
            assert (answer.status, answer.json["code"]) == (503, "too_many_streams")
            # Connections that their clients leave open are ended, before there is none for others.
            for _ in range(CONNECTIONS_MAX):
                place, port = served.place.split(":")
                refused = socket.create_connection((place, int(port)), timeout=PATIENCE_S)
                opened.append(refused)
                refused.sendall(
                    f"GET {path} HTTP/1.1\r\nHost: {served.place}\r\n"
                    f"Authorization: Bearer {served.token}\r\n\r\n".encode()
                )
                assert refused.recv(12) == b"HTTP/1.1 503"
            assert served.ask("/healthz").status == 200
            assert served.ask("/").status == 200
            # And the run is measured on, and can be read.
            before = len(measured(served, name))
            wait_until(
                lambda: any(one["tps"] > 0 for one in measured(served, name)[before + 1 :]),
                "transactions of further intervals",
            )
            assert process.poll() is None
        finally:
            for connection in opened:
                connection.close()
        wait_until(lambda: _opens(served, path), "streams are free again")


def _opens(served, path):
    with closing(http.client.HTTPConnection(served.place, timeout=PATIENCE_S)) as connection:
        connection.request("GET", path, headers={"Authorization": f"Bearer {served.token}"})
        return connection.getresponse().status == 200


def test_a_server_with_an_open_stream_ends_when_it_is_told(served, database):
    with running(database, 600) as (process, name), stream(served, name) as events:
        next(events)
        served.process.terminate()
        served.process.communicate(timeout=PATIENCE_S)
        assert process.poll() is None
