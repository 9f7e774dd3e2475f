"""Who gets an answer: tokens, cookies, names of the server, origins of pages."""

import json
import subprocess
import sys

import pytest

from tests.cli import made_up_runs as made_up

RUNS = "/api/v1/runs"
LONG = "a-token-of-enough-characters"
READER = "another-token-that-only-reads"


def test_nothing_without_the_token(served):
    for path in ("/", RUNS, f"{RUNS}/last", "/openapi.json", "/runs/last", "/metrics"):
        for token in ("", "wrong", served.token[:-1], served.token + "x", "ü"):
            answer = served.ask(path, token=token.encode().decode("latin-1"))
            assert (answer.status, answer.json["code"]) == (401, "no_token"), (path, token)
            assert answer.headers["www-authenticate"] == "Bearer"


def test_it_says_that_it_is_there_to_everybody(served):
    assert served.ask("/healthz", token="").text == "ok\n"


def test_an_address_with_the_token_gives_a_cookie_that_no_script_reads(served):
    answer = served.ask(f"/?which=tpcb&token={served.token}", token="")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert 'content="0; url=/?which=tpcb"' in answer.text
    entered = served.ask("/", token="", Cookie=cookie.split(";")[0])
    assert entered.status == 200
    assert "set-cookie" not in entered.headers


def test_a_token_in_an_address_cannot_lead_elsewhere(served):
    answer = served.ask(f"//example.org/%22%3E?token={served.token}", token="")
    assert 'content="0; url=/example.org/%22%3E"' in answer.text


@pytest.mark.parametrize(
    "host", ["example.org", "localhost.example.org", "", "[", "127.0.0.1.nip.io"]
)
def test_a_foreign_name_of_the_server_is_refused(served, host):
    """A page elsewhere could give its own name our address, and would read what we answer."""
    answer = served.ask(RUNS, Host=host)
    assert (answer.status, answer.json["code"]) == (421, "foreign_host")


def test_a_name_can_be_allowed(serve):
    served = serve("--allow-host", "bench.example.org")
    assert served.ask(RUNS, Host="bench.example.org").status == 200
    assert served.ask(RUNS, Host="localhost:99").status == 200
    assert served.ask(RUNS, Host="example.org").status == 421


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_place_is_refused(served, origin):
    answer = served.ask(RUNS, Origin=origin)
    assert (answer.status, answer.json["code"]) == (403, "foreign_origin")
    assert "access-control-allow-origin" not in answer.headers


def test_every_answer_forbids_what_it_does_not_need(served):
    made_up.run()
    for path in ("/", "/runs/last", RUNS, "/nothing"):
        headers = served.ask(path, Accept="text/html").headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        if not path.startswith("/api"):
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_tokens_come_from_a_file_and_are_not_printed(serve, tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"{LONG}\n\n{READER} read-only\n")
    file.chmod(0o600)
    served = serve("--token-file", str(file))
    assert "token" not in served.url
    assert served.ask(RUNS, token=LONG).status == 200
    assert served.ask(RUNS, token=READER).status == 200
    assert served.ask(RUNS, token="read-only").status == 401


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        (LONG, 0o644, "can be read by others"),
        ("short", 0o600, "line 1"),
        (f"{LONG} everything", 0o600, "line 1"),
        ("\n", 0o600, "has no token"),
    ],
)
def test_a_file_of_tokens_that_cannot_be_used_is_refused(home, tmp_path, text, mode, message):
    file = tmp_path / "tokens"
    file.write_text(text)
    file.chmod(mode)
    assert message in refused("--token-file", str(file))


def test_others_need_encryption_or_a_word(home):
    assert "others could read the token" in refused("--host", "0.0.0.0")
    assert "belong together" in refused("--tls-cert", "cert.pem")


def test_what_is_no_port_is_refused(home):
    assert "there is no port 99999" in refused("--port", "99999")
    assert "there is no port -1" in refused("--port=-1")


def test_a_port_in_use_is_named(served):
    port = served.place.rpartition(":")[2]
    assert f"port {port}" in refused("--port", port)


def refused(*options: str) -> str:
    words = [sys.executable, "-m", "dbdyno", "serve", *options]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    return " ".join(ended.stderr.split())


def test_problems_have_the_form_that_programs_know(served):
    answer = served.ask(f"{RUNS}/no-such-run")
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.text) == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "No run is named 'no-such-run'.",
        "code": "no_run",
        "hint": "dbdyno runs lists them.",
    }
