"""One agent: a process with an engine, here or on another host, over its standard streams.

Whatever starts it, its job goes in and its frames come out over the command's standard input and
output; what it prints is kept for the log, and explains a command that starts no agent.
"""

import contextlib
import os
import select
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from queue import Full, Queue
from typing import NamedTuple, TypeAlias

import msgspec

from dbdyno.fleet.clocks import Offset, exchanged
from dbdyno.fleet.hosts import pid_here
from dbdyno.fleet.words import Place
from dbdyno.model.frame import Frame
from dbdyno.model.frame.parts import Clock, Greeting, PartBegun, PartConnected, PartInterval
from dbdyno.model.secrets import Masker

AgentFrame: TypeAlias = Frame | Greeting | Clock | PartConnected | PartBegun | PartInterval

FRAME_BYTES_MAX = 64 * 2**20
WAITING_BYTES_MAX = 64 * 2**20
"""Of all agents' frames that are read and not yet taken: an agent keeps its own further ones."""
_ARRIVED_BYTES = 2**12
"""What one takes in memory beside its raw bytes."""
PRINTED_BYTES_MAX = 2**26
_SHOWN_BYTES_MAX = 2**16
LINE_CHARACTERS = 500
_LENGTH_BYTES = 4
WORDS_S = 2.0
"""How long an agent may not take anything of what it is sent."""
_END_S = 2.0
_decode = msgspec.msgpack.Decoder(AgentFrame).decode


class Arrived(NamedTuple):
    """What arrived of an agent: a frame, raw and decoded, or the end of its stream, and why."""

    agent: "Agent"
    raw: bytes
    frame: AgentFrame | None
    end: str = ""


class Arrivals(Queue[Arrived]):
    """What arrived of all agents, and was not taken yet; full by its bytes, not by its number."""

    def __init__(self) -> None:
        super().__init__(WAITING_BYTES_MAX)
        self._bytes = 0
        self._count_of: Counter[Agent] = Counter()

    def _qsize(self) -> int:
        return self._bytes

    def _put(self, item: Arrived) -> None:
        self._bytes += _ARRIVED_BYTES + len(item.raw)
        self._count_of[item.agent] += 1
        super()._put(item)

    def _get(self) -> Arrived:
        item = super()._get()
        self._bytes -= _ARRIVED_BYTES + len(item.raw)
        self._count_of[item.agent] -= 1
        return item

    def may_have_of(self, agent: "Agent") -> bool:
        """Whether there is anything of this agent; or it may be that there is no room for it."""
        return self._count_of[agent] > 0 or self.full()

    def put_anyway(self, item: Arrived) -> None:
        """Put it, however full it is."""
        with self.mutex:
            self._put(item)
            self.unfinished_tasks += 1
            self.not_empty.notify()


