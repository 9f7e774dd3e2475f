"""pgbench's texts of all versions: each printed figure is the text's, and none is invented."""

import io
import re
from collections import Counter
from pathlib import Path

import pytest

from dbdyno.imports.imported_run import ImportedRun
from dbdyno.imports.reading import ReadText, read_text
from dbdyno.imports.series import tables_of

TEXTS = Path(__file__).parent / "pgbench_texts"
FILES = sorted(path.name for path in TEXTS.glob("*.txt"))
NO_FIGURES = re.compile(
    r"pgbench[ -]|starting vacuum|SQL script|.*statement latencies|.*FATAL|\[|wr@"
)
ROW = re.compile(r"\s*(\d+\.\d{3}(?:\d{3})?)((?:\s+\d+)*)\s+\S")
PRINTED = re.compile(
    r"\W*(progress: |scaling factor|partitions|number of|maximum number|total number|duration"
    r"|latency |rate limit|average conn|initial conn|tps|weight|\d+ transactions)"
)


def read(text: str | bytes) -> ReadText:
    return read_text(io.BytesIO(text if isinstance(text, bytes) else text.encode()))


def runs_of(name: str) -> list[ImportedRun]:
    return read((TEXTS / name).read_bytes()).runs


def printed_in(line: str) -> Counter[float]:
    """The numbers of a line of pgbench, by the simplest means: they are all that is digits."""
    if row := ROW.match(line):
        return Counter(float(number) for number in (row[1], *row[2].split()))
    is_of_pgbench = PRINTED.match(line) and not NO_FIGURES.match(line)
    return Counter(map(float, re.findall(r"\d+(?:\.\d+)?", line)) if is_of_pgbench else ())


def figures_by_line(runs: list[ImportedRun]) -> dict[int, Counter[float]]:
    found: dict[int, Counter[float]] = {}
    for run in runs:
        for figure in run.figures:
            if not isinstance(figure.value, str):
                found.setdefault(figure.line, Counter())[float(figure.value)] += 1
        for part in run.parts:
            found.setdefault(part.line, Counter()).update(part.printed.values())
    return found


def check_figures(text: str) -> None:
    """Every printed number is a figure, and no other is."""
    figures = figures_by_line(read(text).runs)
    for number, line in enumerate(text.splitlines(), 1):
        assert figures.get(number, Counter()) == printed_in(line), f"{number}: {line}"


@pytest.mark.parametrize("name", FILES)
def test_every_printed_number_is_a_figure_and_no_other_is(name):
    check_figures((TEXTS / name).read_text())


def test_times_since_1970_date_a_run():
    (run,) = runs_of("15-timestamp.txt")
    first, second = (part.printed["time_s"] for part in run.parts)
    assert run.began_unix_s == pytest.approx(2 * first - second)
    intervals = tables_of(run)["intervals"]
    assert intervals["time_s"].tolist() == pytest.approx([0, 1])
    assert intervals["unix_s"].tolist() == pytest.approx([first - 1, first])
    rates = intervals["completed_committed"] / intervals["seconds"]
    assert rates.tolist() == pytest.approx([5479.3, 6796.7], rel=1e-12)


@pytest.mark.parametrize(
    ("name", "versions"),
    [
        ("8.4-by-count.txt", ["8.4 to 9.5"]),
        ("9.2-numa-three-policies.txt", ["9.1 to 9.5"] * 3),
        ("9.4-progress-and-lag.txt", ["9.4 to 9.5"]),
        ("10-hot-rows.txt", ["9.6 to 13"]),
        ("13-partitions-and-scripts.txt", ["13"]),
        ("14-reconnecting.txt", ["14.4"]),
        ("16-rate-limit-retries.txt", ["16.4"]),
        ("19-continue-on-error.txt", ["19devel"]),
        ("several-of-one-page.txt", ["9.6 to 13", "9.6 to 13", "15.6", "9.1 to 9.5"]),
    ],
)
def test_the_words_tell_the_version(name, versions):
    assert [run.version for run in runs_of(name)] == versions


