"""TLS takes CPU time of the server.

Looks for: CPU time in the libraries of TLS, in backends that serve the load.

Arithmetic: samples of the profile in these libraries, and their part of what memory and the C
library took (records are copied), over all samples of these backends; that part of the clients'
time on a CPU, and, of their time waiting for one, the part of the CPU time in use.

Source: RFC 8446 (TLS 1.3): each record is encrypted and authenticated on its own.

Wrong when: the connections of production are encrypted as well: then it is a part of its costs.
"""

from typing import ClassVar

from dbdyno.explain.resources.server_work import WorkClaim, claim_of, with_services, work_on
from dbdyno.explain.rule import NotFound, Rule
from dbdyno.model.run import Run


class TlsWork(WorkClaim, frozen=True, kw_only=True):
    """Encryption and handshakes."""

    what: ClassVar[str] = "TLS"
    why: ClassVar[str] = (
        "Each message is encrypted and authenticated; a handshake costs far more, at each "
        "new connection."
    )
    advice: ClassVar[list[str]] = [
        (
            "Keep connections open; use a cipher that the CPU supports (AES-GCM), or a "
            "socket within one host."
        )
    ]
    refute: ClassVar[str] = (
        "Run again with --target …?sslmode=disable: throughput must rise by this part."
    )


def look(run: Run) -> WorkClaim | NotFound:
    """By the profile alone."""
    tls = work_on("tls")
    return claim_of(run, TlsWork, tls, served=with_services(run, tls))


RULE = Rule(
    id="tls_work",
    title="Encryption of the connections",
    look=look,
    accounts_for=frozenset({"cpu", "cpu_queue"}),
)
