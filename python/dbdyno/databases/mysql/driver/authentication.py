"""The authentication of control connections: by the methods that the load's connections have.

PyMySQL knows others, some of which send the password itself to whoever asks, also unencrypted. They
are refused before anything is sent, in the words of the engine.
"""

import socket
import ssl
from typing import Any

import pymysql
from pymysql import _auth
from pymysql.constants import CR

SHA256 = "sha256_password"
METHODS = ("mysql_native_password", "caching_sha2_password", SHA256, "client_ed25519")


class AuthenticatingConnection(pymysql.Connection):
    """PyMySQL's connection, with the methods in ``METHODS`` only."""

    def __init__(self, **options: Any) -> None:
        super().__init__(auth_plugin_map={SHA256: Sha256Password}, **options)

    def connect(self, sock: socket.socket | None = None) -> None:
        """Connect, by the given socket if there is one.

        PyMySQL would leave a Unix socket open that nobody answers.
        """
        if sock is None and self.unix_socket:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sock.settimeout(self.connect_timeout)
            try:
                sock.connect(self.unix_socket)
            except OSError as error:
                sock.close()
                why = f"Can't connect to MySQL server on {self.host!r} ({error})"
                raise pymysql.OperationalError(CR.CR_CONN_HOST_ERROR, why) from error
            self.host_info = "Localhost via UNIX socket"
            self._secure = True
        super().connect(sock)

    def _process_auth(self, plugin_name: bytes, auth_packet: Any, handler: Any = None) -> Any:
        """Answer the server's request for a method."""
        name = plugin_name.decode("ascii", "backslashreplace")
        if name not in METHODS:
            why = f"the server asks for the authentication method {name}, which is not supported"
            raise pymysql.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, why)
        return super()._process_auth(plugin_name, auth_packet, handler)  # type: ignore[misc]


class Sha256Password:
    """PyMySQL's plugin for sha256_password, created for each connection with this method.

    Its server accepts the plain password only over TLS. PyMySQL sends it over a Unix socket as
    well, and is refused there as if the password were wrong; the server's own client sends it
    encrypted with the server's public key, and so does this.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def authenticate(self, packet: Any) -> Any:
        """Return the server's answer to the password; an empty one is not encrypted."""
        driver = self._driver
        driver._secure = isinstance(driver._sock, ssl.SSLSocket) or not driver.password
        return _auth.sha256_password_auth(driver, packet)  # type: ignore[no-untyped-call]
