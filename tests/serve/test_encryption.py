"""``serve`` over TLS, asked by clients that verify the certificate; and without it, for others."""

import http.client
import ssl
from urllib.parse import urlsplit

import pytest

from tests.engine.certificates import make_certificates
from tests.serve.test_access import refused
from tests.support.patience import PATIENCE_S


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def tls(certificates, name="server"):
    """The options for the certificate of this name."""
    files = (str(certificates / f"{name}.crt"), str(certificates / f"{name}.key"))
    return ("--tls-cert", files[0], "--tls-key", files[1])


def asked(served, trusted, path="/healthz", *, token=""):
    """One request to the loopback address, by a client that trusts this authority only."""
    address = urlsplit(served.url)
    context = ssl.create_default_context(cafile=trusted)
    connection = http.client.HTTPSConnection(
        "127.0.0.1", address.port, timeout=PATIENCE_S, context=context
    )
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_who_trusts_its_authority_is_answered(serve, certificates, host):
    served = serve("--host", host, *tls(certificates))
    assert served.url.startswith("https://")
    status, _, text = asked(served, certificates / "root.crt", "/api/v1/runs", token=served.token)
    assert (status, text) == (200, '{"runs":[]}')
    status, headers, _ = asked(served, certificates / "root.crt", f"/?token={served.token}")
    assert status == 200
    assert "Secure" in headers["set-cookie"].split("; ")
    assert asked(served, certificates / "root.crt", "/api/v1/runs")[0] == 401


def test_a_client_that_does_not_trust_it_sends_no_token(serve, certificates):
    served = serve(*tls(certificates))
    with pytest.raises(ssl.SSLCertVerificationError, match="unable to get local issuer"):
        asked(served, certificates / "stranger.crt", token=served.token)


def test_a_certificate_for_another_name_is_noticed(serve, certificates):
    served = serve(*tls(certificates, "elsewhere"))
    with pytest.raises(ssl.SSLCertVerificationError, match="IP address mismatch"):
        asked(served, certificates / "root.crt", token=served.token)


def test_nothing_is_answered_unencrypted(serve, certificates):
    served = serve(*tls(certificates))
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        served.ask("/healthz")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_an_address_for_others_needs_encryption(home, host):
    assert "others could read the token" in refused("--host", host, "--port", "0")


def test_or_the_word_that_it_may_be_read(serve):
    served = serve("--host", "0.0.0.0", "--insecure")
    port = urlsplit(served.url).port
    assert served._replace(url=f"http://127.0.0.1:{port}/").ask("/healthz", token="").status == 200


def test_a_certificate_that_cannot_be_used_is_refused(home, certificates, tmp_path):
    server, alone = str(certificates / "server.crt"), str(certificates / "alone.key")
    for crt, key in ((server, alone), (server, str(tmp_path / "no")), (alone, alone)):
        text = refused("--port", "0", "--tls-cert", crt, "--tls-key", key)
        assert "the certificate cannot be used" in text
