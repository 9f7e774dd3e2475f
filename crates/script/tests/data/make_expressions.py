r"""Asks the real pgbench what expressions are worth, and writes it down.

    python3 make_expressions.py [PGBENCH]

Starts a throw-away PostgreSQL in a temporary folder (pgbench wants a connection), runs one
script ``\set v debug(EXPRESSION)`` for each expression below, and writes ``expressions.tsv``:
variable ``x`` as given with ``-D`` (empty for none), the expression, and what pgbench printed,
or ``error`` when it refused. ``default_seed`` is always -42. The vectors are facts to test
against; they need to be made again only when expressions are added here. pgbench 18.6 gives
the same.

Left out is what pgbench does by accident: ``abs(true)`` reads a boolean as a double, and ``-D``
takes C's hexadecimal numbers.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from peer import BIN, server

OUTPUT = Path(__file__).with_name("expressions.tsv")
MIN, MAX = "-9223372036854775808", "9223372036854775807"


def items(text: str) -> list[str]:
    """What semicolons separate."""
    return [item.strip() for item in text.strip().split(";")]


def pairs(text: str) -> list[tuple[str, str]]:
    """Items of two words."""
    return [(left, right) for left, right in map(str.split, items(text))]


PRECEDENCE = """
1 + 2 * 3; (1 + 2) * 3; 10 - 2 - 3; 100 / 7 / 2; 100 % 7 * 3; 2 * 3 % 4; - 2 + 5; - 2 * - 3;
- - 3; + 5 - + 3; +-+5; 1 + 2 << 3; 1 << 2 + 3; 1 | 2 & 3; 1 | 2 # 3; 7 & 3 | 8; ~ 5;
~ 5 + 1; ~ 5 | 1; 1 + ~ 2; 2 * ~ 3 + 1; - ~ 5; ~ - 5; 1 | 2 = 3; 1 + 1 = 2; 1 < 2 = true;
not true = false; not true and false; not 1 = 2 and true; not not true; not 1 < 2;
1 < 2 and 2 < 3; 1 < 2 or 1 / 0 = 1; false and 1 / 0 = 1; true and 1 / 0 = 1;
true or false and false; false or true and false; 1 = 1 is true; 1 = 2 is not true;
null is null; null is not null; null isnull; null notnull; 1 isnull; 1 notnull;
1 is null is false; 1 + null is null; not null is null; 1 is true; 1 is false; true is true;
false is true; null is true; null is not true; 1.0 is null; 1 < 2 < 3; 1 = 1 = 1;
1 <> 2 != 3; 1 < 2 is null < 3; 1 is 2; 1 is not 2; - 1 is null; 1 << 2 << 1; 256 >> 2 >> 1;
5 # 3 # 1; 1 < not 2 < 3; 8 >> 1 < 5; 1 >= 1; 1 > 2; 2 > 1; 2.0 >= 2; 1 > 2 or 2 > 1
"""

LITERALS = f"""
0; 00012; 1.; .5; 1.5e3; 1e3; 1E-3; 1.e2; {MAX}; {MIN}; - 9223372036854775808;
9223372036854775808; -(9223372036854775808); 1 - 9223372036854775808; 99999999999999999999;
1e308; 1e309; 0.1; 0.1 + 0.2; 1.0; -0.0; 123456789012345.678; 1234567890123456.7; 0.00001;
0.0001; 1e15; 1e14; 1e-300; TRUE; False; NuLl; tru; 1 2; 1 +; (); (1; 1); :nosuch; 1..2; 1e;
1 @ 2; "a"; 'a'; ,
"""

CONTROL = """
case when true then 1 end; case when false then 1 end; case when null then 1 else 2 end;
case when 0 then 1 else 2 end; case when 0.0 then 1 when 0.5 then 3 else 2 end;
case when 1 then 1 when 1 / 0 = 1 then 2 end; case when false then 1 / 0 else 5 end;
case when 1 > 2 then 'x' else 1 end; case when true then 1 else 2 end + 1;
case when false then 1 when true then case when true then 7 end end;
CASE WHEN 1=1 THEN 1.5 ELSE 1 END; case end; case when true end;
case when true then 1 else end; case true when true then 1 end; true and null;
null and false; null and true; false and null; false or null; null or true; true or null;
null or null; not null; 1 and true; true and 1; 0 or true; false or 2.5; not 1; null + 1;
null = null; null <> 1; null < 1; 1 % null; null << 1; - null; ~ null; null is null and true;
abs(null); least(1, null); greatest(null, 2.0); hash(null); permute(1, null);
permute(null, -1); debug(null); random(null, 5); pow(null, 2); mod(null, 0)
"""

FUNCTIONS = f"""
abs(-5); abs(5); abs(-5.5); abs({MIN}); abs(); abs(1, 2); debug(5); debug(true); debug(1.5);
double(5); double(5.5); double(true); double({MAX}); int(5.4); int(5.5); int(6.5); int(-5.5);
int(-6.5); int(0.5); int(1e18); int(9.2e18); int(1e19); int(-1e19);
int(9223372036854775807.0); int(-9223372036854775808.0); int(true); int(null); exp(0);
exp(1); exp(2.5); exp(710); exp(-1); ln(1); ln(10); ln(2.718281828459045); ln(0); sqrt(2);
sqrt(16); sqrt(0); pi(); pi(1); PI(); pow(2, 10); pow(2, 0.5); pow(-2, 3); pow(2.0, -1);
power(10, 2); power(0, 0); pow(2, 62); pow(true, 1); mod(10, 3); mod(-10, 3); mod(10, -3);
mod(10.4, 3.6); mod(5, 0); mod({MIN}, -1); least(1); least(3, 1, 2); least(3, 1.5, 2);
least(1, 1.0); greatest(1); greatest(3, 1, 2); greatest(3, 1.5, 2);
greatest(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
greatest(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17); greatest();
least(true, 1); least(true); LEAST(2, 1); nosuch(1); random(1, 1); random(5, 5) + 1;
random(2, 1); random({MIN}, {MAX}); random(0, {MAX}); random(1); random(1.4, 1.4);
random(1, 2, 3); random_exponential(1, 1, 2); random_exponential(1, 10, 0);
random_exponential(1, 10, -1); random_exponential(7, 7, 0.001); random_gaussian(3, 3, 2);
random_gaussian(1, 10, 1.9); random_zipfian(3, 3, 1.001); random_zipfian(1, 10, 1);
random_zipfian(1, 10, 1.0009); random_zipfian(1, 10, 1000.1); random_zipfian(4, 4, 1000);
random_zipfian(2, 1, 2); hash(); hash(1, 2, 3); permute(1); permute(1, 0); permute(1, -5, 3);
permute(1, 2, 3, 4); permute(true, 2); hash(1.5, 2); hash(true); hash(5); hash_fnv1a(5);
hash_murmur2(5); permute(3, 10); Hash_FNV1a(5, -42)
"""

ARITHMETIC_OPERATORS = ["+", "-", "*", "/", "%", "&", "|", "#", "<<", ">>"]
COMPARISON_OPERATORS = ["<", "<=", "=", "<>", "!=", ">", ">="]
OPERANDS = pairs(
    f"7 2; -7 2; 7 -2; 7.5 2; 3 0; 3.0 0.0; 0.0 -1; {MAX} 1; {MIN} 1; {MIN} -1; {MAX} -1;"
    "true 1; true false; 2.5 3.5; 1 64; 1 -1; null 1.5"
)

HASHED = ["0", "1", "-1", "42", "123456789012", MIN, MAX]
SEEDS = ["0", "1", "-1", "5432", "1234567890123456789", MIN, MAX]
PERMUTED = pairs(
    f"0 1; 5 1; 0 2; 1 2; 0 3; 2 3; 3 4; -1 10; 9 10; 10 10; 41 97; 1000 1024; 1023 1023;"
    f"99999 100000; {MIN} 1000003; {MAX} {MAX}; 0 {MAX}; {MIN} {MAX};"
    "123456789 4611686018427387904; 7 4611686018427387905"
)

VARIABLES = (
    "5|-5|+5| 5|5 |007|5.5|-.5|1e3|true|T|tr|TRUE|y|yes|on|o|of|off|n|no|f|fal|false|null|NULL|"
    "nul|9223372036854775807|9223372036854775808|1e400|abc|1x|1.5.5|-|inf"
)


def expressions() -> Iterator[tuple[str, str]]:
    """Pairs of what x is given as and the expression."""
    for text in (PRECEDENCE, LITERALS, CONTROL, FUNCTIONS):
        yield from (("", expression) for expression in items(text))
    for operator, (left, right) in product(ARITHMETIC_OPERATORS, OPERANDS):
        yield "", f"{left} {operator} {right}"
    for operator, (left, right) in product(COMPARISON_OPERATORS, OPERANDS):
        yield "", f"{left} {operator} {right}"
    for name, value, seed in product(("hash_fnv1a", "hash_murmur2"), HASHED, SEEDS):
        yield "", f"{name}({value}, {seed})"
    for (value, size), seed in product(PERMUTED, SEEDS):
        yield "", f"permute({value}, {size}, {seed})"
    for value in VARIABLES.split("|"):
        yield value, ":x"
        yield value, "not :x"
        yield value, ":x + 1"


def evaluate(pgbench: str, folder: Path, x: str, expression: str) -> str:
    """What pgbench prints for the expression."""
    script = folder / "script.sql"
    script.write_text(f"\\set v debug({expression})\n")
    given = [f"--define=x={x}"] if x else []
    options = ["--no-vacuum", "--transactions=1", "--define=default_seed=-42", *given]
    where = [f"--host={folder}", "--username=postgres", "postgres"]
    command = [pgbench, *options, f"--file={script}", *where]
    output = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    printed = re.findall(r"^debug\(script=0,command=1\): (.*)$", output, re.MULTILINE)
    return printed[-1] if printed else "error"


def main() -> None:
    """Asks for all vectors and writes them."""
    pgbench = sys.argv[1] if len(sys.argv) > 1 else f"{BIN}/pgbench"
    version = subprocess.run([pgbench, "--version"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)):
        rows = [(x, text, evaluate(pgbench, Path(folder), x, text)) for x, text in expressions()]
    header = f"# Made by make_expressions.py with {version.stdout.strip()}; do not edit.\n"
    OUTPUT.write_text(header + "".join("\t".join(row) + "\n" for row in rows))


main()