def test_what_is_printed_becomes_what_it_is_called_here():
    (run,) = runs_of("16-rate-limit-retries.txt")
    assert (run.ok, run.failed, run.skipped, run.retried, run.late) == (468, 1, 4, 3, 2)
    assert (run.clients, run.threads, run.scale, run.query_mode) == (4, 2, 1, "prepared")
    assert (run.duration_s, run.tps, run.latencies_ms) == (3, 156.310276, {"mean": 1.209})
    assert run.is_open_loop
    assert run.server_version == "16.4"
    assert [part.printed["tps"] for part in run.parts] == [219.9, 0.0, 248.2]
    assert [one.mean_ms for one in run.statements] == [0.001, 0.151, 0.402, 0.349]
    (old,) = runs_of("8.4-by-count.txt")
    assert (old.ok, old.failed, old.skipped, old.retried) == (10_000, None, None, None)
    assert (old.threads, old.duration_s, old.latencies_ms) == (None, None, {})
    assert old.tps == 85.296346


def test_scripts_have_their_own_figures():
    (run,) = runs_of("13-partitions-and-scripts.txt")
    first, second = run.scripts
    assert (first.name, first.weight, first.ok, first.mean_ms) == ("tpcb", 1, 2561, 5.215)
    assert (second.name, second.weight, second.ok, second.mean_ms) == ("reads.sql", 3, 7741, 3.435)
    assert [one.script for one in run.statements] == ["tpcb"] * 3 + ["reads.sql"] * 2
    (new,) = runs_of("19-continue-on-error.txt")
    assert [(one.ok, one.failed) for one in new.scripts] == [(505, 6), (486, 3)]
    assert (new.ok, new.failed, new.latencies_ms) == (991, 9, {"mean": 0.402})


def test_a_command_is_that_of_the_run_after_it_without_its_password():
    runs = runs_of("several-of-one-page.txt")
    assert [bool(run.command) for run in runs] == [False, False, True, False]
    assert runs[2].command.endswith("'postgresql://me:***@h/db'")
    assert not any("geheim" in run.command for run in runs)


SUMMARY = (TEXTS / "8.4-by-count.txt").read_text()
NEW = (TEXTS / "16-rate-limit-retries.txt").read_text()


@pytest.mark.parametrize(
    "changed",
    [
        SUMMARY.replace("\n", "\r\n"),
        SUMMARY.replace("\n", "\r"),
        "\n".join(f"> {line}  " for line in SUMMARY.splitlines()),
        "\n".join(f"- {line}" for line in SUMMARY.splitlines()),
        f"<pre>{SUMMARY.replace('(', '&#40;')}</pre>",
        SUMMARY.replace(": ", "：").replace("= ", "＝"),
        SUMMARY.replace("number of transactions actually", "number of transactions\nactually"),
        SUMMARY.replace("actually processed: 10000", "actually proce\nssed: 10000"),
        SUMMARY.replace("85.296346 (excluding ", "85.296346 (exclu\nding "),
        SUMMARY.replace("85.", "85,"),
        SUMMARY.replace("10000/10000", "10,000/10,000"),
        SUMMARY.replace("10000/10000", "10.000/10.000").replace("85.", "85,"),
        SUMMARY.encode("utf-16"),
        b"\xff\xfe caf\xe9 of Latin-1\n"[2:] + SUMMARY.encode(),
        f"\x1b[32m{SUMMARY}\x1b[0m",
    ],
    ids=lambda text: None,
)
def test_a_text_that_a_page_or_a_terminal_has_changed_has_the_same_figures(changed):
    (run,) = read(changed).runs
    (unchanged,) = read(SUMMARY).runs
    assert [(one.name, one.value) for one in run.figures] == [
        (one.name, one.value) for one in unchanged.figures
    ]
    assert (run.ok, run.tps, run.clients) == (unchanged.ok, unchanged.tps, unchanged.clients)


