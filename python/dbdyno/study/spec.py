"""Turns a study file and a size into a specification; every mistake is an error here.

Names of options, factors, levels, answers and their options are all checked before anything is
started. Server settings are checked by the server's program, when the study is planned. Passwords
are kept out: the study file is stored with the study, its words in every report.
"""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dbdyno.analysis.compare.metrics import KNOWN
from dbdyno.answers.answering import all_answers
from dbdyno.errors import DbdynoError, errors_about
from dbdyno.model.secrets import names_secret
from dbdyno.model.study import Contrast, Factor, OptionTable, Question, Size, StudySpec
from dbdyno.run.options.grammar import WeightedName, span_ns, weighted_name
from dbdyno.run.options.run_options import SCRIPT_OPTION, SECOND_NS
from dbdyno.run.options.words import (
    SCRIPT_FILE,
    SCRIPTS,
    WORKLOAD,
    items_from,
    known_options,
    option_text,
    options_from,
    texts_of,
)
from dbdyno.run.work import looks_like_file
from dbdyno.store.secrets import without_password
from dbdyno.study.file import (
    FactorTable,
    Scalar,
    SizeTable,
    StudyFile,
    bad_study,
    converted,
    known_or_refused,
    read_file,
    size_table,
)
from dbdyno.study.matrix import refuse_contradictions
from dbdyno.study.sizes import factor_of, merged

TITLE = "title"  # the heading of an answer of any kind

ELSEWHERE = (
    "Leave it out. dbdyno reads it from PGPASSWORD or ~/.pgpass, from MYSQL_PWD or ~/.my.cnf, or "
    "from an ODBC data source in odbc.ini."
)
_VARIABLES = "define"
_OPTIONS = SCRIPT_OPTION.removeprefix("--")


