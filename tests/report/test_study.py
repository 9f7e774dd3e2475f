"""A study's report: its first lines, its contents, and that nothing from outside is markup."""

import json
import re
from html import unescape

import msgspec

from dbdyno.answers.answering import answered
from dbdyno.formatting import THIN_SPACE
from dbdyno.model.study import Published, Question, Turn, TurnResult
from dbdyno.report.pages.study.object import study_cases, study_object
from dbdyno.report.pages.study.page import study_page
from dbdyno.report.render_html import render_html
from dbdyno.report.render_text import render_text
from tests.answers import made
from tests.report.conftest import HOSTILE
from tests.support.recordings import MadeRun

PUBLISHED = Published(
    title="On another machine",
    source="somebody, 2015",
    columns=("clients", "TPS"),
    rows=(("1", "793"), ("4", "1 460"), ("20", "1500"), ("4, other order", "233")),
    found=("More clients do not help.",),
)


SHARED_BUFFERS = {"name": "shared_buffers", "value": "16384", "unit": "8kB"}


class _Server:
    """A run on the given server."""

    def __init__(self, server):
        self.server = server

    def loaded(self):
        return MadeRun(1000, seconds=5).loaded(server=self.server)


def study(noise=0.01, **changes):
    spec = made.spec(
        made.factor("clients", 1, 4, 20),
        made.factor("order", "as-written", "other"),
        repeats=3,
        contrasts=(made.contrast("order", "as-written", "other"),),
        answers=(
            Question(answer="contrasts", options={"title": "What the order changes"}),
            Question(answer="curve", options={"over": "clients", "by": "order"}),
            Question(answer="table"),
        ),
        published=(PUBLISHED,),
    )
    return made.study(
        msgspec.structs.replace(spec, **changes),
        lambda levels: 1000.0 * (0.5 if levels["order"] == "other" else 1.0),
        noise=noise,
    )


def page_of(trials):
    return unescape(render_html(study_page(trials, answered(trials)))).replace(THIN_SPACE, " ")


def text_of(trials):
    return render_text(study_page(trials, answered(trials)), is_brief=True)


def with_failed_turn(trials):
    failed = TurnResult(
        turn=Turn(number=99, block=1, point="clients=4,order=other", seed=1),
        status="failed",
        error={"code": "x", "message": "the server did not start", "hint": "look at its log"},
    )
    record = trials.study
    return msgspec.structs.replace(
        trials,
        study=msgspec.structs.replace(
            record, results=[*record.results, failed], turns=[*record.turns, failed.turn]
        ),
    )


def test_the_page_opens_with_question_answer_and_doubt():
    page = page_of(study())
    places = [page.index(text) for text in ("Does it matter?", "Decided by the data", "worse at")]
    places += [page.index("Size tiny:"), page.index("What the order changes</a></h2>")]
    places += [page.index("Published results and ours</a></h2>"), page.index("Method</a></h2>")]
    assert places == sorted(places)


def test_the_verdict_appears_once():
    assert page_of(study()).count("throughput got worse at clients 1, 4, 20") == 1
    assert " ".join(text_of(study()).split()).count("throughput got worse at clients") == 1


def test_an_undecided_question_is_not_called_decided():
    trials = study(noise=0.8)
    assert "Not decided by the data" in page_of(trials)
    assert text_of(trials).splitlines()[4].startswith("Not decided by the data. ")


def test_turns_that_failed_stand_with_their_reasons():
    trials = with_failed_turn(study())
    page = page_of(trials)
    assert "1 turn does not count" in page
    assert "the server did not start; look at its log" in page
    turn = "Turn 99, block 1, clients=4,order=other, failed: the server did not start; look at its"
    assert turn in one_line(text_of(trials))


def test_runs_that_were_removed_are_a_doubt():
    whole = study()
    trials = msgspec.structs.replace(whole, trials=whole.trials[1:])
    removed = "1 run of this study cannot be read (any more), and does not count"
    assert removed in page_of(trials)
    assert removed in " ".join(text_of(trials).split())
    assert "cannot be read" not in page_of(whole)


def test_disturbed_runs_are_the_first_doubt():
    trials = study()
    told = ["disturbed: other programs used 1.00 of 2 CPUs"]
    for number in (0, 5):
        trial = trials.trials[number]
        trial.record = msgspec.structs.replace(trial.record, doubts=told)
    said = "2 of 18 runs were disturbed, the first: other programs used 1.00 of 2 CPUs."
    for shown in (page_of(trials), one_line(text_of(trials))):
        assert said in shown
    assert study_object(trials, answered(trials))["doubts"][0] == said


def test_each_run_stands_with_its_id_and_its_command():
    page = page_of(study())
    assert len(re.findall(r"run-\d+</td>", page)) == 18
    assert "dbdyno run tpcb --seed 1" in page


def test_time_is_divided_by_its_use():
    page = page_of(study())
    assert "2 min 24 s (87 %)" in page  # 18 turns of 8 s
    assert "3.6 s (2.17 %)" in page


def test_a_running_servers_cache_and_data_are_called_its_own():
    """The study warms and restores nothing there, whatever its file asks for."""
    private = study()
    assert "Cache before each run warm" in text_only(page_of(private))
    assert "Cache before each run warm Data restored each run" in one_line(text_of(private))
    for trial in private.trials:
        trial.record = msgspec.structs.replace(trial.record, server={"kind": "existing"})
    page = text_only(page_of(private))
    assert "Cache and data as the running server had them" in page
    assert "restored" not in page.lower()
    assert "Cache and data as the running server had them" in one_line(text_of(private))


