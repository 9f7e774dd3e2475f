"""What a study file may contain, and the errors for one that is invalid."""

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.study.spec import Overrides
from tests.study.files import BASE, CLIENTS, HEAD, MINI, MODES, read

ORDER = """
[[factor]]
name = "order"
[factor.levels.as-written]
workload = "tpcb"
[factor.levels.turned]
workload = "tpcb@0"
scripts.turned.text = "select 1;"
"""


def refusal(tmp_path, text: str, **more) -> str:
    with pytest.raises(DbdynoError) as caught:
        read(tmp_path, text, **more)
    return str(caught.value)


def test_levels_are_values_of_the_option_or_tables_of_words(tmp_path):
    clients, mode = read(tmp_path).factors
    assert [level.options for level in clients.levels] == [{"clients": 1}, {"clients": 2}]
    assert mode.title == "query mode"
    assert mode.levels[1].options == {"protocol": "prepared", "set": {"jit": False}}


def test_a_byte_order_mark_is_not_part_of_the_file(tmp_path):
    assert len(read(tmp_path, f"\ufeff{MINI}").factors) == 2


def test_a_factor_named_with_a_dot_is_a_name_in_a_table(tmp_path):
    text = HEAD + BASE + '[[factor]]\nname = "set.jit"\nlevels = [true, false]\n'
    (factor,) = read(tmp_path, text).factors
    assert [level.name for level in factor.levels] == ["on", "off"]
    assert factor.levels[1].options == {"set": {"jit": False}}


def test_a_size_replaces_words_levels_and_repeats(tmp_path):
    sizes = """
[sizes.tiny]
repeats = 5
time = "3s"
set.work_mem = "8MB"
[sizes.tiny.levels]
clients = [7, 8, 9]
[sizes.tiny.levels.mode.named.set]
jit = true
"""
    spec = read(tmp_path, MINI + sizes)
    assert spec.repeats == 5
    assert spec.base["time"] == "3s"
    assert spec.base["set"] == {"work_mem": "8MB"}
    assert [level.name for level in spec.factors[0].levels] == ["7", "8", "9"]
    assert spec.factors[1].levels[1].options["set"] == {"jit": True}
    assert read(tmp_path, MINI + sizes, size="full").repeats == 2


def test_a_size_chooses_among_levels_that_are_tables(tmp_path):
    spec = read(tmp_path, MINI + '[sizes.tiny.levels]\nmode = ["named"]\n')
    assert [level.name for level in spec.factors[1].levels] == ["named"]


def test_a_contrast_names_levels_as_the_factor_does(tmp_path):
    contrast = '[[contrast]]\nfactor = "clients"\nbefore = 1\nafter = 2\n'
    [read_as_numbers] = read(tmp_path, MINI + contrast).contrasts
    assert (read_as_numbers.before, read_as_numbers.after) == ("1", "2")


def test_a_contrast_of_levels_that_the_size_leaves_out_is_left_out(tmp_path):
    contrast = '[[contrast]]\nfactor = "clients"\nbefore = "1"\nafter = "2"\n'
    text = MINI + contrast + "[sizes.tiny.levels]\nclients = [1, 4]\n"
    assert read(tmp_path, text).contrasts == ()
    assert len(read(tmp_path, text, size="small").contrasts) == 1


def test_the_command_line_overrides_the_file(tmp_path):
    spec = read(tmp_path, overrides=Overrides(repeats=9, server="mariadb"))
    assert spec.repeats == 9
    assert spec.base["server"] == "mariadb"


def test_script_files_are_found_beside_the_study(tmp_path):
    (tmp_path / "own.sql").write_text("select 1;")
    text = HEAD + BASE.replace('"select-only"', '["select-only", "own.sql@2"]') + CLIENTS
    assert read(tmp_path, text).base["workload"] == ["select-only", f"{tmp_path}/own.sql@2"]