class Overrides(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the command line overrides in the file."""

    repeats: int | None = None
    server: str | None = None


class InlineScript(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A script whose text is in the study file."""

    text: str
    weight: int = 1


AS_WRITTEN = Overrides()


def read_study(path: Path, size: Size, overrides: Overrides = AS_WRITTEN) -> StudySpec:
    """Read a study file and resolve it for a size."""
    spec = _Reader(path, read_file(path), size, overrides).spec()
    with errors_about(path.name):
        refuse_contradictions(spec)
    return spec


class _Reader:
    """Turns one file into a specification."""

    def __init__(self, path: Path, file: StudyFile, size: Size, overrides: Overrides) -> None:
        self._path = path
        self._file = file
        self._size_name: Size = size
        self._overrides = overrides
        self._size, self._size_options = size_table(path, file, size)
        # The factors as in the file, for any size: a name that a size leaves out is not a mistake.
        self._all = [factor_of(path, table, SizeTable()) for table in file.factor]

    def spec(self) -> StudySpec:
        """Return the whole specification, checked."""
        file, size = self._file, self._size
        factors = self._factors()
        budget_s, budget = None, size.budget or file.budget
        if budget is not None:
            try:
                budget_s = span_ns(budget) / SECOND_NS
            except ValueError as error:
                raise bad_study(self._path, f"budget: {error}") from error
        given = file.exclude if size.exclude is None else size.exclude
        excluded = tuple(
            {
                name: self._levels_named("[[exclude]]", name, levels, factors)
                for name, levels in one.items()
            }
            for one in given
        )
        return StudySpec(
            name=file.name,
            title=file.title,
            question=file.question,
            size=self._size_name,
            factors=factors,
            base=self._base(factors),
            excluded=excluded,
            repeats=self._overrides.repeats or size.repeats or file.repeats,
            cache=size.cache or file.cache,
            restore=size.restore or file.restore,
            metrics=self._metrics(size.metrics or file.metrics, "metrics"),
            contrasts=self._contrasts(factors),
            answers=tuple(self._answer(question) for question in file.answers),
            published=file.published,
            budget_s=budget_s,
            seed=file.seed,
        )

    def _base(self, factors: Sequence[Factor]) -> OptionTable:
        options = merged(self._file.base, self._size_options)
        if self._overrides.server is not None:
            for factor in factors:
                if any("server" in level.options for level in factor.levels):
                    raise bad_study(
                        self._path,
                        f"--server contradicts the factor {factor.name}, which varies the server",
                        "Leave --server out.",
                    )
            options["server"] = self._overrides.server
        self._check_options("[base]", self._file.base)
        self._check_options(f"[sizes.{self._size_name}]", self._size_options)
        return self._anchored(options)

    def _factors(self) -> tuple[Factor, ...]:
        tables = self._file.factor
        names = [table.name for table in tables]
        for name in self._size.levels:
            known_or_refused(self._path, f"[sizes.{self._size_name}.levels]", name, names)
        if not names:
            raise bad_study(self._path, "nothing is varied", "Add a [[factor]].")
        for factor in self._all:
            if names.count(factor.name) > 1:
                raise bad_study(self._path, f"there are two factors named {factor.name!r}")
            if len(factor.levels) < 2 and factor.name not in self._size.levels:
                hint = "Give it at least two levels, or put its options into [base]."
                raise bad_study(self._path, f"factor {factor.name} varies nothing", hint)
        return tuple(self._factor(table) for table in tables)

    def _factor(self, table: FactorTable) -> Factor:
        factor = factor_of(self._path, table, self._size)
        if not factor.levels:
            raise bad_study(self._path, f"factor {factor.name} has no levels at this size")
        for level in factor.levels:
            self._check_options(f"factor {factor.name}, level {level.name}", level.options)
        levels = (replace(level, options=self._anchored(level.options)) for level in factor.levels)
        return replace(factor, levels=tuple(levels))

    def _check_options(self, where: str, options: OptionTable) -> None:
        """Check that each name is an option, and each value one that the option takes."""
        for name in options:
            known_or_refused(self._path, where, name, known_options())
        if holds_password(options):
            raise bad_study(
                self._path, f"{where} contains a password, which would be recorded", ELSEWHERE
            )
        for name, script in dict(options.get(SCRIPTS, {})).items():
            converted(self._path, f"{where} {SCRIPTS}.{name}", script, InlineScript)
        try:
            items_from(options)
            options_from(options)
        except DbdynoError as error:
            raise bad_study(self._path, f"{where}: {error.message}", error.hint) from error

    def _anchored(self, options: OptionTable) -> OptionTable:
        """Resolve script files relative to the study file."""
        found = dict(options)
        for key in {WORKLOAD, SCRIPT_FILE} & options.keys():
            given = options[key]
            beside = [self._beside(weighted_name(name), key) for name in texts_of(given)]
            found[key] = beside if isinstance(given, list) else beside[0]
        return found

    def _beside(self, item: WeightedName, key: str) -> str:
        path = self._path.absolute().parent / item.name
        is_named = key == SCRIPT_FILE or looks_like_file(item.name)
        return str(item._replace(name=str(path)) if is_named and path.is_file() else item)

    def _levels_named(
        self, where: str, name: str, levels: Scalar | list[Scalar], factors: Sequence[Factor]
    ) -> tuple[str, ...]:
        """Return names of levels, which must be known at this size or another."""
        known_or_refused(self._path, where, name, [factor.name for factor in factors])
        wanted = levels if isinstance(levels, list) else [levels]
        names = tuple(option_text(level) for level in wanted)
        of_name = [factor for factor in (*self._all, *factors) if factor.name == name]
        known = {level.name for factor in of_name for level in factor.levels}
        for level in names:
            known_or_refused(self._path, f"{where} {name}", level, known)
        return names

    def _contrasts(self, factors: Sequence[Factor]) -> tuple[Contrast, ...]:
        """Return the contrasts whose levels this size has."""
        where, found = "[[contrast]]", []
        for table in self._file.contrast:
            self._metrics(table.metrics, f"{where} metrics")
            sides = self._levels_named(where, table.factor, [table.before, table.after], factors)
            before, after = sides
            if before == after:
                raise bad_study(self._path, f"{where} compares {before!r} with itself")
            if not 0 <= table.margin < 1:
                raise bad_study(self._path, f"{where} margin: must be a share, as 0.03 for 3 %")
            here = next(factor for factor in factors if factor.name == table.factor)
            if {*sides} <= {level.name for level in here.levels}:
                found.append(
                    Contrast(
                        factor=table.factor,
                        before=before,
                        after=after,
                        metrics=table.metrics,
                        margin=table.margin,
                    )
                )
        return tuple(found)

    def _metrics(self, names: tuple[str, ...], where: str) -> tuple[str, ...]:
        for name in names:
            known_or_refused(self._path, where, name, KNOWN)
        return names

    def _answer(self, question: Question) -> Question:
        known = all_answers()
        known_or_refused(self._path, "[[answers]]", question.answer, known)
        for option in question.options:
            where = f"[[answers]] {question.answer}"
            options = [*known[question.answer].options, TITLE]
            known_or_refused(self._path, where, option, options)
        return question


def holds_password(options: OptionTable) -> bool:
    """Whether an address, a variable or an option of a sysbench script contains a password."""
    addresses = [
        part
        for name in ("target", "further-target")
        for text in texts_of(options.get(name, ()))
        for part in (text, *text.split(","))
    ]
    given = [f"--{pair}" for pair in texts_of(options.get(_OPTIONS, ()))]
    variables = [pair.partition("=")[0] for pair in texts_of(options.get(_VARIABLES, ()))]
    return any(without_password(one) != one for one in (*addresses, *given)) or any(
        map(names_secret, variables)
    )