def text_only(page):
    return one_line(re.sub("<[^>]*>", " ", page))


def one_line(text):
    return " ".join(text.split())


def test_published_results_stand_with_their_source_in_page_and_text():
    assert "On another machine (somebody, 2015):" in page_of(study())
    assert "On another machine (somebody, 2015):" in text_of(study())


def test_published_results_are_drawn_as_shapes_over_shared_points():
    trials = study(answers=(Question(answer="table"),))
    assert 'id="published-1-1"' not in page_of(trials)  # ours has other columns
    spec = made.spec(
        made.factor("clients", 1, 4, 10),
        answers=(Question(answer="table"),),
        published=(PUBLISHED,),
    )
    shown = made.study(spec, lambda levels: 500.0 * int(levels["clients"]), noise=0)
    (question, answer), _ = answered(shown)
    same = msgspec.structs.replace(
        answer.shown[0],
        columns=PUBLISHED.columns,
        rows=[(row[0], row[2]) for row in answer.shown[0].rows],
    )
    answers = [(question, msgspec.structs.replace(answer, shown=[same]))]
    page = unescape(render_html(study_page(shown, answers)))
    figure = page[page.index('id="published-1-1"') :]
    assert "Published: largest at 4 clients; here: at 4" in figure
    # At 1 client: 793 of 1460, and 500 of 2000. Points that one side lacks (10, 20) are left out.
    data = figure[: figure.index("</table>")]
    assert re.findall(r"<td[^>]*>(0\.\d+|1)</td>", data)[:3] == ["1", "0.25", "0.543"]
    assert ">10</td>" not in data


def test_text_fits_a_terminal_but_for_tables():
    lines = [line for line in text_of(study()).splitlines() if "  " not in line.strip()]
    assert max(map(len, lines)) <= 100


def test_the_object_has_what_programs_read():
    trials = with_failed_turn(study())
    found = json.loads(msgspec.json.encode(study_object(trials, answered(trials))))
    assert found["told"] is True
    assert found["study"]["turns_done"] == 18
    assert {point["key"] for point in found["points"]} == {
        f"clients={clients},order={order}"
        for clients in (1, 4, 20)
        for order in ("as-written", "other")
    }
    throughput = found["points"][0]["metrics"]["throughput_tps"]
    assert throughput["runs"] == 3
    assert throughput["low"] < throughput["mean"] < throughput["high"]
    assert [one["metrics"][0]["verdict"] for one in found["comparisons"]] == ["worse"] * 3
    assert [one["answer"] for one in found["answers"]] == ["contrasts", "curve", "table", "limits"]
    assert [one["kind"] for one in found["answers"][1]["shown"]] == ["curve"]
    failed = [turn for point in found["points"] for turn in point["turns"] if turn["error"]]
    assert failed[0]["error"]["message"] == "the server did not start"


def test_nothing_that_came_from_outside_is_markup():
    spec = made.spec(
        made.factor("clients", 1, 4, title=HOSTILE),
        title=HOSTILE,
        question=HOSTILE,
        contrasts=(made.contrast("clients", "1", "4"),),
        published=(
            Published(title=HOSTILE, source=HOSTILE, columns=(HOSTILE,), rows=((HOSTILE,),)),
        ),
        answers=(
            Question(answer="contrasts", options={"title": HOSTILE}),
            Question(answer="curve", options={"over": "clients"}),
        ),
    )
    trials = made.study(spec, lambda _levels: 1000.0)
    page = render_html(study_page(trials, answered(trials)))
    assert "<img" not in page
    assert "<script" not in page


def test_the_durability_of_the_servers_is_reported():
    def durable(levels):
        promise = "on" if levels["order"] == "as-written" else "off"
        return _Server({"durability": {"fsync": promise}, "settings": [SHARED_BUFFERS]})

    spec = made.spec(made.factor("order", "as-written", "other"), repeats=1)
    page = page_of(made.study(spec, lambda _levels: 1000.0, run_of=durable))
    assert re.search("order as-written</td><td[^>]*>fsync on</td>", page)
    assert re.search("order other</td><td[^>]*>fsync off</td>", page)
    assert "<dt>setting shared_buffers</dt><dd>16384 × 8kB, 128 MiB</dd>" in page


def test_turns_and_answers_are_test_cases():
    trials = study()
    failed = TurnResult(
        turn=Turn(number=99, block=4, point="clients=1,order=other", seed=1),
        status="failed",
        error={"code": "disk_full", "message": "no space left"},
    )
    record = msgspec.structs.replace(trials.study, results=[*trials.study.results, failed])
    trials = msgspec.structs.replace(trials, study=record)
    cases = list(study_cases(trials, answered(trials)))
    turns, answers = cases[:19], cases[19:]
    assert {case.outcome for case in turns[:-1]} == {"passed"}
    assert [case.seconds for case in turns[:-1]] == [8.0] * 18
    assert (turns[-1].name, turns[-1].outcome, turns[-1].message) == (
        "block 4: clients=1,order=other",
        "failed",
        "no space left",
    )
    assert answers[0].name == "What the order changes"
    assert "failed" not in {case.outcome for case in answers}
    noisy = study(noise=3.0)
    left_open = list(study_cases(noisy, answered(noisy)))[18]
    assert (left_open.name, left_open.outcome) == ("What the order changes", "skipped")
    assert left_open.message
