"""What follows ``--``: a script's own options, and sysbench's general options.

A sysbench option with an equivalent here becomes that option; if both are given, ours takes
precedence, with a message if they differ. Connection options become the target's URL. An option
without equivalent is named once. Options handled here are removed from the script's arguments, and
a plan adds their effective values. The script checks its own options.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as replace_struct

from dbdyno.errors import DbdynoError, why_unreadable
from dbdyno.model.plan import Lua
from dbdyno.run.lua.sysbench_target import CONNECTION_OPTIONS, target_of
from dbdyno.run.options.grammar import span_ns
from dbdyno.run.options.run_options import SECOND_NS, RunOptions
from dbdyno.run.plan import DURATION_DEFAULT_NS, client_count, progress_ns, warmup_ns
from dbdyno.run.work import Work

Say = Callable[[str], None]

_OLD_NAMES = {
    "num_threads": "threads",
    "max_time": "time",
    "max_requests": "events",
    "tx_rate": "rate",
}
_PS_MODES = {"auto": "prepared", "disable": "simple"}
# sysbench options without effect here: what they request is always done, or never.
_WITHOUT_MEANING = frozenset(
    {
        "forced_shutdown",
        "thread_stack_size",
        "thread_init_timeout",
        "report_checkpoints",
        "debug",
        "verbosity",
        "histogram",
        "luajit_cmd",
        "db_debug",
        "mysql_debug",
        "mysql_dry_run",
        "mysql_compression",
        "mysql_compression_algorithms",
        "mysql_ssl_cipher",
    }
)


@dataclass(frozen=True)
class _Adopted:
    """A sysbench option with an equivalent option here, which is None when not given."""

    field: str
    flag: str
    read: Callable[[str], Any]
    takes: str


def _whole(text: str, least: int = 0) -> int:
    number = int(text)
    if number < least:
        raise ValueError(text)
    return number


_SECONDS = "a number of seconds"
_WHOLE = "a non-negative integer"
_ADOPTED = {
    "threads": _Adopted("clients", "-c", lambda text: _whole(text, 1), "a positive integer"),
    "time": _Adopted("duration_ns", "-T", lambda text: span_ns(text) or None, _SECONDS),
    "rate": _Adopted("rate_tps", "--rate", lambda text: float(text) or None, "a number"),
    "rand_seed": _Adopted("seed", "--seed", lambda text: _whole(text) or None, _WHOLE),
    "warmup_time": _Adopted("warmup_ns", "--warmup", span_ns, _SECONDS),
    "report_interval": _Adopted("progress_ns", "-P", span_ns, _SECONDS),
    "db_ps_mode": _Adopted("query_mode", "-M", _PS_MODES.__getitem__, "auto or disable"),
}
_EVENTS = _Adopted("transactions", "-t", _whole, _WHOLE)
_SETTLED = CONNECTION_OPTIONS | _WITHOUT_MEANING | _ADOPTED.keys() | {"db_driver", "events"}
_DATA_OF_SYSBENCH = {"oltp", "bulk_insert"}


def read_arguments(tokens: Sequence[str]) -> dict[str, str]:
    """Parse ``--name=value`` and ``--flag``: names with underscores; a flag's value is empty.

    Options of a ``--config-file`` apply unless they are also given here.
    """
    arguments: dict[str, str] = {}
    for token in tokens:
        if not token.startswith("--") or token.partition("=")[0] == "--":
            raise _usage(
                f'"{token}" is not a script option', "Write --name=value, as for sysbench."
            )
        arguments[_name_of(token)] = token.partition("=")[2]
    path = arguments.pop("config_file", None)
    return arguments if path is None else _general_options(path) | arguments


def _general_options(path: str) -> dict[str, str]:
    """Read sysbench's general options from its configuration file: lines of ``name=value``.

    As in sysbench, a script's own options in that file have no effect: they keep their defaults.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _usage(
            f"cannot read --config-file={path}: {why_unreadable(error)}",
            "It contains sysbench's general options, one name=value in each line.",
        ) from error
    pairs = (line.strip().partition("=") for line in lines if not line.lstrip().startswith("#"))
    options = {_name_of(name.rstrip()): text.lstrip() for name, equals, text in pairs if equals}
    return {
        name: text
        for name, text in options.items()
        if name in _SETTLED or name.startswith("rand_") or name == "validate"
    }


def _name_of(token: str) -> str:
    name = token.removeprefix("--").partition("=")[0].replace("-", "_")
    return _OLD_NAMES.get(name, name)


