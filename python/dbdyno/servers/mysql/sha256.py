"""The authentication method sha256_password for control connections.

Its server accepts the plain password only over TLS. PyMySQL sends it over a Unix socket as well,
and is refused there as if the password were wrong; the server's own client sends it encrypted with
the server's public key, and so does this.
"""

import ssl
from typing import Any

from pymysql import _auth

METHOD = "sha256_password"


class Sha256Password:
    """PyMySQL's authentication plugin, created for each connection with this method."""

    def __init__(self, driver: Any) -> None:
        self._driver = driver

    def authenticate(self, packet: Any) -> Any:
        """Return the server's answer to the password; an empty one is not encrypted."""
        driver = self._driver
        driver._secure = isinstance(driver._sock, ssl.SSLSocket) or not driver.password
        return _auth.sha256_password_auth(driver, packet)  # type: ignore[no-untyped-call]
