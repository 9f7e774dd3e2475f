"""One file a rule; each ends in ``RULE = Rule(…)``."""
