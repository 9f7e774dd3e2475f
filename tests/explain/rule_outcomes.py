"""The outcome of one rule on a made-up run."""

import textwrap

from msgspec.structs import replace

from dbdyno.analysis.summarize import full_record
from dbdyno.explain.explain import outcome
from dbdyno.explain.registry import all_rules
from dbdyno.formatting import THIN_SPACE
from tests.support.recordings import MadeRun, changed


def outcome_of(rule, run):
    """The rule's outcome for a made-up run or a recording, as the report gets it."""
    recording = run.loaded() if isinstance(run, MadeRun) else run
    return outcome(all_rules()[rule], recording)


def executed(run, times=60_000):
    """The run's recording, with the number of executions of each statement."""
    recording = run.loaded()
    record = full_record(recording)
    timed = [replace(one, count=times) for one in record.statements]
    return changed(recording, record=replace(record, statements=timed))


def reached(run, **address):
    """The made-up run's recording with its server's address: ``unix``, or the ``tcp`` host."""
    recording = run.loaded()
    return changed(recording, plan={"endpoint": {"address": address}})


def text_of(finding):
    """What people read first: title, summary and observations, in lines of 80 columns."""
    sentences = [f"{finding.severity}: {finding.title}", finding.summary, *finding.seen]
    wrapped = [textwrap.fill(text.replace(THIN_SPACE, " "), 80) for text in sentences]
    return "\n".join(wrapped) + "\n"
