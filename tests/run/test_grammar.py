"""Every form of each small grammar, and the messages about what is refused."""

import pytest

from dbdyno.model.plan import Stage, Think
from dbdyno.run.options import grammar

MS, S = 1_000_000, 1_000_000_000


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("30", 30 * S),
        ("0", 0),
        ("1.5s", 3 * S // 2),
        ("200ms", 200 * MS),
        ("250us", 250_000),
        ("5m", 300 * S),
        ("5min", 300 * S),
        ("1h30m", 5400 * S),
        (" 2 s ", 2 * S),
        ("1d", 86400 * S),
    ],
)
def test_spans(text, ns):
    assert grammar.span_ns(text) == ns


def test_a_bare_number_is_in_the_unit_of_its_option():
    assert grammar.span_ns("15", bare_unit="ms") == 15 * MS


@pytest.mark.parametrize("text", ["", "abc", "-5", "5 parsecs", "1e3", "nan", "1h-30m", "٣s"])
def test_an_invalid_time_span_is_answered_with_a_valid_example(text):
    with pytest.raises(ValueError, match="is not a duration: write 30s"):
        grammar.span_ns(text)


def test_a_span_beyond_the_engine_is_refused():
    with pytest.raises(ValueError, match="ten years"):
        grammar.span_ns("99999d")


@pytest.mark.parametrize(
    "text", ["30s", "200ms", "5m", "2h", "250us", "0s", "1234500us", "1234567.891us", "0.500us"]
)
def test_spans_are_shown_as_people_write_them(text):
    assert grammar.span_text(grammar.span_ns(text)) == text


def test_stages_of_clients_and_of_rates():
    assert grammar.stages("30s:8c, 1m:32c") == (
        Stage(duration_ns=30 * S, clients=8),
        Stage(duration_ns=60 * S, clients=32),
    )
    assert grammar.stages("10:500/s") == (Stage(duration_ns=10 * S, rate_tps=500.0),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", "is not a stage"),
        ("30s:8", "is not a stage"),
        ("30s:8c,", "is not a stage"),
        ("x:8c", "is not a duration"),
        ("0s:8c", "has no duration"),
        ("5s:0c", "has no load"),
        ("5s:0/s", "has no load"),
        ("5s:8c,5s:100/s", "mixes clients and rates"),
    ],
)
def test_invalid_stages_are_refused(text, expected):
    with pytest.raises(ValueError, match=expected):
        grammar.stages(text)


def test_think_times():
    assert grammar.think("10ms") == Think(law="constant", mean_ns=10 * MS)
    assert grammar.think("1s,exponential") == Think(law="exponential", mean_ns=S)
    with pytest.raises(ValueError, match="is not a think time"):
        grammar.think("1s,gamma")


def test_numbers():
    assert grammar.number("500") == 500.0
    assert grammar.number("1.5e3") == 1500.0
    for text in ("nan", "inf", "-inf", "1e999", "many", ""):
        with pytest.raises(ValueError, match="is not a number: write 500 or "):
            grammar.number(text)


def test_shares():
    assert grammar.percentage("1%") == grammar.percentage("0.01") == 0.01
    for text in ("101%", "-1%", "some", "nan", "inf", "200", "1", "1.0"):
        with pytest.raises(ValueError, match="is not a share"):
            grammar.percentage(text)
    with pytest.raises(ValueError, match="write 5%, or"):
        grammar.percentage("5")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.999, 0.0005, 1.0])
def test_shares_are_written_as_they_are_read(share):
    assert grammar.percentage(grammar.share_text(share)) == share


def test_weights():
    assert grammar.weighted_name("a@b.sql@3") == ("a@b.sql", 3, "write")
    assert grammar.weighted_name("app.sql") == ("app.sql", 1, "write")
    for text in ("app.sql@x", "@3", "app.sql@-1", "app.sql@"):
        with pytest.raises(ValueError, match="no weight after @"):
            grammar.weighted_name(text)


@pytest.mark.parametrize(
    ("text", "parsed", "written"),
    [
        ("a.sql@read", ("a.sql", 1, "read"), "a.sql@1@read"),
        ("a.sql@3@read", ("a.sql", 3, "read"), "a.sql@3@read"),
        ("a.sql@3@write", ("a.sql", 3, "write"), "a.sql@3"),
        ("a.sql@write", ("a.sql", 1, "write"), "a.sql"),
        ("read", ("read", 1, "write"), "read"),
    ],
)
def test_a_role_follows_the_weight(text, parsed, written):
    named = grammar.weighted_name(text)
    assert named == parsed
    assert str(named) == written
    assert grammar.weighted_name(written) == parsed


def test_a_script_may_be_standard_input_and_is_no_option():
    assert grammar.script_name("-") == ("-", 1, "write")
    assert grammar.script_name("-@3") == ("-", 3, "write")
    with pytest.raises(ValueError, match=r'"-T" is not a file'):
        grammar.script_name("-T")


def test_assignments():
    assert grammar.assignment("a = b=c") == ("a", " b=c")
    with pytest.raises(ValueError, match="not an assignment"):
        grammar.assignment("a")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("1.5", 1.5),
        ("0.1", 0.1),
        ("true", True),
        ("null", None),
        ("five", "five"),
        ("", ""),
    ],
)
def test_scalars(text, value):
    assert grammar.scalar(text) == value
    assert grammar.scalar_text(grammar.scalar(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "0050",
        "-0",
        "+5",
        "1.50",
        "1.0",
        "1e3",
        "TRUE",
        "9223372036854775808",
        "0.12345678901234567",
    ],
)
def test_numbers_in_another_notation_remain_text(text):
    assert grammar.scalar(text) == text
