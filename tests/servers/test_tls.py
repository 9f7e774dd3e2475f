"""The engine is configured to request the TLS that libpq has negotiated with the server."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from dbdyno.databases.postgresql.server.binaries import local_binaries
from dbdyno.errors import DbdynoError
from dbdyno.servers.base import Server
from dbdyno.servers.existing import use_existing
from dbdyno.servers.private import start_private
from dbdyno.servers.spec import ServerSpec
from tests.conftest import SMALL
from tests.engine.certificates import PASSPHRASE, locked


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    files = ["-keyout", folder / "server.key", "-out", folder / "server.crt"]
    subject = ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", names]
    subprocess.run([*command, *files, *subject], check=True, capture_output=True)
    (folder / "server.key").chmod(0o600)
    return folder


@pytest.fixture(scope="module")
def tls_server(certificate: Path) -> Iterator[Server]:
    settings = {
        **SMALL,
        "ssl": "on",
        "ssl_cert_file": str(certificate / "server.crt"),
        "ssl_key_file": str(certificate / "server.key"),
    }
    folder = local_binaries()[0].folder  # built with TLS, unlike the embedded ones
    spec = ServerSpec(path=folder, settings=settings)
    with start_private(spec, connections=8, tcp=True) as server:
        yield server


@pytest.mark.parametrize(
    ("requested", "agreed"),
    [
        ("disable", "disable"),
        ("allow", "disable"),
        ("prefer", "require"),
        ("require", "require"),
        ("verify-ca", "verify-ca"),
        ("verify-full", "verify-full"),
    ],
)
def test_the_mode_is_the_one_agreed(
    tls_server: Server,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    requested: str,
    agreed: str,
) -> None:
    monkeypatch.setenv("PGSSLMODE", requested)
    if requested.startswith("verify"):
        monkeypatch.setenv("PGSSLROOTCERT", str(certificate / "server.crt"))
    tls = use_existing(tls_server.conninfo).endpoint().tls
    assert tls.mode == agreed
    verifies = agreed.startswith("verify")
    assert tls.root_certificates == (str(certificate / "server.crt") if verifies else None)


def test_with_roots_at_hand_require_verifies(
    tls_server: Server, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGSSLMODE", "require")
    monkeypatch.setenv("PGSSLROOTCERT", str(certificate / "server.crt"))
    assert use_existing(tls_server.conninfo).endpoint().tls.mode == "verify-ca"


def test_revoked_certificates_that_only_libpq_would_refuse_are_refused(
    tls_server: Server, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGSSLROOTCERT", str(certificate / "server.crt"))
    revoked = tmp_path / ".postgresql" / "root.crl"
    revoked.parent.mkdir()
    revoked.touch()
    monkeypatch.setenv("PGSSLMODE", "disable")
    assert use_existing(tls_server.conninfo).endpoint().tls.mode == "disable"
    monkeypatch.setenv("PGSSLMODE", "verify-ca")
    with pytest.raises(DbdynoError, match=str(revoked)):
        use_existing(tls_server.conninfo)


def test_a_key_behind_a_passphrase_is_refused_with_what_to_do(
    tls_server: Server, certificate: Path, tmp_path: Path
) -> None:
    key = locked(certificate / "server.key", tmp_path)
    given = {"sslcert": str(certificate / "server.crt"), "sslkey": str(key)}
    target = make_conninfo(tls_server.conninfo, sslmode="require", **given, sslpassword=PASSPHRASE)
    with pytest.raises(DbdynoError) as caught:
        use_existing(target)
    assert (caught.value.code, str(key) in caught.value.message) == ("tls_failed", True)
    assert f"openssl pkey -in {key} -out FILE" in caught.value.hint
    assert PASSPHRASE not in f"{caught.value.message} {caught.value.hint}"


def test_a_unix_socket_needs_none(postgres_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "require")
    assert use_existing(postgres_server.conninfo).endpoint().tls.mode == "disable"