class Agent:
    """An agent that was started; a thread of its own reads what it reports."""

    def __init__(self, number: int, place: Place, arrivals: Arrivals) -> None:
        self.number = number
        self.name = place.name
        self.greeting: Greeting | None = None
        self.masker = Masker(())
        self.offsets: Queue[Offset] = Queue()
        """By each exchange that was not taken yet."""
        self.heard_s = time.monotonic()
        """When anything last arrived, if only a piece of a frame."""
        self._asked: set[int] = set()
        """Questions for its clock that it has not answered yet."""
        self._arrivals = arrivals
        self._is_given_up = False
        self._is_closing = False
        self._is_left = False
        """Whether a process of it goes on that cannot be ended from here."""
        self._words = threading.Lock()
        self._process = place.start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._room = select.poll()
        """Whether it takes more words."""
        self._room.register(self._process.stdin, select.POLLOUT)
        self._output = open(self._process.stdout.fileno(), "rb", closefd=False)  # noqa: SIM115
        self._reader = threading.Thread(target=self._read, name=f"from {self.name}", daemon=True)
        self._reader.start()

    def send(self, word: object) -> None:
        """Send a word; one that has ended shows that by itself, and one that takes none is lost."""
        with self._words:
            is_taken = self._write(word)
        if not is_taken:
            self.give_up("it took no words")

    def _write(self, word: object) -> bool:
        stdin = self._process.stdin
        assert stdin is not None
        left = memoryview(msgspec.json.encode(word) + b"\n")
        with contextlib.suppress(OSError):
            # The number of its pipe may be another's once it is closed.
            while left and not stdin.closed:
                if not self._room.poll(1000 * WORDS_S):
                    return False
                left = left[stdin.write(left[: select.PIPE_BUF]) :]
                if left:  # a long word: it is asked nothing else meanwhile, and takes this
                    self.heard_s = time.monotonic()
        return True

    @property
    def pid(self) -> int | None:
        """The number of its process on this host; None if it is elsewhere, or in a container."""
        return pid_here(self.greeting) if self.greeting else None

    @property
    def carrier_pid(self) -> int:
        """The process on this host through which its frames come: its own, or a command's."""
        return self._process.pid

    def ask_clock(self) -> None:
        """Ask for its clock; the answer is a sign of life, and an offset."""
        # While it is sent something else, that is as good; nobody waits here who asks others, too.
        if not self._words.acquire(blocking=False):
            return
        question = time.monotonic_ns()
        self._asked.add(question)
        try:
            self._write({"clock": question})
        finally:
            self._words.release()

    def taken_offsets(self) -> Iterator[Offset]:
        """Yield the offsets that were not taken yet."""
        while not self.offsets.empty():
            yield self.offsets.get()

    def give_up(self, why: str) -> None:
        """Take it for lost, for this reason, even if it cannot be ended from here."""
        if not self._is_given_up:
            self._is_given_up = True
            self._arrivals.put_anyway(Arrived(self, b"", None, why))
        self.kill()
        self.hang_up()

    def kill(self) -> None:
        """End it at once, and what its command has started on this host."""
        self._process.kill()

    def hang_up(self) -> None:
        """End its input, which ends it, too."""
        stdin = self._process.stdin
        assert stdin is not None
        if self._words.acquire(timeout=WORDS_S):
            with contextlib.suppress(OSError):
                stdin.close()
            self._words.release()

    def close(self) -> bool:
        """Wait until it has ended; return False if a process that it started cannot be ended."""
        self._is_closing = True
        self.hang_up()
        for _ in range(2):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_S)
                break
            self.kill()
        self._reader.join(_END_S)
        self._is_left = self._reader.is_alive()
        if not self._is_left:
            self._close_streams()
        return not self._is_left

    def printed(self) -> str:
        """What it has printed last, without the secrets."""
        begin = max(0, self.printed_bytes() - _SHOWN_BYTES_MAX)
        # The place in the file is that of the agent, which goes on to write.
        last = os.pread(self._process.printed.fileno(), _SHOWN_BYTES_MAX, begin)
        text = last.decode(errors="replace")
        # A secret that was cut in two would not be known as one.
        return self.masker.text(text.partition("\n")[2] if begin else text)

    def with_last_line(self, why: str) -> str:
        """Return a reason, and what it has printed last."""
        lines = self.printed().strip().splitlines()
        return f"{why}; it printed last: {lines[-1][-LINE_CHARACTERS:]}" if lines else why

    def printed_bytes(self) -> int:
        """How much it has printed; 0 once it is closed."""
        with contextlib.suppress(OSError, ValueError):
            return os.fstat(self._process.printed.fileno()).st_size
        return 0

    def _read(self) -> None:
        end = ""
        try:
            for raw in self._frames():
                now_ns = time.monotonic_ns()
                masked = self.masker.packed(raw)
                frame = _decode(masked)
                if isinstance(frame, Clock):
                    self._asked.remove(frame.question)
                    stamps = (frame.question, frame.received_ns, frame.sent_ns, now_ns)
                    self.offsets.put(exchanged(*stamps))
                else:
                    self._pass_on(Arrived(self, masked, frame))
        except OSError:
            pass  # a connection that was reset, as Ray's may be, has ended as any other
        except KeyError:
            end = "it sent what no agent does: an answer without a question"
            self.kill()
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            end = f"it sent what no agent does: {error}"
            self.kill()
        self._pass_on(Arrived(self, b"", None, end or self._process.why_ended()))
        if self._is_left:
            self._close_streams()

    def _close_streams(self) -> None:
        process = self._process
        for stream in (self._output, process.stdin, process.stdout, process.printed):
            if stream is not None:
                stream.close()

    def _pass_on(self, arrived: Arrived) -> None:
        while not self._is_given_up:
            try:
                self._arrivals.put(arrived, timeout=0.5)
                return
            except Full:
                if self._is_closing:
                    return
                self.heard_s = time.monotonic()  # it waits for us

    def _frames(self) -> Iterator[bytes]:
        while len(length := self._bytes(_LENGTH_BYTES)) == _LENGTH_BYTES:
            count = int.from_bytes(length, "little")
            if count > FRAME_BYTES_MAX:
                raise ValueError(f"a frame of {count} bytes, or text: {length!r}")
            raw = self._bytes(count)
            if len(raw) < count:
                return  # of an agent that was killed
            yield raw

    def _bytes(self, count: int) -> bytes:
        """Return the next bytes, fewer at the end; on a slow link each piece is a sign of life."""
        pieces, missing = [], count
        while missing and (piece := self._output.read1(missing)):
            self.heard_s = time.monotonic()
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)
