"""Logins to MariaDB by socket and TCP, and helpful messages if they are refused."""

import pytest

from dbdyno.model.frame import Connected, Hello
from tests.engine.mariadb import MariaDB
from tests.engine.running import plan_for, times

SECRET = "s3cret; naïve"
LOGIN_HINT = "check user and password, or the client's certificate"


@pytest.fixture(scope="module")
def server():
    server = MariaDB(max_connections="10", bind_address="*")
    server.execute(
        "install soname 'auth_ed25519'",
        f"create user native identified by '{SECRET}'",
        f"create user ed identified via ed25519 using password('{SECRET}')",
        "grant all on *.* to native, ed",
        "create user poor",
    )
    yield server
    server.remove()


@pytest.mark.parametrize("user", ["loader", "native", "ed"])
def test_each_method(server, checked, user):
    endpoint = server.endpoint(user=user, password=None if user == "loader" else SECRET)
    assert checked(plan_for(endpoint, "select 1;", **times(3))).counters.ok == 6


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_over_tcp(server, checked, io, host):
    endpoint = server.endpoint(host, user="native", password=SECRET)
    result = checked(plan_for(endpoint, "select 1;", io=io, **times(3)))
    assert result.counters.ok == 6
    assert result.one(Connected).tls == ""


def test_the_greeting_names_server_and_connections(server, checked, io):
    result = checked(plan_for(server.endpoint(), "select 1;", clients=5, io=io, **times(1)))
    connected = result.one(Connected)
    assert connected.server_version == server.execute("select version()")[0][0]
    assert len({number for number in connected.backend_pids if number > 0}) == 5
    assert result.one(Hello).io == io


@pytest.mark.parametrize("user", ["native", "ed"])
@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wrong_password(server, refused, user, password):
    failed = refused(plan_for(server.endpoint(user=user, password=password), "select 1;"))
    assert failed.code == "cannot_connect"
    assert f"Access denied for user '{user}'@" in failed.message
    assert failed.hint == LOGIN_HINT


def test_the_password_is_nowhere_to_be_seen(server, refused, log):
    result = refused(plan_for(server.endpoint(user="nobody", password=SECRET), "select 1;"))
    assert SECRET not in f"{result} {log.read()}"


def test_a_missing_database(server, refused):
    failed = refused(plan_for(server.endpoint(database="atlantis"), "select 1;"))
    assert failed.message == "Unknown database 'atlantis'"
    assert failed.hint == "create the database, or name another"


def test_a_closed_database(server, refused):
    failed = refused(plan_for(server.endpoint(user="poor"), "select 1;"))
    assert "Access denied for user 'poor'" in failed.message
    assert failed.hint == LOGIN_HINT


def test_too_many_connections(server, refused, io):
    failed = refused(plan_for(server.endpoint(), "select 1;", clients=20, io=io))
    assert failed.message == "Too many connections"
    assert failed.hint == "raise max_connections on the server, or use fewer clients (-c)"


def test_another_server_listens(server, local, refused):
    """PostgreSQL waits for the client's first message, MySQL's client for the server's."""
    address = local.endpoint().address
    endpoint = server.endpoint(address=address, connect_timeout_ns=500_000_000)
    failed = refused(plan_for(endpoint, "select 1;"))
    assert failed.code == "cannot_connect"
    swapped = local.endpoint(address=server.endpoint().address)
    assert refused(plan_for(swapped, "select 1;")).hint.startswith("check that a PostgreSQL server")


def test_parse_and_bind_each_time_is_refused(server, refused):
    failed = refused_before_hello(refused, server)
    assert failed.code == "bad_plan"
    assert failed.hint == "use -M simple (text) or -M prepared (binary)"


def refused_before_hello(refused, server):
    return refused(plan_for(server.endpoint(), "select 1;", query_mode="extended"))


def test_parameters_are_session_variables(server, checked, refused):
    script = "select @@sql_mode = 'ANSI' as a, @@innodb_lock_wait_timeout as b \\gset\nselect 1;"
    parameters = {"sql_mode": "ANSI", "innodb_lock_wait_timeout": "7"}
    endpoint = server.endpoint(parameters=parameters)
    script += "\n\\if :b = 7\nselect 2;\n\\else\nselect wrong;\n\\endif"
    assert checked(plan_for(endpoint, script, **times(1))).counters.ok == 2
    failed = refused(plan_for(server.endpoint(parameters={"no_such": "1"}), "select 1;"))
    assert failed.message == "Unknown system variable 'no_such'"
