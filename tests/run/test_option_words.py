"""A run's command is written as it is read: the options yield what was typed."""

import pytest
from cyclopts import App

from dbdyno.cli.commands.run import What
from dbdyno.run.options.run_options import RunOptions
from dbdyno.run.options.words import arguments_of, command_of, flags, parse_arguments

pytestmark = pytest.mark.usefixtures("default_disturbance")


def read(*tokens):
    """The options that the command line reads from these tokens."""
    app = App(result_action="return_value")
    app.default(_parsed)
    return app(list(tokens), exit_on_error=False, print_error=False)


def _parsed(*what: What, options: RunOptions = RunOptions()):
    return what, options


@pytest.mark.parametrize(
    "typed",
    [
        "tpcb",
        "tpcb@3 app.sql@2 other.sql",
        "tpcb --scale 50 --clients 32 --time 1m --warmup 500ms",
        "pk --define operation=select --rate 5000.5 --latency-limit 20ms --arrivals constant",
        "app.sql --target postgresql://db/app --protocol simple --no-vacuum --connect",
        "tpcb --server postgres:17,fsync=off --set work_mem=64MB --set jit=off --durability full",
        "select-only --stages 30s:8c,1m:64c",
        "select-only --stages 30s:100/s,1m:64.5/s --max-failures 0.05",
        "tpcb --max-failures 100% --time 1.2345s --stall-limit 90.5s",
        "tpcb --max-disturbance 0.4 --when-quiet",
        "tpcb --think 10ms,exponential --max-tries 3 --retry-time 2s --telemetry full",
        "tpcb --file a.sql --file b.sql@4 --transactions 7 --server-log pg.log --interval 250ms",
    ],
)
def test_arguments_are_parsed_into_the_request(typed):
    parsed = read(*typed.split())
    assert read(*arguments_of(*parsed)) == parsed
    items, options = parse_arguments(arguments_of(*parsed))
    assert (tuple(items), options) == parsed


def test_default_options_are_not_written():
    typed = "tpcb@3 mine.sql --scale 50 --server postgres --clients 32 --time 1m"
    assert " ".join(arguments_of(*read(*typed.split(), "--interval", "1s"))) == typed


def test_an_option_that_overrides_the_script_is_written_even_if_it_is_the_default():
    typed = "mine.lua --warmup 3s"
    assert " ".join(arguments_of(*read(*typed.split()))) == typed


def test_options_of_the_output_are_left_out():
    typed = ["tpcb", "--tag", "a=1", "--report", "x.html", "--json", "--progress", "5s"]
    assert arguments_of(*read(*typed)) == ["tpcb"]


def test_a_command_can_be_pasted_into_a_shell():
    words = arguments_of(*read("my app.sql", "--target", "postgresql://db/app?a=1&b=2"))
    assert command_of(words, "--tag", "variant=a") == (
        "dbdyno run 'my app.sql' --target 'postgresql://db/app?a=1&b=2' --tag variant=a"
    )


def test_every_option_has_a_long_flag():
    assert all(flag.startswith("--") for flag in flags().values())


def test_what_the_environment_allows_is_written(monkeypatch):
    monkeypatch.setenv("DBDYNO_MAX_DISTURBANCE", "40%")
    monkeypatch.setenv("DBDYNO_WHEN_QUIET", "1")
    assert arguments_of(*read("tpcb")) == ["tpcb", "--max-disturbance", "0.4", "--when-quiet"]
