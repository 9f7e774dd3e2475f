"""Logins and endpoints as URLs: one to be shown, one to log in again."""

from urllib.parse import quote, urlencode

from dbdyno.databases.mysql.driver.login import NO_DEFAULTS, Login
from dbdyno.model.plan import Address, Endpoint


def url_of(endpoint: Endpoint) -> str:
    """Return the endpoint as a URL without the password: may be shown and stored."""
    return _url(quote(endpoint.user, safe=""), endpoint.address, endpoint.database, {})


def login_url(login: Login) -> str:
    """Return a target for exactly this login, whatever option files say. Contains the password."""
    user = quote(login.user, safe="")
    password = quote(login.password, safe="")
    query = {
        "hostaddr": login.address.tcp.numeric if login.address.tcp else None,
        "ssl-mode": login.tls,
        "ssl-ca": login.ca,
        "ssl-cert": login.certificate,
        "ssl-key": login.key,
        "connect-timeout": str(login.connect_timeout_s),
        NO_DEFAULTS: "1",
    }
    given = {name: value for name, value in query.items() if value}
    return _url(f"{user}:{password}" if password else user, login.address, login.database, given)


def _url(who: str, address: Address, database: str, query: dict[str, str]) -> str:
    path = quote(database, safe="")
    if address.tcp:
        host = f"[{address.tcp.host}]" if ":" in address.tcp.host else address.tcp.host
        return f"mysql://{who}@{host}:{address.tcp.port}/{path}{_query(query)}"
    assert address.unix  # exactly one of the two is set
    return f"mysql://{who}@localhost/{path}{_query({'socket': address.unix.path, **query})}"


def _query(given: dict[str, str]) -> str:
    return f"?{urlencode(given, safe='/', quote_via=quote)}" if given else ""
