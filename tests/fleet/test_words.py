"""``--workers`` is read as its users write it."""

import sys

import pytest

from dbdyno.fleet.words import worker_list


def commands(text: str) -> list[tuple[str, str]]:
    return [(place.name, place.command[-1]) for place in worker_list(text).places()]


def test_local_agents_are_numbered():
    names = [place.name for place in worker_list("local*3").places()]
    assert names == ["local-1", "local-2", "local-3"]
    assert worker_list("local").places()[0].command[0] == sys.executable


def test_a_command_may_have_commas_stars_and_its_number():
    text = "exec:'ssh -o A,B h{n} dbdyno agent'*2,exec:'echo *'"
    assert commands(text) == [
        ("exec-1", "ssh -o A,B h1 dbdyno agent"),
        ("exec-2", "ssh -o A,B h2 dbdyno agent"),
        ("exec-3", "echo *"),
    ]


def test_a_command_may_be_longer_than_the_name_of_a_file():
    command = f"kubectl exec -i load-1 -- env {'A=1 ' * 100}dbdyno agent"
    (entry,) = worker_list(f"exec:'{command}'").entries
    assert entry.detail == command


def test_a_host_may_have_a_user_a_program_and_several_agents():
    text = "ssh:h1,ssh:me@h2/opt/my tools/dbdyno*2"
    places = worker_list(text).places()
    assert [place.name for place in places] == ["h1", "h2", "h2-2"]
    assert [place.command[-3:] for place in places] == [
        ("--", "h1", "dbdyno agent"),
        ("--", "me@h2", "'/opt/my tools/dbdyno' agent"),
        ("--", "me@h2", "'/opt/my tools/dbdyno' agent"),
    ]


def test_nodes_of_a_cluster_are_placed_by_one_command():
    places = worker_list("local,ray:*2,ray:load,ray://head:10001/big*2").places()
    assert [place.name for place in places] == [
        f"{'ray' if n else 'local'}-{n + 1}" for n in range(6)
    ]
    assert [place.command[-2:] for place in places[1:]] == [
        ("auto", ""),
        ("auto", ""),
        ("auto", "load"),
        ("ray://head:10001", "big"),
        ("ray://head:10001", "big"),
    ]


def test_a_file_has_entries_in_lines(tmp_path):
    file = tmp_path / "hosts.txt"
    file.write_text("# of the lab\nssh:h1\n\nlocal*2  # here\nexec:'run {n}, and go'\n")
    found = worker_list(f"{file},ssh:h2")
    assert [place.name for place in found.places()] == ["h1", "local-2", "local-3", "exec-4", "h2"]
    assert found.places()[3].command[-1] == "run 4, and go"
    file.write_text(f"ssh:h1\n{file}\n")
    with pytest.raises(ValueError, match="write local"):
        worker_list(str(file))


def test_a_file_of_windows_is_read(tmp_path):
    file = tmp_path / "hosts.txt"
    file.write_bytes(b"\xef\xbb\xbfssh:h1\r\nssh:h2\r\n")
    assert [place.name for place in worker_list(str(file)).places()] == ["h1", "h2"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"local\nshh:h1\n", "hosts.txt: 'shh:h1': write local"),
        (b"ssh:bob's\n", "hosts.txt: .*No closing quotation"),
        (b"\x7fELF\xff\xfe", r"hosts.txt is no text in UTF-8"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_name(tmp_path, content, said):
    file = tmp_path / "hosts.txt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=said):
        worker_list(str(file))


def test_no_two_agents_have_one_name():
    text = "ssh:load*2,ssh:load-2*2,ssh:local-6,local,ssh:load"
    names = [place.name for place in worker_list(text).places()]
    expected = ["load", "load-2", "load-2-2", "load-2-3", "local-6", "local-6-2", "load-3"]
    assert names == expected


def test_an_entry_is_no_file_though_one_is_called_like_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("local", "ssh:h1", "local*2"):
        (tmp_path / name).write_text("exec:true\n")
    found = worker_list("local,ssh:h1,local*2,./local").places()
    assert [place.name for place in found] == ["local-1", "h1", "local-3", "local-4", "exec-5"]


def test_numbers_go_on_over_all_entries():
    assert [place.name for place in worker_list("local,exec:true,local").places()] == [
        "local-1",
        "exec-2",
        "local-3",
    ]


@pytest.mark.parametrize("text", ["local*2,exec:'a b'", "exec:'x {n}'*3", "local"])
def test_they_are_written_as_they_were_read(text):
    assert str(worker_list(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "remote",
        "local*",
        "local*0",
        "local*x",
        "local*²",
        "local*99999",
        "exec:",
        "ssh:",
        "ssh:/opt/dbdyno",
        "ssh://user@h",
        "ssh:h*0",
        "ray",
        "ray://head",
        "ray:a b",
        "ray:/load",
        "exec:'a",
    ],
)
def test_what_starts_no_agent_is_refused(text):
    with pytest.raises(ValueError, match=r"write local|number above 0|more than|No closing"):
        worker_list(text)
