"""The Rust module: JSON in, bytes out. What each function means stands in dbdyno.engine."""

from typing import Literal

def check_plan(plan: bytes) -> str:
    """Problems of a plan's scripts, as JSON, for a plan as JSON. Raises ValueError."""

def statements_with_variables(plan: bytes) -> str:
    """Statements of a plan's scripts that have variables, as JSON. Raises ValueError."""

def sql_tokens(sql: str, dialect: str) -> list[tuple[str, str]]:
    """Tokens of SQL, each with its kind and its text, as a dialect reads it. Raises ValueError."""

def make_room(clients: int, threads: int) -> tuple[str, str, str] | None:
    """Raise the limit on open files for a run; why it cannot be: code, message, hint."""

def files_beside_clients(threads: int) -> int:
    """Files of a run with so many threads that are no client's connection."""

def agent_main(frames_fd: int, build: str | None = None) -> int:
    """Run the job on standard input, writing frames to the descriptor; the exit code."""

class Fleet:
    """Adds up the frames of several engines, without their lengths. Raises ValueError."""

    def __new__(cls, plan: bytes, threads: list[list[int]], statements: int) -> Fleet: ...
    def connected(self, part: int, frame: bytes) -> list[bytes]:
        """Take that a part's clients are connected; after the last part, the frame of all."""

    def interval(self, part: int, arrival: tuple[int, int, int], frame: bytes) -> list[bytes]:
        """Take a part's interval; return the frames of whole ones.

        In ns: by how much this clock is ahead of the part's, when the load began, and now.
        """

    def activity(self, part: int, arrival: tuple[int, int, int], frame: bytes) -> list[bytes]:
        """Take what a part's clients were doing; the frames of whole instants."""

    def too_slow(self) -> list[int]:
        """Return the parts that are so far behind that the others are not kept for them."""

    def over(self, part: int) -> list[bytes]:
        """Take that a part is over; the frames that waited for it."""

    def end(self, counters: list[str]) -> list[bytes]:
        """The last histograms and the totals, without how it ended; counters are by name."""

def histogram_quantiles(histogram: bytes, quantiles: list[float]) -> list[int]:
    """Values in ns that the given shares do not exceed. Raises ValueError."""

def histogram_merge(histograms: list[bytes]) -> bytes:
    """Return the sum of histograms. Raises ValueError."""

def histogram_bars(histogram: bytes) -> bytes:
    """Bars as little-endian u64 triples: lowest, highest value in ns, count. Raises ValueError."""

class Profile:
    """A profile of a process and its descendants, while it is taken. Raises OSError."""

    def __new__(cls, server: int, hz: int, cpus: list[int]) -> Profile: ...
    def facts(self) -> tuple[str, Literal["cpu-clock", "cycles"], bool]:
        """Scope, what takes the samples, and whether the kernel's functions have names."""

    def begin(self, origin_ns: int) -> None:
        """Begin to sample; seconds count from an instant of the monotonic clock."""

    def pause(self) -> None:
        """Sample nothing until it is resumed."""

    def resume(self) -> None:
        """Sample again."""

    def look(self) -> bool:
        """Count what was sampled by now; return whether processes or threads began meanwhile."""

    def take_before(self, until_ns: int) -> bytes:
        """Take what was counted in seconds that began before an instant, as JSON."""
