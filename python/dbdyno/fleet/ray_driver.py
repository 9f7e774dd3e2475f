"""All that dbdyno asks of Ray: a node for each agent, its code there, and when it was lost.

``python -m dbdyno.fleet.ray_driver ADDRESS RESOURCE COUNT CONTROL`` reserves nodes. Over the socket
CONTROL it is then sent, for each run, a socket and a file for each agent. It answers when the nodes
are ready, joins each socket with an agent on a node, and says when all have ended. They are joined
over TLS, by a certificate of this run alone (:mod:`ray_node` has the other end). It ends with its
controller, and when anything went wrong with a node; what is left then, Ray ends with its driver.
"""

import asyncio
import contextlib
import datetime
import ipaddress
import logging
import os
import re
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import ray
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from ray.exceptions import RayError
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import (
    NodeAffinitySchedulingStrategy,
    PlacementGroupSchedulingStrategy,
)

from dbdyno.fleet.ray_cluster import Answer
from dbdyno.fleet.ray_node import CHUNK_BYTES, KEY_BYTES, Node, closed, fingerprint, joined

PACKAGE = Path(__file__).parents[1]
PLACE_MAX_S = 20.0
ANSWER_MAX_S = 30.0
"""How long a node may take to answer for the first time: it fetches the package before."""
KEY_MAX_S = 5.0
REACH_MAX_S = 5.0
HOST_AND_PORT = re.compile(r".+:\d+")
HEAD = "node:__internal_head__"
"""The resource by which Ray marks the head of a cluster."""
TOKEN_HINT = (
    "Start each node with RAY_AUTH_MODE=token and one token (ray get-auth-token --generate; "
    "RAY_AUTH_TOKEN_PATH names its file), and set both here, too."
)
Connected: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Refused(Exception):  # noqa: N818 - it is an answer
    """The cluster cannot have the agents."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.answer = Answer(message, hint)


def connect(address: str) -> None:
    """Connect to the cluster; the package goes to the nodes that will have an agent."""
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    named = named.removeprefix("ray://")
    try:
        if HOST_AND_PORT.fullmatch(named):
            own_address(named)  # Ray would try for half a minute, and not name what it tried
    except OSError as error:
        raise Refused(
            f"no Ray cluster is at {named}: {error.strerror or error}",
            "ray start --head starts one; RAY_ADDRESS names the one that ray: means.",
        ) from error
    try:
        ray.init(
            address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"py_modules": [str(PACKAGE)], "excludes": ["__pycache__"]},
        )
    except (ConnectionError, RuntimeError, RayError, ValueError) as error:
        where = "a running Ray cluster" if address == "auto" else address
        raise Refused(
            f"{where} cannot be used: {' '.join(str(error).split())}",
            "Nodes and this host need the same versions of Ray and Python. If the cluster has a "
            "token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH are needed here, too.",
        ) from error


def refuse_strangers(nodes: Sequence[dict[str, Any]]) -> None:
    """Refuse a cluster on which anyone who reaches a port could run a program.

    The head is asked, which has no node that does not show the token. Each worker process that Ray
    has to start for a question takes its node a second of CPU time, perhaps when the load begins.
    """
    if all(ipaddress.ip_address(node["NodeManagerAddress"]).is_loopback for node in nodes):
        return
    head = next((node for node in nodes if HEAD in node["Resources"]), None)
    if head is None:
        raise Refused(
            "the head of Ray's cluster has no node, which could say whether it asks for a token",
            "ray status shows the nodes; ray start --head starts one, with --num-cpus=0.",
        )
    mode_of: Any = ray.remote(num_cpus=0)(os.getenv)
    on_head = NodeAffinitySchedulingStrategy(head["NodeID"], soft=False)
    asked = mode_of.options(scheduling_strategy=on_head).remote("RAY_AUTH_MODE", "")
    if ray.get(asked, timeout=ANSWER_MAX_S).lower() != "token":
        raise Refused(
            f"Ray's head {head['NodeManagerAddress']} asks for no token: whoever reaches its "
            "ports could run programs there",
            TOKEN_HINT,
        )


def placed(count: int, resource: str) -> list[Any]:
    """Return an actor on each of so many nodes, with all their CPUs."""
    nodes = [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    refuse_strangers(nodes)
    of_each = [node["Resources"] for node in nodes]
    able = [its for its in of_each if its.get("CPU", 0) >= 1 and (not resource or resource in its)]
    needed = f"CPUs and the resource {resource!r}" if resource else "CPUs"
    if len(able) < count:
        raise Refused(
            f"of the {len(nodes)} nodes of Ray's cluster, {len(able)} with {needed} are there for "
            f"{count} workers",
            "Ask for fewer workers, or start nodes first: each agent has a node of its own.",
        )
    able.sort(key=lambda its: -its["CPU"])
    bundles = [{"CPU": its["CPU"], **({resource: 1} if resource else {})} for its in able[:count]]
    group = placement_group(bundles, strategy="STRICT_SPREAD")
    if not group.wait(PLACE_MAX_S):
        raise Refused(
            f"nodes with {needed} are there for {count} workers, but were not free within "
            f"{PLACE_MAX_S:g} s",
            "ray status shows what uses them.",
        )
    node = ray.remote(Node)
    return [
        node.options(
            num_cpus=bundle["CPU"],
            scheduling_strategy=PlacementGroupSchedulingStrategy(
                group, placement_group_bundle_index=index
            ),
        ).remote()
        for index, bundle in enumerate(bundles)
    ]


def own_address(cluster: str) -> str:
    """Return the address of this host on the way to the cluster."""
    host, _, port = cluster.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), REACH_MAX_S) as connection:
        found: str = connection.getsockname()[0]
    return found


def certified() -> tuple[ssl.SSLContext, str]:
    """Return a TLS context with a new certificate, and this; its key is nowhere else."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "dbdyno")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # It is good for as long as this process lasts, whatever the nodes' calendars say.
        .not_valid_before(datetime.datetime(2000, 1, 1))
        .not_valid_after(datetime.datetime(9999, 1, 1))
        .sign(key, hashes.SHA256())
        .public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    # ssl reads it from a file; this one is in memory.
    with os.fdopen(os.memfd_create("key"), "wb", buffering=0) as file:
        file.write(private + certificate)
        context.load_cert_chain(f"/proc/self/fd/{file.fileno()}")
    return context, certificate.decode()


