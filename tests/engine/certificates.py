"""Certificates for tests: an authority, a server and a client of it, and a self-signed one."""

import subprocess
from pathlib import Path

from dbdyno.model.plan import Tls, TlsMode

NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1"
PASSPHRASE = "hush"


def _openssl(*arguments: object) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


def _key(path: Path) -> Path:
    _openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", path)
    path.chmod(0o600)
    return path


def _self_signed(folder: Path, name: str, subject: str, *further: str) -> None:
    key = _key(folder / f"{name}.key")
    arguments = ("-x509", "-key", key, "-days", "2", "-subj", f"/CN={subject}", *further)
    _openssl("req", *arguments, "-out", folder / f"{name}.crt")


def _signed(folder: Path, name: str, subject: str, names: str) -> None:
    key, request = _key(folder / f"{name}.key"), folder / f"{name}.csr"
    _openssl("req", "-new", "-key", key, "-subj", f"/CN={subject}", "-out", request)
    extensions = folder / f"{name}.ext"
    extensions.write_text(names)
    authority = ("-CA", folder / "root.crt", "-CAkey", folder / "root.key", "-CAcreateserial")
    arguments = ("-in", request, "-days", "2", "-extfile", extensions, *authority)
    _openssl("x509", "-req", *arguments, "-out", folder / f"{name}.crt")


def make_certificates(folder: Path) -> Path:
    """Create the files root, server, elsewhere, alone, stranger and client (.crt and .key each)."""
    _self_signed(folder, "root", "root")
    _self_signed(folder, "stranger", "stranger")
    _self_signed(folder, "alone", "localhost", "-addext", NAMES)
    _signed(folder, "server", "localhost", NAMES)
    _signed(folder, "elsewhere", "elsewhere.example", "subjectAltName=DNS:elsewhere.example")
    _signed(folder, "client", "certified", "subjectAltName=DNS:certified")
    return folder


def locked(key: Path, folder: Path, form: str = "pkey") -> Path:
    """Return the key encrypted with a passphrase, in one of OpenSSL's two formats."""
    path = folder / "locked.key"
    _openssl(form, "-in", key, "-aes256", "-passout", f"pass:{PASSPHRASE}", "-out", path)
    path.chmod(0o600)
    return path


def tls(
    certificates: Path, mode: TlsMode, root: str | None = "root", client: str | None = None
) -> Tls:
    """Return TLS options with the named certificates."""
    return Tls(
        mode=mode,
        root_certificates=str(certificates / f"{root}.crt") if root else None,
        certificate=str(certificates / f"{client}.crt") if client else None,
        key=str(certificates / f"{client}.key") if client else None,
    )