def equip(options: RunOptions, work: Work, say: Say) -> tuple[RunOptions, Work]:
    """Apply what follows ``--`` to options and work; only sysbench scripts take such options."""
    arguments = read_arguments(options.script_options)
    if work.lua is None:
        if arguments:
            raise _usage(
                "options after -- are for sysbench scripts",
                "Write them before it: -c for --threads, -T for --time, -D table_size=100000 for "
                "--table-size."
                if _is_of_sysbench(work)
                else "Name a script to run.",
            )
        if _is_of_sysbench(work):
            _refuse_threads_alone(options)
        return options, work
    if options.query_mode == "extended":
        raise _usage(
            "-M extended does not apply to sysbench scripts",
            "Use -M simple or -M prepared, or leave -M out.",
        )
    adopted = _Merge(arguments, say).into(options)
    _refuse_threads_alone(adopted)
    own = {name: text for name, text in arguments.items() if name not in _SETTLED}
    lua = replace_struct(work.lua, arguments=own, allow_unsafe=options.allow_unsafe_lua)
    return adopted, replace(work, lua=lua)


def _is_of_sysbench(work: Work) -> bool:
    """Whether it is one of sysbench's workloads, run without its script."""
    return work.workload is not None and work.workload.data in _DATA_OF_SYSBENCH


def _refuse_threads_alone(options: RunOptions) -> None:
    """Refuse what would silently run another number of clients than a user of sysbench means."""
    if options.threads is not None and options.clients is None and options.stages is None:
        raise _usage(
            f"--threads {options.threads} sets the threads of the load generator, and the number "
            "of clients is not given",
            f"sysbench's --threads is -c {options.threads} here; both can be given together.",
        )


@dataclass(frozen=True)
class _Merge:
    """Merges sysbench's options into ours, which override them."""

    arguments: Mapping[str, str]
    say: Say

    def into(self, options: RunOptions) -> RunOptions:
        """Return our options with sysbench's merged in, and of the words only the script's own."""
        for name in sorted(_WITHOUT_MEANING & self.arguments.keys()):
            self.say(f"--{_dashed(name)} has no effect here and is ignored")
        merged = target_of(self._with_events(options), self.arguments, self.say)
        for name, option in _ADOPTED.items():
            if name not in self.arguments or (name == "time" and _ends_otherwise(merged)):
                continue
            value, given = self._value(name, option), getattr(merged, option.field)
            if given is None:
                merged = replace(merged, **{option.field: value})
            elif given != value:
                text = self.arguments[name]
                self.say(f"{option.flag} overrides --{_dashed(name)}={text}")
        own = ((name, text) for name, text in self.arguments.items() if name not in _SETTLED)
        kept = tuple(
            f"--{_dashed(name)}={text}" if text else f"--{_dashed(name)}" for name, text in own
        )
        return replace(merged, script_options=kept)

    def _with_events(self, options: RunOptions) -> RunOptions:
        """Merge the events: they count over all threads, and the first bound ends a run."""
        events = self._value("events", _EVENTS) or 0
        # None stands for sysbench's --time=0, a run without end.
        seconds = self._value("time", _ADOPTED["time"]) if "time" in self.arguments else 0
        if options.transactions or options.duration_ns or options.stages:
            if events:
                self.say("-t, -T or --stages overrides --events")
            if seconds and _ends_otherwise(options):
                self.say("-t or --stages overrides --time")
            return options
        if not events:
            if seconds is None:
                raise _usage("--time=0 sets no end", "Give a duration with -T, or --events.")
            return options
        if seconds:
            self.say("--events overrides --time")
        threads = None if options.clients else self._value("threads", _ADOPTED["threads"])
        return replace(options, transactions=-(-events // (threads or client_count(options))))

    def _value(self, name: str, option: _Adopted) -> Any:
        """Return the value that is given, or else None."""
        text = self.arguments.get(name)
        try:
            return None if text is None else option.read(text)
        except (ValueError, KeyError) as error:
            problem = f'--{_dashed(name)} cannot be "{text}"'
            raise _usage(problem, f"Give {option.takes}.") from error


def _ends_otherwise(options: RunOptions) -> bool:
    """Whether a time would contradict another bound of the run."""
    return options.transactions is not None or options.stages is not None


def with_general_arguments(lua: Lua, options: RunOptions) -> Lua:
    """Return the script with the effective general options beside its own, without credentials."""
    seconds = (options.duration_ns or DURATION_DEFAULT_NS) // SECOND_NS
    general = {
        "threads": str(client_count(options)),
        "events": str((options.transactions or 0) * client_count(options)),
        "time": "0" if options.transactions else str(seconds),
        "rate": str(round(options.rate_tps or 0)),
        "warmup_time": str(warmup_ns(options) // SECOND_NS),
        "report_interval": str(-(-progress_ns(options) // SECOND_NS)),
        "rand_seed": str(options.seed or 0),
        "db_ps_mode": "disable" if options.query_mode == "simple" else "auto",
    }
    return replace_struct(lua, arguments=lua.arguments | general)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _usage(message: str, hint: str) -> DbdynoError:
    return DbdynoError(code="usage", message=message, hint=hint)
