"""Where in time a finding's cause is seen: at events, or where clients waited for it most.

A page leads from a finding to these places, in the charts over time. A cause that is there all the
time has none.
"""

import numpy as np

from dbdyno.analysis.events.events import events
from dbdyno.analysis.series.timeline import whole_intervals
from dbdyno.analysis.waits.session_samples import SESSIONS
from dbdyno.analysis.waits.wait_bands import bands
from dbdyno.explain.registry import all_rules
from dbdyno.explain.rule import Rule
from dbdyno.model.record import Finding
from dbdyno.model.run import Run, UnreadableTableError
from dbdyno.report.content import Places, Span

_LISTED_MAX = 6
_WINDOWS = 20
"""A stretch of waiting is this part of the measured time."""
_STANDS_OUT = 2.0
"""Times the mean of the run."""
_SIGHTINGS_MIN = 30
"""Fewer sampled sessions in a stretch could be twice the mean by chance."""


def places(run: Run, finding: Finding) -> Places | None:
    """The places of a finding; None if there are none, or a table that shows them is damaged."""
    rule = all_rules().get(finding.id)
    try:
        return _at_events(run, rule) or _of_waiting(run, rule) if rule else None
    except UnreadableTableError:
        return None


def _at_events(run: Run, rule: Rule) -> Places | None:
    """The events that cost most, in order of time."""
    found = [one for one in events(run) if one.kind in rule.events and one.end_s > 0]
    deepest = sorted(found, key=lambda event: -(event.depth or 0.0))[:_LISTED_MAX]
    spans = [Span(event.begin_s, event.end_s) for event in deepest]
    if not spans:
        return None
    spans.sort(key=lambda span: span.begin_s)
    return Places(lead="Seen at", spans=spans, more=len(found) - len(spans))


def _of_waiting(run: Run, rule: Rule) -> Places | None:
    """The stretch in which clients spent most time on what the rule accounts for."""
    line = whole_intervals(run)
    measured = line.phase == "measure"
    known = bands(run).sessions
    kinds = [known[kind] for kind in known if kind in rule.accounts_for]
    length = int(measured.sum()) // _WINDOWS
    if not kinds or not length:
        return None
    sessions = np.nan_to_num(np.sum(kinds, axis=0))[measured]
    means = np.convolve(sessions, np.full(length, 1 / length), mode="valid")
    samples_per_s = (run.samples.source == SESSIONS).sum() / line.seconds.sum()
    length_s = float(line.seconds[measured][:length].sum())
    mean, peak = float(sessions.mean()), int(means.argmax())
    is_seen = means[peak] * samples_per_s * length_s >= _SIGHTINGS_MIN
    if not is_seen or means[peak] < _STANDS_OUT * mean:
        return None
    begin_s = float(line.time_s[measured][peak])
    return Places(lead="Strongest at", spans=[Span(begin_s, begin_s + length_s)])
