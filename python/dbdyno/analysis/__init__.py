"""Statistics of runs: pure functions of loaded records; no file, no clock, no chance."""

from dbdyno.analysis.doubts import find_doubts
from dbdyno.analysis.estimate import Estimate, estimate_mean
from dbdyno.analysis.summarize import full_record, summarize

__all__ = ["Estimate", "estimate_mean", "find_doubts", "full_record", "summarize"]
