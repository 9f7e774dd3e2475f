"""Where the server listens: on this host only, unless what is sent is encrypted."""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn
from msgspec import Struct
from starlette.types import ASGIApp

from dbdyno.errors import DbdynoError

CONNECTIONS_MAX = 500
_BACKLOG = 128
_END_S = 2
"""How long open event streams may take to end."""


class Place(Struct, frozen=True, kw_only=True):
    """An address with a port, 0 for any free one; and what encrypts."""

    host: str = "127.0.0.1"
    port: int = 8020
    certificate: Path | None = None
    key: Path | None = None
    is_insecure: bool = False

    @property
    def is_encrypted(self) -> bool:
        """Whether what is sent is encrypted."""
        return self.certificate is not None

    def check(self) -> None:
        """Refuse what is no port, and to listen for others where they could read a token."""
        if not 0 <= self.port <= 0xFFFF:  # the C library would take its last 16 bits
            raise DbdynoError("usage", f"there is no port {self.port}: they end with 65535")
        if (self.certificate is None) != (self.key is None):
            raise DbdynoError("usage", "--tls-cert and --tls-key belong together")
        if not (self.is_encrypted or self.is_insecure or self._is_of_this_host()):
            raise DbdynoError(
                "not_encrypted",
                f"on {self.host} others could read the token",
                "Give --tls-cert and --tls-key, or --insecure on a network that you trust; or "
                f"reach it over ssh: ssh -L {self.port}:localhost:{self.port} HOST",
            )

    def _is_of_this_host(self) -> bool:
        found = [one[4][0] for one in self._addresses()]
        return all(str(address).startswith("127.") or address == "::1" for address in found)

    def _addresses(self) -> list[tuple[int, int, int, str, tuple[str | int, ...]]]:
        try:
            return socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)  # type: ignore[return-value]
        except OSError as error:
            hint = "Give an address of this host: --host 127.0.0.1"
            raise DbdynoError("no_address", f"{self.host}: {error.strerror}", hint) from error

    def opened(self) -> socket.socket:
        """The socket, bound; an error names the address."""
        family, kind, protocol, _, address = self._addresses()[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(_BACKLOG)
        except OSError as error:
            made.close()
            raise DbdynoError(
                "port",
                f"cannot listen on {self.host}, port {self.port}: {error.strerror}",
                "Give another one: --port 0 takes any that is free.",
            ) from error
        return made

    def url(self, port: int) -> str:
        """The address for a browser."""
        is_any = self.host in ("0.0.0.0", "::")  # not an address to call
        host = socket.gethostname() if is_any else self.host
        host = f"[{host}]" if ":" in host else host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{port}"


def serve(app: ASGIApp, place: Place, opened: socket.socket, ready: Callable[[], None]) -> None:
    """Answer requests until the process is interrupted, which is how a server ends."""
    config = uvicorn.Config(
        app,
        log_level="error",  # its warnings are of what strangers send, as often as they like
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=_END_S,
        ssl_certfile=place.certificate,
        ssl_keyfile=place.key,
    )
    try:
        config.load()
    except OSError as error:
        hint = "Both files are in PEM format; the key has no password."
        raise DbdynoError(
            "certificate", f"the certificate cannot be used: {error}", hint
        ) from error
    server = uvicorn.Server(config)
    ready()
    with opened, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server.serve([opened]))