@pytest.mark.parametrize("length", range(0, len(NEW), 7))
def test_a_text_that_is_cut_off_has_no_wrong_figure(length):
    whole = figures_by_line(read(NEW).runs)
    for run in read(NEW[:length]).runs:
        assert run.is_complete == ("tps (without initial connection time)" in str(run.figures))
    for line, figures in figures_by_line(read(NEW[:length]).runs).items():
        assert figures <= whole[line]


@pytest.mark.parametrize("begin", range(2, 7))
@pytest.mark.parametrize("before", ["", "of a page:\n"])
def test_a_text_that_begins_within_a_summary_is_its_run(before, begin):
    (run,) = read(before + "".join(SUMMARY.splitlines(True)[begin:])).runs
    assert run.tps == 85.296346


@pytest.mark.parametrize("places", [(1, 2), (3, 4), (3, 7), (6, 7)])
@pytest.mark.parametrize("before", ["", "of a page:\n"])
def test_a_piece_of_a_summary_without_a_result_does_not_speak_of_several_runs(before, places):
    found = read(before + "".join(SUMMARY.splitlines(True)[slice(*places)]))
    assert not found.runs
    (note,) = found.notes
    assert note.endswith("left out, because the text has no result of this run")


def test_labels_that_somebody_translated_are_not_known_and_the_others_are():
    """pgbench's summary has one language; a browser translates what it takes for sentences."""
    labels = {"number of clients": "Anzahl der Clients", "scaling factor": "Skalierungsfaktor"}
    text = SUMMARY
    for label, translated in labels.items():
        assert label in text
        text = text.replace(label, translated)
    (run,) = read(text).runs
    (whole,) = read(SUMMARY).runs
    assert (run.clients, run.scale) == (None, None)
    assert (run.ok, run.tps) == (whole.ok, whole.tps)
    left = [figure for figure in whole.figures if figure.name not in labels]
    assert run.figures == left


def test_progress_lines_alone_are_a_run():
    (run,) = read("".join(line for line in NEW.splitlines(True) if "progress" in line)).runs
    assert (len(run.parts), run.is_complete, run.tps, run.ok) == (3, False, None, None)


def test_two_runs_that_wrote_line_by_line_into_one_file_are_left_out():
    other = SUMMARY.replace("10", "30").replace("85", "95")
    pairs = zip(SUMMARY.splitlines(True), other.splitlines(True), strict=True)
    mixed = "".join(f"{one}{two}" for one, two in pairs)
    found = read(f"{mixed}\n{NEW}")
    assert [run.ok for run in found.runs] == [468]
    assert found.notes


def test_progress_lines_of_two_runs_are_left_out_and_their_summaries_kept():
    lines = [line for line in NEW.splitlines(True) if "progress" in line]
    rest = NEW[NEW.index("transaction type") :]
    found = read("".join(f"{line}{line}" for line in lines) + rest + rest)
    assert [run.ok for run in found.runs] == [468, 468]
    assert not any(run.parts for run in found.runs)
    assert "several runs" in found.notes[0]


def test_a_script_that_reads_pgbench_is_no_run():
    code = (
        "tps=$(sed -n 's/^tps = \\([0-9.]*\\).*/\\1/p' out)\n"
        'printf("number of clients: %d\\n", nclients);\n'
        "pgbench -n -M prepared -c 8 -T 60 -f script.sql > out\n"
        "transaction type: none of these\n"
    )
    assert not read(code).runs


def test_figures_that_contradict_each_other_are_a_doubt():
    (run,) = read(NEW.replace("duration: 3 s", "duration: 300 s")).runs
    assert any(doubt.startswith("contradictory") for doubt in run.doubts)


def test_what_pgbench_says_of_a_run_that_it_aborted_is_kept():
    ended = f"{NEW}pgbench: error: Run was aborted; the above results are incomplete.\n"
    (run,) = read(ended).runs
    assert "aborted" in run.failure
