"""``dbdyno publish``: pages that lead to each other, without what says where runs were made."""

import re
from urllib.parse import unquote, urldefrag

import msgspec
import pytest
from markupsafe import Markup

from dbdyno.cli import main
from dbdyno.cli.folders import CONTENTS
from dbdyno.model.plan import Address, TcpAddress
from dbdyno.model.secrets import Masker
from dbdyno.report.content import Figure, Page, Table
from dbdyno.report.masking import mask_of, masked
from tests.analysis.test_workers import record as worker_record
from tests.cli import made_up_runs
from tests.explain.make_golden import GOLDEN
from tests.report.conftest import HOSTILE
from tests.store import synthetic
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.usefixtures("home", "own_signals")
RUNS = ("hot-rows", "churn", "mariadb-hot-rows")


@pytest.fixture
def site(tmp_path, capsys):
    """Publishes runs; returns the folder."""

    def publish(*words):
        folder = tmp_path / "site"
        code = main(["publish", *words, "-o", str(folder)])
        printed = capsys.readouterr()
        assert (code, printed.out) == (0, f"{folder / 'index.html'}\n"), printed.err
        return folder

    return publish


@pytest.fixture
def visit(browser):
    """Opens pages from files, offline, and returns what a browser complains of."""
    context = browser.new_context(offline=True)
    context.set_default_timeout(PATIENCE_S * 1000)
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:")) else complaints.append(request.url)
        ),
    )

    def open_it(path):
        page.goto(path.as_uri())
        return page, complaints

    yield open_it
    context.close()


def pages_of(folder):
    return sorted(folder.rglob("*.html"))


def test_every_page_opens_from_a_file_and_every_link_leads_somewhere(site, visit):
    folder = site(*(str(GOLDEN / name) for name in RUNS))
    pages = pages_of(folder)
    assert {path.name for path in pages} == {
        *("index.html", "matrix.html", "history.html"),
        *(f"{name}.html" for name in RUNS),
    }
    reached = set()
    for path in pages:
        page, complaints = visit(path)
        assert complaints == []
        for address in page.eval_on_selector_all(
            "a", "all => all.map((a) => a.attributes.href.value)"
        ):
            name, part = urldefrag(address)
            assert not re.match(r"\w+:|/", name)
            target = (path.parent / unquote(name)).resolve() if name else path
            assert target.is_file(), address
            reached.add(target)
            if part:
                assert page.query_selector(f"[id='{part}']"), address
    assert reached == set(pages)


def test_the_list_leads_from_the_newest_run_to_its_report(site, visit):
    first, second = made_up_runs.run(tps=1000.0), made_up_runs.run(tps=2000.0)
    page, _ = visit(site(first, second) / "index.html")
    assert page.locator("td:first-child").all_inner_texts() == [second, first]
    assert page.locator("tr", has_text=second).inner_text().split("\t")[5] == "2\u202f000"
    page.get_by_role("link", name=second).click()
    assert page.locator("header").inner_text().count(second) == 1
    page.get_by_role("link", name="Load by server").click()
    page.get_by_role("link", name="History").click()
    assert page.locator("h1").inner_text() == "Runs over time"


def test_the_matrix_has_means_of_valid_runs_by_load_and_server(site, visit):
    newer = {"kind": "private", "title": "PostgreSQL", "version": "19.0", "promise": "full"}
    older = newer | {"version": "18.1"}
    for tps in (1000.0, 4000.0):
        last = made_up_runs.run(tps=tps, server=older, tags={"set": "x"})
    made_up_runs.run(tps=3000.0, server=newer, tags={"set": "x"})
    made_up_runs.run(tps=9000.0, server=newer, valid=False, tags={"set": "x"})
    page, _ = visit(site("tag:set=x") / "matrix.html")
    throughput = page.locator("table").first
    assert throughput.locator("th").all_inner_texts() == [
        "Load",
        "PostgreSQL 18.1, private",
        "PostgreSQL 19.0, private",
    ]
    cells = throughput.locator("td").all_inner_texts()
    assert cells[1:] == ["2\u202f000 (2)", "3\u202f000"]
    throughput.get_by_role("link").first.click()
    assert last in page.locator("header").inner_text()


