"""Reads HammerDB's TPROC-C: new orders a minute, from version 2 to 5, and its time profile.

Its TPM are the commits and rollbacks that the server counted, whoever made them: they are a figure,
and no throughput.
"""

import re

from dbdyno.imports.imported_run import ImportedRun, ImportedScript
from dbdyno.imports.numbers import count_of, number_of
from dbdyno.imports.text import Line
from dbdyno.model.record import PrintedFigure

_BANNER = re.compile(r"HammerDB CLI v(?P<version>[\d.]+).*")
_RESULT = re.compile(
    r".*TEST RESULT : System achieved (?:(?P<nopm>[\d,.]+) NOPM from (?P<tpm>[\d,.]+) "
    r"(?P<server>[A-Za-z][\w ]*?) TPM|(?P<old_tpm>[\d,.]+) (?P<old_server>[A-Za-z][\w ]*?) TPM "
    r"at (?P<old_nopm>[\d,.]+) NOPM)\b.*"
)
_USERS = re.compile(r".*?(?P<users>\d+) Active Virtual Users configured.*")
_MINUTES = re.compile(r".*Timing test period of (?P<minutes>\d+) in minutes.*")
_PROCEDURE = re.compile(r">*\s*PROC: (?P<name>\w+)")
_AMOUNT = re.compile(r"(?P<name>[A-Z][A-Z\d]*): (?P<number>[\d.,]+)(?P<unit>ms|%)?")
_DECIMALS = 3
_PRODUCTS = {"PostgreSQL": "postgres", "MySQL": "mysql", "MariaDB": "mariadb", "Oracle": "oracle"}


class HammerdbReader:
    """Reads the output of HammerDB."""

    def __init__(self) -> None:
        self.runs: list[ImportedRun] = []
        self.notes: list[str] = []
        self._version = ""
        self._minutes: int | None = None
        self._before: list[PrintedFigure] = []
        """The figures that come before the result of their run."""
        self._first_line = 0
        self._procedure: ImportedScript | None = None

    def take(self, line: Line) -> bool:
        """Return whether the line is HammerDB's."""
        text = line.text.strip()
        if banner := _BANNER.fullmatch(text):
            self._version = banner["version"]
            return True
        if minutes := _MINUTES.fullmatch(text):
            self._minutes = int(minutes["minutes"])
            self._keep(line, "test period", self._minutes, "min")
            return True
        if users := _USERS.fullmatch(text):
            self._keep(line, "active virtual users", int(users["users"]))
            return True
        return self._result(line) or self._time_profile(line)

    def finish(self) -> None:
        """Do nothing: a result is whole with its line."""

    def _keep(self, line: Line, name: str, value: float, unit: str = "") -> None:
        self._first_line = self._first_line or line.number
        self._before.append(PrintedFigure(name=name, value=value, unit=unit, line=line.number))

    def _result(self, line: Line) -> bool:
        found = _RESULT.fullmatch(line.text)
        if found is None:
            return False
        nopm = count_of(found["nopm"] or found["old_nopm"])
        tpm = count_of(found["tpm"] or found["old_tpm"])
        if nopm is None or tpm is None:
            return False
        server = found["server"] or found["old_server"]
        self._keep(line, "NOPM", nopm, "1/min")
        self._keep(line, "TPM", tpm, "1/min")
        users = (one.value for one in reversed(self._before) if one.name == "active virtual users")
        clients = next(users, None)
        run = ImportedRun(
            tool="HammerDB",
            first_line=self._first_line,
            last_line=line.number,
            version=self._version,
            is_complete=True,
            workload="tprocc",
            product=_PRODUCTS.get(server, ""),
            clients=None if clients is None else int(clients),
            duration_s=None if self._minutes is None else self._minutes * 60.0,
            nopm=float(nopm),
            figures=self._before,
        )
        self.runs.append(run)
        self._before, self._first_line, self._procedure = [], 0, None
        return True

    def _time_profile(self, line: Line) -> bool:
        """The response times of the stored procedures, which follow the result."""
        text = line.text.strip()
        if not self.runs:
            return False
        run = self.runs[-1]
        if begins := _PROCEDURE.fullmatch(text):
            self._procedure = ImportedScript(name=begins["name"].lower())
            run.scripts.append(self._procedure)
            return True
        procedure = self._procedure
        amounts = list(_AMOUNT.finditer(text))
        if procedure is None or not amounts or not line.is_whole:
            return False
        for found in amounts:
            decimals = 0 if found["name"] == "CALLS" else _DECIMALS
            value = number_of(found["number"], decimals) if decimals else count_of(found["number"])
            if value is None:
                continue
            name, unit = found["name"].lower(), found["unit"] or ""
            run.figures.append(
                PrintedFigure(
                    name=name, value=value, unit=unit, of=procedure.name, line=line.number
                )
            )
            match name:
                case "calls":
                    procedure.ok = int(value)
                case "avg":
                    procedure.mean_ms = float(value)
        run.last_line = line.number
        return True