@pytest.mark.parametrize(
    ("wrong", "right", "expected"),
    [
        ("repeats = 2", "repets = 2", ("no key 'repets'", "did you mean repeats?")),
        ("repeats = 2", "repeats = 0", ("repeats", ">= 1")),
        ("repeats = 2", 'restore = "never"', ("restore: unknown value 'never'", "each run")),
        ("repeats = 2", 'repeats = "two"', ("repeats must be a whole number, not text",)),
        ('name = "mini"', "", ("the file lacks the key 'name'", "Add it: name = …")),
        ('name = "clients"', "", ("factor[0] lacks the key 'name'",)),
        ("levels = [1, 2]", "levels = 2", ("levels must be a table or a list",)),
        ("repeats = 2", 'budget = "soon"', ("budget", "is not a duration")),
        ("repeats = 2", "repeats =", ("line 5",)),
        ("repeats = 2", 'metrics = ["wal_bites"]', ("metrics", "did you mean wal_bytes?")),
        ("scale = 1", "scal = 1", ("[base]", "'scal'", "did you mean scale?")),
        ("scale = 1", "seed = 1", ("[base]", "'seed'")),
        ("scale = 1", 'scale = "big"', ("[base]", "--scale", "big")),
        ("levels = [1, 2]", "levels = [1]", ("factor clients varies nothing",)),
        ("levels = [1, 2]", "levels = [1, 1]", ("the level '1' twice",)),
        ("levels = [1, 2]", 'levels = ["a=b", "c"]', ("is not a valid level name",)),
        ("levels = [1, 2]", 'levels = [1, "few"]', ("factor clients, level few", "--clients")),
        ("levels = [1, 2]", "levls = [1, 2]", ("no key 'levls'", "did you mean levels?")),
        ('name = "clients"', 'name = "cleints"', ("'cleints'", "did you mean clients?")),
        ('name = "clients"', 'name = "mode"', ("two factors named 'mode'",)),
    ],
)
def test_a_slip_of_the_pen_is_named_with_what_was_meant(tmp_path, wrong, right, expected):
    message = refusal(tmp_path, (HEAD + BASE + CLIENTS + MODES).replace(wrong, right, 1))
    assert message.startswith("mini.toml: ")
    for part in expected:
        assert part in message


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("[[exclude]]\nclient = 1\n", ("'client'", "did you mean clients?")),
        ("[[exclude]]\nclients = 9\n", ("[[exclude]] clients", "'9'")),
        ('[[contrast]]\nfactor = "mode"\nbefore = "plain"\nafter = "nmed"\n', ("named?",)),
        ('[[contrast]]\nfactor = "mode"\nbefore = "plain"\nafter = "plain"\n', ("itself",)),
        (
            '[[contrast]]\nfactor = "mode"\nbefore = "plain"\nafter = "named"\nmetrics = ["tps"]\n',
            ("[[contrast]] metrics", "'tps'"),
        ),
        (
            '[contrast]\nfactor = "mode"\nbefore = "plain"\nafter = "named"\n',
            ("contrast is a single table", "two brackets: [[contrast]]"),
        ),
        ('[[answers]]\nanswer = "nothing"\n', ("[[answers]]", "'nothing'")),
        ("[sizes.huge]\nrepeats = 2\n", ("sizes: unknown value 'huge'", "tiny, small, full")),
        ('[sizes.tiny]\ncache = "hot"\n', ("sizes.tiny.cache: unknown value 'hot'", "warm")),
        ("[sizes.tiny]\nrepets = 2\n", ("[sizes.tiny]", "'repets'")),
        ("[sizes.tiny.levels]\nclient = [1]\n", ("did you mean clients?",)),
        ('[sizes.tiny.levels]\nmode = ["naemd"]\n', ("did you mean named?",)),
    ],
)
def test_names_between_the_parts_of_a_file_must_agree(tmp_path, more, expected):
    message = refusal(tmp_path, MINI + more)
    for part in expected:
        assert part in message


@pytest.mark.parametrize(
    "options",
    [
        'target = "postgresql://me:tiger@db/app"',
        'target = "host=db password=tiger"',
        'target = "odbc:Driver={x};PWD=tiger"',
        'target = "postgresql://me@a/app,postgresql://me:tiger@b/app"',
        'further-target = ["postgresql://me:tiger@db/app"]',
        'define = { password = "tiger" }',
        'script-option.mysql-password = "tiger"',
        'script-option.mysql_password = "tiger"',
    ],
)
def test_a_password_is_refused_since_the_file_would_be_kept(tmp_path, options):
    message = refusal(tmp_path, f"{HEAD}{BASE}{options}\n{CLIENTS}")
    assert "[base] contains a password" in message
    assert "PGPASSWORD" in message
    assert "tiger" not in message
    level = f'[[factor]]\nname = "where"\n[factor.levels.a]\n{options}\n[factor.levels.b]\n'
    assert "factor where, level a contains a password" in refusal(tmp_path, HEAD + BASE + level)


def test_two_factors_may_not_give_one_option(tmp_path):
    other = '[[factor]]\nname = "again"\n[factor.levels.a]\nclients = 3\n[factor.levels.b]\n'
    assert "the factors clients and again both set clients" in refusal(tmp_path, MINI + other)


def test_exclusions_may_not_take_what_a_contrast_or_a_factor_needs(tmp_path):
    contrast = '[[contrast]]\nfactor = "mode"\nbefore = "plain"\nafter = "named"\n'
    apart = '[[exclude]]\nclients = 1\nmode = "plain"\n[[exclude]]\nclients = 2\nmode = "named"\n'
    assert "no points to compare 'plain' with 'named'" in refusal(tmp_path, MINI + contrast + apart)
    idle = '[[exclude]]\nmode = "plain"\n'
    assert "leaves only 'named' of the factor mode" in refusal(tmp_path, MINI + idle)
    nothing = refusal(tmp_path, MINI + "[[exclude]]\nclients = [1, 2]\n")
    assert "mini.toml: [[exclude]] leaves no point" in nothing


def test_a_server_of_the_command_line_may_not_contradict_a_factor(tmp_path):
    other = '[[factor]]\nname = "server"\nlevels = ["postgres", "mariadb"]\n'
    message = refusal(tmp_path, MINI + other, overrides=Overrides(server="postgres:15"))
    assert "--server contradicts the factor server" in message


def test_a_script_in_the_file_is_a_text_and_a_weight(tmp_path):
    assert "turned" in str(read(tmp_path, HEAD + BASE + ORDER).factors[0].levels[1].options)
    message = refusal(tmp_path, HEAD + BASE + ORDER.replace("turned.text", "turned.txt"))
    assert "scripts.turned" in message
