"""sysbench's texts from 0.4 to 1.1: each printed figure is the text's, and none is invented."""

import io
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from dbdyno.imports.imported_run import ImportedRun
from dbdyno.imports.reading import ReadText, read_text
from tests.imports.test_pgbench import figures_by_line

TEXTS = Path(__file__).parent / "sysbench_texts"
FILES = sorted(path.name for path in TEXTS.glob("*.txt"))
INTERIM = re.compile(r"\[ *\d+s *\] (?!Checkpoint)")
CSV = re.compile(r"\d+,\d+,\d")
BAR = re.compile(r" *\d+\.\d{3} \|")
OF_REPORT = re.compile(
    r" +(read|write|other|total|transactions|queries|read/write requests|other operations|deadlocks"
    r"|ignored errors|reconnects|events/s \(eps\)|time elapsed|total time|total number of events"
    r"|total time taken by event execution|min|avg|max|sum|.*percentile|.*\(avg/stddev\)):"
    r"|Number of threads:|Warmup time:|Target transaction rate:|Number of unfinished"
)


def read(text: str) -> ReadText:
    return read_text(io.BytesIO(text.encode()))


def text_of(name: str) -> str:
    return (TEXTS / name).read_text()


def runs_of(name: str) -> list[ImportedRun]:
    return read(text_of(name)).runs


def printed_in(line: str) -> Counter[float]:
    """The numbers of a line of sysbench, by the simplest means: they are all that is digits."""
    if BAR.match(line):
        return Counter([float(line.rsplit(maxsplit=1)[-1])])
    if INTERIM.match(line) or CSV.match(line):
        return Counter(map(float, re.findall(r"\d+(?:\.\d+)?", line)))
    if OF_REPORT.match(line) and "disabled" not in line:
        return Counter(map(float, re.findall(r"\d+(?:\.\d+)?", line.rpartition(":")[2])))
    return Counter()


def check_figures(text: str) -> None:
    """Every printed number is a figure, and no other is."""
    figures = figures_by_line(read(text).runs)
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        printed = printed_in(line)
        if "queue length" in line:  # the second line of one report
            assert Counter(printed) - Counter(figures[number - 1]) == Counter()
            continue
        if number < len(lines) and "queue length" in lines[number]:
            printed += Counter(map(float, re.findall(r"\d+", lines[number])[1:]))
        assert figures.get(number, Counter()) == printed, f"{number}: {line}"


@pytest.mark.parametrize("name", [name for name in FILES if not re.search("json|cpu", name)])
def test_every_printed_number_is_a_figure_and_no_other_is(name):
    check_figures(text_of(name))


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("0.4-oltp.txt", "0.4.12"),
        ("0.5-oltp.txt", "0.5"),
        ("1.0-write-only.txt", "1.0.20"),
        ("1.1-rate.txt", "1.1.0"),
    ],
)
def test_each_text_is_one_run_of_its_version(name, version):
    (run,) = runs_of(name)
    assert (run.tool, run.version, run.is_complete) == ("sysbench", version, True)


def test_what_is_printed_becomes_what_it_is_called_here():
    (run,) = runs_of("1.0-write-only.txt")
    assert (run.workload, run.product, run.clients, run.threads) == (
        "oltp_write_only",
        "mysql",
        64,
        64,
    )
    assert (run.ok, run.tps, run.duration_s) == (295407, 9845.12, 30.0054)
    assert run.latencies_ms == {"mean": 6.5, "max": 187.02, "p95": 9.91}
    assert (run.failed, run.retried, run.skipped) == (None, None, None)
    assert [part.printed["tps"] for part in run.parts] == [9822.51, 10011.2, 9701.42]
    assert "geheim" not in run.command
    assert "--mysql-password=***" in run.command
    (old,) = runs_of("0.5-oltp.txt")
    assert (old.workload, old.product, old.ok, old.tps) == ("oltp", "mysql", 13843, 461.15)
    assert old.latencies_ms == {"mean": 34.68, "max": 312.47, "p95": 56.08}
    assert "geheim" not in old.command
    (open_loop,) = runs_of("1.1-rate.txt")
    assert (open_loop.is_open_loop, open_loop.rate_tps) == (True, 500)
    assert [part.printed["queue_length"] for part in open_loop.parts] == [0, 3]
    assert open_loop.latencies_ms["p99"] == 1.47


