"""A network between dbdyno and a server that a test can cut, delay, reset and leave half-open."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

AT_ONCE = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset


class Network:
    """Forwards each connection to a port; all of it runs in one thread of its own."""

    def __init__(self, server_port: int) -> None:
        self.server_port = server_port
        self.delay_s = 0.0
        self.abandoned: list[asyncio.StreamWriter] = []
        self.to_clients: list[asyncio.StreamWriter] = []
        self.to_server: list[asyncio.StreamWriter] = []
        self.loop = asyncio.new_event_loop()

    @contextlib.contextmanager
    def running(self) -> Iterator[int]:
        """Yield the port to connect to."""
        thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        thread.start()
        self.port = self._now(self._open())
        yield self.port
        self._now(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        thread.join()
        self.loop.close()

    def silence(self) -> None:
        """Let no byte through, in either direction; the connections stay."""
        self.loop.call_soon_threadsafe(self.flows.clear)

    def resume(self) -> None:
        self.loop.call_soon_threadsafe(self.flows.set)

    def reset(self) -> None:
        """Reset every connection; new ones are accepted."""
        self._now(self._close([*self.to_clients, *self.to_server]))

    def leave_half_open(self) -> None:
        """End every connection for the server alone; new ones are accepted."""
        self.abandoned, self.to_clients = self.to_clients, []
        self._now(self._close(self.to_server))

    def cut(self) -> None:
        """Reset every connection and refuse new ones."""
        self._now(self._shut())
        self.reset()

    def mend(self) -> None:
        self._now(self._open())

    def _now(self, what: "asyncio.Future[int] | object") -> int:
        return asyncio.run_coroutine_threadsafe(what, self.loop).result(30)  # type: ignore[arg-type]

    async def _open(self) -> int:
        if not hasattr(self, "flows"):
            self.flows = asyncio.Event()
            self.flows.set()
        port = getattr(self, "port", 0)
        self.door = await asyncio.start_server(self._join, "127.0.0.1", port)
        return int(self.door.sockets[0].getsockname()[1])

    async def _shut(self) -> int:
        self.door.close()
        return 0

    async def _close(self, writers: list[asyncio.StreamWriter]) -> int:
        for writer in writers:
            line = writer.get_extra_info("socket")
            if line is not None and line.fileno() >= 0:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            writer.transport.abort()
        for known in (self.to_clients, self.to_server):
            known[:] = [writer for writer in known if writer not in writers]
        return 0

    async def _end(self) -> int:
        self.door.close()
        await self._close([*self.abandoned, *self.to_clients, *self.to_server])
        for task in asyncio.all_tasks():
            if task is not asyncio.current_task():
                task.cancel()
        return 0

    async def _join(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        try:
            answers, server = await asyncio.open_connection("127.0.0.1", self.server_port)
        except OSError:
            client.transport.abort()
            return
        self.to_clients.append(client)
        self.to_server.append(server)
        one_ended = self._pump(reader, server), self._pump(answers, client)
        tasks = [asyncio.ensure_future(way) for way in one_ended]
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(tasks)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65536):
                await asyncio.sleep(self.delay_s)
                await self.flows.wait()
                sink.write(data)
            if sink in (*self.to_clients, *self.to_server):
                sink.close()
