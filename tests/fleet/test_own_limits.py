"""What kept one of several agents from working is said of it by name, of real agents."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

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


def take_its_processor(process):
    """Let one agent share a CPU with programs that come first, for two seconds."""
    agent = agents_of(process)[1]
    processors = os.sched_getaffinity(agent)
    # The kernel may share CPUs among sessions first, which have a priority of their own.
    of_session = Path(f"/proc/{agent}/autogroup")
    for thread in threads_of(agent):
        os.setpriority(os.PRIO_PROCESS, thread, 19)
        os.sched_setaffinity(thread, {max(processors)})
    if of_session.exists():
        of_session.write_text("19")
    burn = f"import os\nos.sched_setaffinity(0, {{{max(processors)}}})\nwhile True: pass"
    with contextlib.ExitStack() as burners:
        for _ in range(4):
            burner = Program([sys.executable, "-c", burn], start_new_session=True)
            burners.enter_context(burner)
            burners.callback(burner.kill)
        threading.Event().wait(2)
    # What it found must reach the controller, whatever else this machine has to do.
    for thread in threads_of(agent):
        os.sched_setaffinity(thread, processors)


def threads_of(process_id):
    return [int(thread.name) for thread in Path(f"/proc/{process_id}/task").iterdir()]


def test_one_without_a_processor_is_named(home, postgres_server, script):
    script.write_text("\\sleep 1 ms\nselect 1;")
    record = run(postgres_server, script, "local*3", "-c", "3", during=take_its_processor)
    named = [*about(record, "worker starved"), *about(record, "worker paused")]
    assert [one for one in named if "local-2" in one], [*named, *record["invalid_reasons"]]


def test_one_that_was_late_makes_the_run_invalid_by_name(home, postgres_server, script):
    load = ("-c", "60", "--rate", "600")  # enough for what is due when it goes on
    record = run(postgres_server, script, "local*3", *load, during=stop_again_and_again)
    late = [one for one in record["invalid_reasons"] if one.startswith("the generator was late")]
    assert late, record["invalid_reasons"]
    assert [one for one in late if one.endswith("(worker local-2)")]
    assert not record["valid"]