WHOLE = text_of("1.0-write-only.txt")


@pytest.mark.parametrize("length", range(0, len(WHOLE), 9))
def test_a_text_that_is_cut_off_has_no_wrong_figure(length):
    whole = figures_by_line(read(WHOLE).runs)
    for line, figures in figures_by_line(read(WHOLE[:length]).runs).items():
        assert figures <= whole[line]


@pytest.mark.parametrize(
    "changed",
    [
        WHOLE.replace("\n", "\r\n"),
        "".join(f"> {line}  \n" for line in WHOLE.splitlines()),
        f"<pre>{WHOLE.replace('(', '&#40;')}</pre>",
        f"\x1b[32m{WHOLE}\x1b[0m",
        WHOLE.replace(" (r/w/o: ", "\n(r/w/o: "),
        WHOLE.replace("(r/w/o: 0.00/", "(r/w/o: 0.0\n0/"),
        WHOLE.encode("utf-16").decode("utf-16"),
        WHOLE.replace("295407 ", "295,407 "),
        WHOLE.replace("9845.12", "9845,12").replace("6.50", "6,50"),
        WHOLE.replace("9845.12", "9.845,12"),
        WHOLE.replace("total number of events:", "total number of\nevents:"),
        "Lasttest der neuen Maschine\n" + WHOLE + "Gesamtzeit: 30 Sekunden\n",
    ],
    ids=range(12),
)
def test_a_text_that_a_page_or_a_terminal_has_changed_has_the_same_figures(changed):
    (run,) = read(changed).runs
    (unchanged,) = read(WHOLE).runs
    assert [(one.name, one.value) for one in run.figures] == [
        (one.name, one.value) for one in unchanged.figures
    ]
    assert [part.printed for part in run.parts] == [part.printed for part in unchanged.parts]
    assert (run.ok, run.tps, run.clients) == (unchanged.ok, unchanged.tps, unchanged.clients)


def test_several_runs_in_one_text_are_told_apart_with_and_without_their_first_lines():
    both = WHOLE + text_of("0.5-oltp.txt")
    assert [run.ok for run in read(both).runs] == [295407, 13843]
    report = WHOLE[WHOLE.index("[ 10s ]") :]
    assert [len(run.parts) for run in read(report + report).runs] == [3, 3]
    summary = WHOLE[WHOLE.index("SQL statistics") :]
    assert [run.ok for run in read(summary + summary).runs] == [295407, 295407]


def test_interim_reports_of_two_runs_are_left_out():
    lines = [line for line in WHOLE.splitlines(keepends=True) if line.startswith("[")]
    found = read("".join(line * 2 for line in lines) + WHOLE[WHOLE.index("SQL") :])
    (run,) = found.runs
    assert (run.ok, run.parts) == (295407, [])
    assert "several runs" in found.notes[0]


def test_objects_of_the_json_hook_are_interim_reports():
    (run,) = runs_of("1.0-json.txt")
    objects = json.loads(re.search(r"^\[$.*?^\]$", text_of("1.0-json.txt"), re.M | re.S)[0])
    assert [part.printed["tps"] for part in run.parts] == [one["tps"] for one in objects]
    assert [part.printed["reads_per_s"] for part in run.parts] == [
        one["qps"]["reads"] for one in objects
    ]
    assert [part.printed["time_s"] for part in run.parts] == [1, 2, 3]


def test_a_report_counts_from_the_checkpoint_before_it():
    (run,) = runs_of("1.0-checkpoints.txt")
    assert run.ok == 30177 + 35327 + 19109
    assert (run.tps, run.latencies_ms, len(run.parts)) == (None, {}, 4)
    assert {one.of for one in run.figures} == {"", "checkpoint at 2 s", "checkpoint at 4 s"}
    assert any(doubt.startswith("checkpoints") for doubt in run.doubts)


def test_a_histogram_has_all_transactions():
    (run,) = runs_of("1.0-histogram.txt")
    bars = [one for one in run.figures if one.name == "latency histogram"]
    assert sum(one.value for one in bars) == run.ok == 1296
    assert bars[0].of == "0.768 ms"


def test_what_measured_no_database_is_left_out():
    found = read(text_of("1.0-cpu.txt"))
    assert found.runs == []
    assert "it has no transactions" in found.notes[0]
