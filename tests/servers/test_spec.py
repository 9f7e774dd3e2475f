from pathlib import Path

import pytest

from dbdyno.errors import DbdynoError
from dbdyno.servers.spec import ServerSpec, parse_spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("postgres", ServerSpec()),
        ("postgres:17", ServerSpec(major=17)),
        ("postgres:/opt/pg/bin", ServerSpec(path=Path("/opt/pg/bin"))),
        ("postgres,fsync=off", ServerSpec(settings={"fsync": "off"})),
        (
            "postgres:15,shared_preload_libraries=auto_explain,pg_prewarm,jit = off",
            ServerSpec(
                major=15,
                settings={"shared_preload_libraries": "auto_explain,pg_prewarm", "jit": "off"},
            ),
        ),
        ("mariadb", ServerSpec("mariadb")),
        ("mysql:/opt/mysql", ServerSpec("mysql", path=Path("/opt/mysql"))),
        ("mariadb,sync_binlog=1", ServerSpec("mariadb", settings={"sync_binlog": "1"})),
        ("postgres,cluster_name=a=b", ServerSpec(settings={"cluster_name": "a=b"})),
    ],
)
def test_a_spec_is_read(text: str, spec: ServerSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("oracle", "unknown kind"),
        ("", "unknown kind"),
        ("postgres:new", "neither a major version nor a path"),
        ("postgres,fsync", "not setting=value"),
        ("postgres:~nobody_at_all/bin", "~nobody_at_all/bin names no home directory"),
    ],
)
def test_a_malformed_spec_is_explained(text: str, why: str) -> None:
    with pytest.raises(DbdynoError, match=why) as caught:
        parse_spec(text)
    assert caught.value.code == "bad_server"


def test_later_settings_win() -> None:
    spec = parse_spec("postgres,fsync=off,jit=off").with_settings({"fsync": "on"})
    assert spec.settings == {"fsync": "on", "jit": "off"}
