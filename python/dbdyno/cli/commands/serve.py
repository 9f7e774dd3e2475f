"""``dbdyno serve``: the runs in a browser, and for programs."""

import sys
import warnings
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dbdyno.cli.app import command
from dbdyno.cli.output import Exit, flush_result, print_aside, print_result

app = command(
    "serve",
    "dbdyno serve                       then open the address that it prints",
    "dbdyno serve --read-only --token-file ~/dbdyno-tokens",
    "dbdyno serve --host 10.0.0.5 --tls-cert cert.pem --tls-key key.pem",
    "curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8020/api/v1/runs",
)


@app.default
def serve(  # noqa: PLR0913 - one for each option
    *,
    host: str = "127.0.0.1",
    port: int = 8020,
    token_file: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    read_only: bool = False,
    allow_host: Annotated[tuple[str, ...], Parameter(metavar="NAME")] = (),
    tls_cert: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    tls_key: Annotated[Path | None, Parameter(metavar="FILE")] = None,
    insecure: bool = False,
) -> int:
    """Show the runs in a browser, and give them to programs.

    The first line on standard output is the address to open, with a token that is made for this
    start. Everything is read from the run folders: runs that were started elsewhere are there,
    too, and ending the server ends no run.

    Parameters
    ----------
    host
        Address to listen on; default 127.0.0.1: only this host. Others need --tls-cert and
        --tls-key, or --insecure.
    port
        Port to listen on; default 8020, and 0 is any that is free.
    token_file
        File with the tokens, one a line, that only you may read; a token followed by read-only
        may only read. Default: a new one at each start.
    read_only
        Offer nothing that changes anything, whatever the token.
    allow_host
        Another name under which browsers may call this server, such as that of a proxy;
        repeatable.
    tls_cert
        Certificate, in PEM format.
    tls_key
        Its key.
    insecure
        Listen for others without encryption: whoever sees the network sees the token.
    """
    from dbdyno.run.tools import engine_tools  # noqa: PLC0415 - after the options are known
    from dbdyno.serve.access import Access, new_tokens, own_names, read_tokens  # noqa: PLC0415
    from dbdyno.serve.application import application  # noqa: PLC0415
    from dbdyno.serve.listening import Place, serve as answer  # noqa: PLC0415
    from dbdyno.store.errors import LeftOut  # noqa: PLC0415

    place = Place(host=host, port=port, certificate=tls_cert, key=tls_key, is_insecure=insecure)
    place.check()
    tokens = read_tokens(token_file) if token_file else new_tokens()
    opened = place.opened()
    bound = opened.getsockname()[1]
    access = Access(
        tokens=tokens,
        cookie=f"dbdyno-{bound}",
        names=own_names((host, *allow_host)),
        is_read_only=read_only,
    )
    address = f"{place.url(bound)}/"

    warnings.simplefilter("once", LeftOut)  # every request reads the folders

    def announce() -> None:
        print_result(address if token_file else f"{address}?token={next(iter(tokens))}")
        flush_result()
        if sys.stdout.isatty():
            print_aside("Ctrl-C ends it; runs go on.")

    answer(application(engine_tools().histograms, access), place, opened, announce)
    return Exit.OK
