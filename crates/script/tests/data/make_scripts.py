r"""Runs scripts with the real pgbench and writes down what the server got.

    python3 make_scripts.py

Each script below runs once in each of its query modes against a throw-away server that logs
all statements. ``scripts.json`` holds the script, the mode, and the statements with their
parameters as the server logged them. The scripts avoid what dbdyno does differently on
purpose: parameters inside quotations, and NULL as a text.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from peer import BIN, server

OUTPUT = Path(__file__).with_name("scripts.json")
SETTINGS = ("log_statement=all", "logging_collector=on", "log_destination=jsonlog")
ANY = ("simple", "extended", "prepared")
SIMPLE = ("simple",)
EXTENDED = ("extended", "prepared")


class Case(NamedTuple):
    """A script, its query modes, and the answers to the queries whose rows it stores.

    Each answer is a list of results, a result a map of columns to the values of the last row.
    """

    modes: tuple[str, ...]
    script: str
    answers: tuple[list[dict[str, str]], ...] = ()


SCRIPTS = [
    Case(ANY, "select 1;"),
    Case(ANY, "select 1"),
    Case(ANY, "select 1;select 2; select 3"),
    Case(ANY, "-- a comment\n\n  select 1\n  + 2;\n-- another; one\nselect 3;\n-- the end"),
    Case(ANY, "select /* not ; here */ 1 -- nor ; here\n + 1;\nselect 2;"),
    Case(ANY, "select /* a /* b; */ c; */ 1;"),
    Case(ANY, "select ';', 'it''s;', e'it\\'s;', $$;$$, $a$;$$;$a$ as \"a;b\";\nselect 2;"),
    Case(ANY, "\\set x 5\nselect :x, :x + 1, 'a'::text, 2::int;"),
    Case(ANY, "\\set x 5\nselect (:x)*2,:x::int;"),
    Case(ANY, "\\set x -5\nselect 1 - :x;"),
    Case(ANY, "\\set big 1000000 * 1000000\n\\set b :big > 1\nselect :big::bigint, :b::boolean;"),
    Case(
        ANY,
        "\\set d 1.0 / 3\n\\set e 1e20\n\\set f 2.0\nselect :d::float8, :e::float8, :f::float8;",
    ),
    Case(ANY, "\\set n null\n\\set x case when :n is null then 1 else 2 end\nselect :x;"),
    Case(ANY, "\\set x 1 + \\\n  2 * \\\n 3\nselect :x;"),
    Case(ANY, "  \\set x 3\n\t\\set y :x * 2\nselect :x, :y;"),
    Case(ANY, "select 1\n\\set x 2\nselect :x;"),
    Case(ANY, "select 1 \\set x 2\nselect :x;"),
    Case(ANY, "\\SET x 3\n\\If :x = 3\nselect 'three';\n\\ELSE\nselect 'other';\n\\EndIf"),
    Case(
        ANY,
        "\\if false\nselect 1;\n\\elif null\nselect 2;\n\\elif 0\nselect 3;\n\\else\nselect 4;\n"
        "\\endif\nselect 5;",
    ),
    Case(
        ANY,
        "\\if 1\n\\if 0\nselect 1;\n\\else\nselect 2;\n\\endif\nselect 3;\n\\else\nselect 4;\n"
        "\\endif",
    ),
    Case(ANY, "\\if 1\nselect 1;\n\\elif 1 / 0\nselect 2;\n\\endif"),
    Case(ANY, "select 7 as a, 'b' as b \\gset\nselect :a::int;", ([{"a": "7", "b": "b"}],)),
    Case(
        ANY,
        "select 7 as a, true as t;\n\\gset p_\n\\if :p_t\nselect :p_a::int;\n\\endif",
        ([{"a": "7", "t": "t"}],),
    ),
    Case(
        ANY,
        "select '007' as a, ' 8' as b, 1.50 as c \\gset\n\\set d :a + :b + :c\n"
        "select :a::text, :c::numeric, :d::float8;",
        ([{"a": "007", "b": " 8", "c": "1.50"}],),
    ),
    Case(
        ANY, "select 1 as x union all select 2 order by x \\aset\nselect :x::int;", ([{"x": "2"}],)
    ),
    Case(
        SIMPLE,
        "select 1 as a \\; select 2 as b, 3 as a \\gset\n\\set b 9\nselect :a, :b;",
        ([{"a": "1"}, {"b": "2", "a": "3"}],),
    ),
    Case(
        SIMPLE,
        "\\set b 9\nselect 1 as a \\; select 2 as b where false \\; select 3 as c \\aset\n"
        "select :a, :b, :c;",
        ([{"a": "1"}, {}, {"c": "3"}],),
    ),
    Case(SIMPLE, "begin\\; select 1\\; select 2;\nselect 3 \\; commit;"),
    Case(SIMPLE, "\\set x 5\nselect ':x', ':unknown', $$:x$$ /* :x */; -- :x"),
    Case(SIMPLE, "\\set n null\nselect :n;"),
    Case(ANY, "\\sleep 1 ms\n\\sleep 10us\nselect 1;"),
    Case(
        ANY, "\\set x hash_fnv1a(:scale, 7)\n\\set y permute(3, 10, 5)\nselect :x::bigint, :y::int;"
    ),
    Case(ANY, "select :scale::int, :client_id::int, :given::text;"),
    Case(
        ANY,
        "create or replace function pg_temp.f(x int) returns int begin atomic\n"
        "  select case when x > 0 then 1 else 2 end; select 3;\nend;\nselect pg_temp.f(1);",
    ),
    Case(
        ANY,
        "create table if not exists t (a int);\n"
        "create or replace rule r as on update to t do also (delete from t; delete from t);\n"
        "drop table t;",
    ),
    Case(
        EXTENDED, "\\startpipeline\n\\set x 4\nselect :x::int;\nselect 2;\n\\endpipeline\nselect 3;"
    ),
    Case(ANY, "\\setshell x echo 42\nselect :x::int;"),
    Case(ANY, "select array[1, 2, 3];"),
    Case(SIMPLE, "begin;\nselect 1;\nend;\n\n;"),
]


def run(folder: Path, name: str, mode: str, script: str) -> None:
    """Runs the script once; the server logs it under the name."""
    file = folder / "script.sql"
    file.write_text(script)
    options = ["--no-vacuum", "--transactions=1", f"--protocol={mode}", f"--file={file}"]
    pgbench = [f"{BIN}/pgbench", *options, "--define=given=0050", f"--host={folder}"]
    environment = os.environ | {"PGAPPNAME": name, "PGUSER": "postgres", "PGDATABASE": "postgres"}
    done = subprocess.run(pgbench, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{mode}: {script}\n{done.stderr}")


def statements(folder: Path) -> dict[str, list[dict[str, object]]]:
    """What the server got, by name."""
    found: dict[str, list[dict[str, object]]] = {}
    for file in sorted((folder / "data" / "log").glob("*.json")):
        for entry in map(json.loads, file.read_text().splitlines()):
            name = entry.get("application_name", "")
            found.setdefault(name, []).extend(statement(entry))
    return found


def statement(entry: dict[str, str]) -> list[dict[str, object]]:
    """The statement of a line of the log, if it is about one."""
    found = re.match(r"(?:statement|execute \S+): (.*)", entry.get("message", ""), re.DOTALL)
    values = re.findall(r"\$\d+ = '((?:[^']|'')*)'", entry.get("detail", ""))
    return [{"sql": found[1], "parameters": values}] if found else []


def main() -> None:
    """Runs all scripts and writes what the server got."""
    cases = {
        f"{number} {mode}": (mode, case)
        for number, case in enumerate(SCRIPTS)
        for mode in case.modes
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with server(folder, *SETTINGS):
            for name, (mode, case) in cases.items():
                run(folder, name, mode, case.script)
        sent = statements(folder)
    rows = [
        {"script": case.script, "mode": mode, "answers": case.answers, "sent": sent[name]}
        for name, (mode, case) in cases.items()
    ]
    OUTPUT.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


main()
