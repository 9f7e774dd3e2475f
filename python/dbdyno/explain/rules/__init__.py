"""One file per rule; each ends in ``RULE = Rule(…)``."""
