"""``run --metrics``: the metrics of one run, for a scraper, without the pages of ``serve``."""

import re
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import AF_INET, AF_INET6
from threading import Lock, Thread
from types import TracebackType
from typing import Self

from dbdyno.errors import DbdynoError
from dbdyno.model.run import Histograms, Run
from dbdyno.run.observer import Observer, Relay
from dbdyno.store.errors import LeftOut
from dbdyno.store.run import FollowedRun

_PLACE = re.compile(r"(?:(?P<host>[\w.-]+|\[[\da-fA-F:]+\]))?:(?P<port>\d{1,5})", re.ASCII)


def metrics_place(text: str) -> tuple[str, int]:
    """Parse ``HOST:PORT``; without a host, it is this host only."""
    match = _PLACE.fullmatch(text)
    if match is None or int(match["port"]) > 0xFFFF:
        raise ValueError(f'"{text}" is no address: write :9100 or HOST:9100')
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


class MetricsOf(Relay):
    """Answers scrapers while a run lasts; a run is read for them from its folder."""

    def __init__(self, place: tuple[str, int], observer: Observer, histograms: Histograms) -> None:
        super().__init__(observer)
        self._histograms = histograms
        self._lock = Lock()
        self._followed: FollowedRun | None = None
        self._host = f"[{place[0]}]" if ":" in place[0] else place[0]
        owner = self

        class Server(ThreadingHTTPServer):
            address_family = AF_INET6 if ":" in place[0] else AF_INET
            daemon_threads = True

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self)

            def log_message(self, *_: object) -> None:
                """Leave standard error to the run."""

        try:
            self._server = Server(place, Handler)
        except OSError as error:
            raise DbdynoError(
                "port",
                f"cannot listen on {place[0]}, port {place[1]}: {error.strerror}",
                "Give another one with --metrics.",
            ) from error

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Send the metrics, or that there is nothing else."""
        from dbdyno.serve.metrics import MEDIA_TYPE, exposition  # noqa: PLC0415 - not for a run

        if request.path.partition("?")[0] != "/metrics":
            request.send_error(404)
            return
        body = exposition(self._runs()).encode()
        request.send_response(200)
        request.send_header("content-type", MEDIA_TYPE)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _runs(self) -> list[Run]:
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore", LeftOut)
            return [self._followed.load(self._histograms)] if self._followed else []

    def recorded(self, folder: Path) -> None:
        """From now on there is something to read."""
        with self._lock:
            self._followed = FollowedRun(folder)
        super().recorded(folder)

    def __enter__(self) -> Self:
        """Begin to answer."""
        Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()
        self.say(f"metrics: http://{self._host}:{self._server.server_port}/metrics")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