class _Way:
    """Whether one of an agent's two connections is joined, and whether it is over."""

    def __init__(self) -> None:
        self._joined, self._over = asyncio.Event(), asyncio.Event()

    def __enter__(self) -> None:
        """It is joined for the duration of the block."""
        self._joined.set()

    def __exit__(self, *_: object) -> None:
        """It is over."""
        self._over.set()

    async def over(self) -> None:
        """Wait until it is; raise a TimeoutError if it is not even joined soon."""
        async with asyncio.timeout(KEY_MAX_S):
            await self._joined.wait()
        await self._over.wait()


class _Ends:
    """What the controller has of one agent: its stream, and the file of what it prints."""

    def __init__(self, stream: int, printed: int) -> None:
        self._socket = socket.socket(fileno=stream)
        self._printed = os.fdopen(printed, "ab", buffering=0)
        self._stream, self._prints = _Way(), _Way()

    async def open(self) -> None:
        """Open the stream."""
        self.reader, self.writer = await asyncio.open_connection(sock=self._socket)

    async def stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Join the agent's stream with the controller's."""
        with self._stream:
            await joined((self.reader, writer), (reader, self.writer))

    async def print(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep what the agent prints."""
        with self._prints, contextlib.suppress(OSError, ValueError):  # it may have ended
            while text := await reader.read(CHUNK_BYTES):
                self._printed.write(text)
        await closed(writer)

    async def over(self) -> None:
        """Wait until all of it has arrived: its node may be done long before."""
        with contextlib.suppress(TimeoutError):
            await self._stream.over()
            await self._prints.over()

    async def end(self, why: str) -> None:
        """End the stream."""
        with self._printed:
            self._printed.write(f"{why}\n".encode() if why else b"")
        await closed(self.writer)


async def serve(
    control: socket.socket, ends: Sequence[_Ends], host: str, nodes: Sequence[Any]
) -> None:
    """Join the controller's ends with agents on these nodes, run after run."""
    while ends:
        fingerprints = [await node.fingerprints.remote() for node in nodes]
        say(control, Answer())
        if not await are_joined(host, nodes, ends, fingerprints):
            return
        say(control, Answer())
        ends = await asyncio.to_thread(received, control, len(nodes))


def received(control: socket.socket, count: int) -> list[_Ends]:
    """Receive the controller's ends for a run; none if there is no controller any more."""
    ends: list[_Ends] = []
    while len(ends) < count:
        word, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not word:
            return []
        ends.append(_Ends(*descriptors))
    return ends


def say(control: socket.socket, answer: Answer) -> None:
    """Answer the controller, if it is still there."""
    with contextlib.suppress(OSError):
        control.send(msgspec.json.encode(answer))


async def are_joined(
    host: str, nodes: Sequence[Any], ends: Sequence[_Ends], fingerprints: Sequence[Sequence[str]]
) -> bool:
    """Join both until all agents have ended; return whether the nodes can have further ones."""
    expected: dict[str, Connected] = {}
    for (stream, printed), end in zip(fingerprints, ends, strict=True):
        expected |= {stream: end.stream, printed: end.print}
        await end.open()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(KEY_MAX_S):
                key = await reader.readexactly(KEY_BYTES)
            if use := expected.pop(fingerprint(key), None):
                await use(reader, writer)
        writer.close()

    context, certificate = certified()
    async with await asyncio.start_server(connected, host, 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]

        async def followed(node: Any, end: _Ends) -> bool:
            why = ""
            try:
                await node.run.remote(host, port, certificate)
                await end.over()
            except RayError as error:
                why = f"Ray: {error}"
            await end.end(why)
            return not why

        return all(await asyncio.gather(*map(followed, nodes, ends)))


def main(address: str, resource: str, count: str, control: str) -> None:
    """Reserve nodes, and serve the agents on them until the controller ends."""
    with socket.socket(fileno=int(control)) as connection:
        # First: where a socket is closed with unread words, its last answer may be lost.
        ends = received(connection, int(count))
        try:
            connect(address)
            nodes = placed(int(count), resource)
            cluster = address.removeprefix("ray://")
            if address == "auto":
                cluster = ray.get_runtime_context().gcs_address
            asyncio.run(serve(connection, ends, own_address(cluster), nodes))
        except Refused as error:
            say(connection, error.answer)
        except RayError as error:
            say(connection, Answer(f"Ray could not place the workers: {error}"))
        ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
