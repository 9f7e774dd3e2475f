"""What runs on a node of a Ray cluster: an actor that starts the agent there, and joins it.

Ray carries nothing of the load. The actor connects to the controller, whose certificate it was
given; it shows there the keys that it has made, of which Ray has carried the hashes. So what Ray
keeps, writes and shows is public, and yet each side knows the other.

It imports nothing but the standard library: a node has Ray and what Ray brings there, the package.
"""

import asyncio
import contextlib
import hashlib
import secrets
import ssl
import sys
from pathlib import Path

AGENT = Path(__file__).parents[1] / "agent.py"
KEY_BYTES = 32
CHUNK_BYTES = 2**16
CONNECT_MAX_S = 10.0
END_MAX_S = 2.0


class Node:
    """The actor of one node, which has one agent after another."""

    async def fingerprints(self) -> list[str]:
        """Make two keys, for an agent's stream and for what it prints; return their hashes."""
        self._keys = [secrets.token_bytes(KEY_BYTES) for _ in range(2)]
        return [fingerprint(key) for key in self._keys]

    async def run(self, host: str, port: int, certificate: str) -> None:
        """Start an agent, joined to the controller that has this certificate; wait for its end."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # it is this one certificate, whatever its name
        context.load_verify_locations(cadata=certificate)
        async with contextlib.AsyncExitStack() as opened:
            streams = []
            for key in self._keys:
                async with asyncio.timeout(CONNECT_MAX_S):
                    reader, writer = await asyncio.open_connection(host, port, ssl=context)
                opened.push_async_callback(closed, writer)
                writer.write(key)
                streams.append((reader, writer))
            (words, frames), (_, printed) = streams
            await self._agent(words, frames, printed)

    async def _agent(
        self,
        words: asyncio.StreamReader,
        frames: asyncio.StreamWriter,
        printed: asyncio.StreamWriter,
    ) -> None:
        agent = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(AGENT)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert agent.stdin is not None
        assert agent.stdout is not None
        assert agent.stderr is not None
        try:
            printing = asyncio.create_task(passed(agent.stderr, printed))
            await joined((words, agent.stdin), (agent.stdout, frames))
            async with asyncio.timeout(END_MAX_S):
                await agent.wait()
                await printing
        finally:
            with contextlib.suppress(ProcessLookupError):
                agent.kill()


def fingerprint(key: bytes) -> str:
    """Return what may be known of a key."""
    return hashlib.sha256(key).hexdigest()


async def joined(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Pass on bytes in both ways until one of them ends; the writers are then closed."""
    passing = [asyncio.create_task(passed(*way)) for way in ways]
    await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
    for task in passing:
        task.cancel()
    for _, writer in ways:
        await closed(writer)


async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on bytes until their end, which may be that of the connection."""
    with contextlib.suppress(OSError):  # ssl.SSLError and ConnectionError, for two
        while data := await reader.read(CHUNK_BYTES):
            writer.write(data)
            await writer.drain()


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close it when what was written is sent, or can no longer be."""
    writer.close()
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(END_MAX_S):
            await writer.wait_closed()
