"""Processor time of a process and its children."""

import os
import subprocess
import sys

from dbdyno.host.processes import cpu_us


def stat(parent: int, user: int, system: int, *, buried: int = 0, name: str = "x") -> str:
    used = f"{user} {system} {buried} 0"
    return f"1 ({name}) S {parent} 0 0 0 0 0 0 0 0 0 {used} 20 0 1 0 77 0 9"


def test_a_server_its_backends_and_those_that_ended(tree):
    root = tree(
        {
            "proc/10/stat": stat(1, 1, 2, buried=4, name="post (gres) x"),
            "proc/11/stat": stat(10, 8, 16),
            "proc/12/stat": stat(99, 1000, 1000),
        }
    )
    assert cpu_us(10, root) == 31 * 1_000_000 // os.sysconf("SC_CLK_TCK")


def test_a_process_that_is_gone(tree):
    assert cpu_us(10, tree({"proc/12/stat": stat(1, 1, 1)})) is None


def test_a_real_process_that_works():
    code = "x = 0\nwhile True: x += 1"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while (spent := cpu_us(process.pid)) == 0:
            pass
        process.kill()
    assert spent is not None
    assert spent > 0
