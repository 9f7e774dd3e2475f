"""Tables that several agents fill together: each has some of the jobs, whose rows are added up.

All divide the rows into the same pieces, and a row depends on the seed and its number alone: the
data is that of one host, and any other can continue the load if it is interrupted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from dbdyno.errors import DbdynoError
from dbdyno.fleet.agents import Agent, Arrivals, Arrived
from dbdyno.fleet.pulse import Pulse
from dbdyno.model.frame import Failed, Loaded, Progress


class RunningLoad:
    """Agents that fill tables. Iterating yields their progress and end as those of one engine.

    Raises :class:`DbdynoError` for what the server refuses to any of them, and if one is lost.
    """

    def __init__(self, agents: Sequence[Agent], arrivals: Arrivals) -> None:
        self.rows = dict.fromkeys((agent.name for agent in agents), 0)
        """How many each agent has loaded, once all have."""
        self._agents = agents
        self._arrivals = arrivals

    def __iter__(self) -> Iterator[Progress | Loaded]:
        """Yield until all have ended."""
        progress: dict[str, Counter[Agent]] = {}
        loaded: dict[Agent, Loaded] = {}
        with Pulse(self._agents) as pulse:
            while len(loaded) < len(self._agents):
                arrived = self._arrivals.get()
                agent = arrived.agent
                tuple(agent.taken_offsets())  # signs of life are all that is wanted of them
                match arrived.frame:
                    case Progress(table=table, rows=rows, rows_total=total):
                        of_table = progress.setdefault(table, Counter())
                        of_table[agent] = rows
                        yield Progress(table=table, rows=of_table.total(), rows_total=total)
                    case Loaded() as frame:
                        loaded[agent] = frame
                        pulse.forget(agent)
                    case frame if agent not in loaded:
                        raise self._lost(arrived, frame)
        self.rows = {agent.name: frame.rows for agent, frame in loaded.items()}
        yield Loaded(
            rows=sum(self.rows.values()),
            elapsed_ns=max(frame.elapsed_ns for frame in loaded.values()),
        )

    def _lost(self, arrived: Arrived, frame: object) -> DbdynoError:
        name = arrived.agent.name
        if isinstance(frame, Failed):
            return DbdynoError(frame.code, f"worker {name}: {frame.message}", frame.hint)
        return DbdynoError(
            "worker",
            f"worker {name} was lost before it had loaded its rows: "
            f"{arrived.agent.with_last_line(arrived.end)}",
            "What was loaded is kept: the same command continues, with these or other workers.",
        )
