"""Why the numbers of a run are what they are: rules over what was recorded.

``explain`` asks every rule; ``told`` and ``told_in_full`` put the answers into words.
"""

from dbdyno.explain.explain import Explanation, explain
from dbdyno.explain.told import told, told_in_full

__all__ = ["Explanation", "explain", "told", "told_in_full"]