def test_where_runs_were_made_is_masked(site):
    plan = synthetic.plan()
    tcp = TcpAddress(host="db17.corp.example", port=5432, numeric="10.1.2.3")
    endpoint = msgspec.structs.replace(
        plan.endpoint, address=Address(tcp=tcp), user="payroll_app", database="payroll"
    )
    standby = Address(tcp=TcpAddress(host="db18.corp.example", port=5432))
    endpoint = msgspec.structs.replace(endpoint, standby_addresses=[standby])
    worker = msgspec.structs.replace(
        worker_record("load7.corp.example", p50=1.0, p99=3.0), host="load7"
    )
    run = made_up_runs.run(
        plan=msgspec.structs.replace(plan, endpoint=endpoint),
        target="postgresql://payroll_app@db17.corp.example:5432/payroll",
        command=[
            "/srv/jane/app.sql",
            "--target",
            "postgresql://payroll_app@10.1.2.3/payroll",
            "--further-target",
            "postgresql://payroll_app@db18.corp.example/payroll",
            "--workers",
            "ssh:load7.corp.example",
        ],
        server={"kind": "existing", "title": "PostgreSQL", "version": "18.1", "promise": "full"},
        workers=[worker],
        tags={"note": "role payroll_app of database payroll on vm"},
    )
    secrets = ("db17", "db18", "load7", "10.1.2.3", "payroll", "jane", "/srv", ">vm<", "on vm")
    for path in pages_of(site(run)):
        text = path.read_text()
        assert [secret for secret in secrets if secret in text] == [], path
    text = (path.parent / f"{run}.html").read_text()
    assert "…/app.sql" in text
    assert "role *** of database *** on ***" in text
    assert "SELECT :aid;" in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("listen_addresses: 10.20.30.40, 127.0.0.1", "listen_addresses: ***, 127.0.0.1"),
        ("user=repl host=primary.corp port=5432", "user=repl host=*** port=5432"),
        ("/srv/pg/18/data/base", "…/base"),
        ("/proc/sys/vm and 12 ms/txn", "/proc/sys/vm and 12 ms/txn"),
        ("MariaDB 10.11.19 read 1/2 of it in 0.25 s", "MariaDB 10.11.19 read 1/2 of it in 0.25 s"),
        ("postgres on localhost", "postgres on localhost"),
    ],
)
def test_settings_and_messages_are_masked_and_numbers_are_not(text, shown):
    assert mask_of([])(text) == shown


def test_a_drawing_keeps_its_shapes():
    drawing = Markup('<svg><path d="M1 2/srv/x/y"/><text x="1">at /srv/x/y on vm</text></svg>')
    masker = Masker(["vm"])
    block = Figure(
        id="vm", caption="vm", summary="", table=Table(columns=(), rows=[]), svg=(drawing,)
    )
    page = Page(title="vm", head=[], top=[block])
    (found,) = masked(page, lambda text: masker.text(text.replace("/srv/x/", "…/"))).top
    assert (found.id, found.caption) == ("vm", "***")
    assert found.svg == ('<svg><path d="M1 2/srv/x/y"/><text x="1">at …/y on ***</text></svg>',)


def test_the_folder_is_filled_again_and_nothing_of_others_is_touched(site, tmp_path, capsys):
    first, second = made_up_runs.run(), made_up_runs.run()
    folder = site(first, second)
    (folder / "robots.txt").write_text("mine")
    site(second)
    assert {path.name for path in (folder / "runs").iterdir()} == {f"{second}.html"}
    assert (folder / "robots.txt").read_text() == "mine"
    (folder / CONTENTS).unlink()
    assert main(["publish", first, "-o", str(folder)]) == 1
    assert "index.html exists, and dbdyno did not write it" in capsys.readouterr().err


def test_a_tag_that_no_run_has_is_an_error(tmp_path, capsys):
    made_up_runs.run()
    assert main(["publish", "tag:set=x", "-o", str(tmp_path / "site")]) == 1
    assert "no run has tag:set=x" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_no_hostile_name_is_markup(site, visit):
    run = made_up_runs.run(tags={HOSTILE: HOSTILE}, target=HOSTILE)
    for path in pages_of(site(run)):
        page, complaints = visit(path)
        assert (page.evaluate("window.broken"), complaints) == (None, [])
