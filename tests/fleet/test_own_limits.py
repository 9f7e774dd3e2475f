"""What kept one of several agents from working is said of it by name, of real agents."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading

from tests.fleet.test_runs import agents_of, script
from tests.run.test_end_to_end import DBDYNO
from tests.support.ended import ENDED
from tests.support.program import Program

__all__ = ["script"]

SECONDS = "5"
STOPPED_S, RUNNING_S = 0.3, 0.5


def run(server, script, workers, *more, during=None):
    """Run a shared load, and return its record; ``during`` is told the process of dbdyno."""
    arguments = ("run", script, "--target", server.url, "-T", SECONDS, "--warmup", "0", "--json")
    with Program(
        [*DBDYNO, *map(str, arguments), "--workers", workers, "--max-disturbance", "100%", *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for line in process.stderr:
            if "TPS" in line:  # of the first interval
                break
        if during is not None:
            during(process)
        output, messages = process.communicate()
    assert process.returncode in {*ENDED, 2}, messages
    return json.loads(output)


def stop_again_and_again(process):
    """Stop one agent three times, each time for longer than a moment."""
    agent = agents_of(process)[1]
    for _ in range(3):
        os.kill(agent, signal.SIGSTOP)
        threading.Event().wait(STOPPED_S)
        os.kill(agent, signal.SIGCONT)
        threading.Event().wait(RUNNING_S)


def about(record, kind):
    return [doubt for doubt in record["doubts"] if doubt.startswith(kind)]


def test_one_that_was_stopped_is_named(home, postgres_server, script):
    record = run(postgres_server, script, "local*3", "-c", "3", during=stop_again_and_again)
    (doubt,) = [one for one in about(record, "worker paused") if "local-2" in one]
    assert "itself stood still for" in doubt
    assert not [one for one in about(record, "worker starved") if "local-2" in one]


@contextlib.contextmanager
def burning(processor):
    """Let two programs want a CPU for themselves, each in a session of its own."""
    program = f"import os\nos.sched_setaffinity(0, {{{processor}}})\nwhile True: pass"
    words = [sys.executable, "-c", program]
    burners = [subprocess.Popen(words, start_new_session=True) for _ in range(2)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def test_one_without_a_processor_is_named(home, postgres_server, script):
    processor = max(os.sched_getaffinity(0))
    # The kernel may share CPUs among sessions first, which have a priority of their own.
    last = "(echo 10 > /proc/self/autogroup) 2>/dev/null; exec nice -n 10"
    agent = f"{last} taskset -c {processor} {sys.executable} -m dbdyno agent"
    script.write_text("\\sleep 1 ms\nselect 1;")
    with contextlib.ExitStack() as undo:

        def burn(_process):
            undo.enter_context(burning(processor))

        workers = f"local,exec:'{agent}',local"
        record = run(postgres_server, script, workers, "-c", "3", during=burn)
    named = [
        *(doubt for kind in ("worker starved", "worker paused") for doubt in about(record, kind)),
        *record["invalid_reasons"],
    ]
    assert [one for one in named if "exec-2" in one], named


def test_one_that_was_late_makes_the_run_invalid_by_name(home, postgres_server, script):
    load = ("-c", "60", "--rate", "600")  # enough for what is due when it goes on
    record = run(postgres_server, script, "local*3", *load, during=stop_again_and_again)
    late = [one for one in record["invalid_reasons"] if one.startswith("the generator was late")]
    assert late, record["invalid_reasons"]
    assert [one for one in late if one.endswith("(worker local-2)")]
    assert not record["valid"]
