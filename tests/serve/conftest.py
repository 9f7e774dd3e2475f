"""A real ``dbdyno serve`` on a port of its own, which ends with the test."""

import http.client
import json
import subprocess
import sys
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.support.patience import PATIENCE_S
from tests.support.program import Program


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def json(self):
        return json.loads(self.text)


class Served(NamedTuple):
    """A server that answers; ``url`` has the token."""

    process: Program
    url: str

    @property
    def place(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def token(self) -> str:
        return urlsplit(self.url).query.removeprefix("token=")

    def ask(self, path, method="GET", *, token=None, body=None, **headers) -> Answer:
        """One request, with the right token unless told otherwise; ``_`` in headers is ``-``."""
        connection = http.client.HTTPConnection(self.place, timeout=PATIENCE_S)
        given = self.token if token is None else token
        known = {"Authorization": f"Bearer {given}"} if given else {}
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, known | own)
            reply = connection.getresponse()
            return Answer(reply.status, reply.headers, reply.read().decode())
        finally:
            connection.close()


@pytest.fixture
def serve(home):
    """Starts servers with these options."""
    started = []

    def start(*options: str) -> Served:
        words = [sys.executable, "-m", "dbdyno", "serve", "--port", "0", *options]
        process = Program(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(process)
        line = process.stdout.readline().strip()
        assert line.startswith("http"), process.communicate()
        return Served(process, line)

    yield start
    for process in started:
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        assert process.returncode == 0


@pytest.fixture
def tokens(tmp_path) -> str:
    """A file with a token for each right."""
    file = tmp_path / "tokens"
    file.write_text("a-token-that-may-change\na-token-that-may-read read-only\n")
    file.chmod(0o600)
    return str(file)


@pytest.fixture
def served(serve) -> Served:
    return serve()


@pytest.fixture
def visit(browser):
    """Opens pages as a person does; collects what a browser complains about."""
    contexts = []

    def open_it(url, width=1440, scheme="light", *, scripts=True):
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        contexts.append(context)
        page = context.new_page()
        page.complaints = []
        place = urlsplit(url).netloc
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                page.complaints.append(request.url)
                if urlsplit(request.url).netloc not in (place, "")
                else None
            ),
        )
        page.goto(url)
        page.wait_for_url(lambda at: "token=" not in at)
        return page

    yield open_it
    for context in contexts:
        context.close()
