"""A command line of sysbench, read and checked: the test, its command, and the options."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.peers.command_line import RefusalError
from dbdyno.peers.sysbench.options import OLD_NAMES, OPTIONS

TIME_DEFAULT_S = 10
PERCENTILE_DEFAULT = 95
UNLIMITED_S = 365 * 24 * 3600
"""As long as anybody lets a run without an end go on."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """What is asked for: ``options`` are the general options that are given, by their names."""

    test: str
    command: str
    words: tuple[str, ...]
    options: dict[str, Any]

    @property
    def threads(self) -> int:
        """The number of threads."""
        return int(self.options.get("threads", 1))

    @property
    def percentile(self) -> int:
        """The percentile that is reported; 0 for none."""
        return int(self.options.get("percentile", PERCENTILE_DEFAULT))

    @property
    def warnings(self) -> Iterator[str]:
        """What is said of the options before anything else."""
        names = {_name_of(word) for word in self.words}
        for old, name in OLD_NAMES.items():
            if old in names:
                yield f"--{old.replace('_', '-')} is deprecated, use --{name} instead"
        if self.is_endless:
            yield "Both event and time limits are disabled, running an endless test"

    @property
    def is_endless(self) -> bool:
        """Whether neither time nor events end the run."""
        return self.options.get("time") == 0 and not self.options.get("events")

    @property
    def script_options(self) -> tuple[str, ...]:
        """All options as ``dbdyno run`` takes them after ``--``, with sysbench's own defaults."""
        endless = (f"--time={UNLIMITED_S}",) if self.is_endless else ()
        return (*self._defaults(), *self.words, *endless)

    def word_of(self, name: str) -> str:
        """Return the word that gives an option of this name, as it was written."""
        given = {_name_of(word): word for word in self.words}
        return given[_name_of(f"--{name}")]

    def _defaults(self) -> Iterator[str]:
        given = self.options
        for name, text in {"threads": 1, "warmup_time": 0, "db_driver": "mysql"}.items():
            if name not in given:
                yield f"--{name.replace('_', '-')}={text}"
        if "time" not in given and not given.get("events"):
            yield f"--time={TIME_DEFAULT_S}"


def read_command(words: Sequence[str]) -> Command:
    """Return what the words ask for; a general option that is wrong is refused."""
    known = {option.field: option for option in OPTIONS}
    options: dict[str, Any] = {}
    arguments: list[str] = []
    kept: list[str] = []
    for word in words:
        if not word.startswith("--"):
            arguments.append(word)
            continue
        name, text = _name_of(word), word.partition("=")[2]
        field = OLD_NAMES.get(name, name)
        if option := known.get(field):
            try:
                options[field] = option.read(option, text)
            except ValueError as error:
                raise RefusalError(
                    text=f"Invalid value for the '{name}' option: '{text}'\n"
                ) from error
        kept.append(word)
    if options.get("histogram") and options.get("percentile") == 0:
        raise RefusalError("FATAL: --histogram cannot be used with --percentile=0")
    if len(arguments) > 2:
        raise RefusalError(text=f"Unrecognized command line argument: {arguments[2]}\n")
    test, command = (*arguments, "", "")[:2]
    return Command(test=test, command=command, words=tuple(kept), options=options)


def _name_of(word: str) -> str:
    return word.removeprefix("--").partition("=")[0].replace("-", "_")


def usage() -> str:
    """Return the help."""
    lines = [
        "Usage:",
        "  sysbench [options]... [testname] [command]",
        "",
        "Commands implemented by most tests: prepare run cleanup help",
        "",
        "General options:",
        *(f"  {option.written:32}{option.meaning}" for option in OPTIONS),
        "",
        "See 'sysbench <testname> help' for a list of options for each test.",
        "",
    ]
    return "\n".join(lines)
