"""Passes bytes on, each way a while later: ``python delaying.py ADDRESS PORT TO DELAY_S``."""

import asyncio
import sys


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, delay_s: float) -> None:
    while data := await source.read(65536):
        await asyncio.sleep(delay_s)
        sink.write(data)
    sink.close()


async def main(address: str, port: str, to: str, delay_s: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(to, int(port))
        ways = ((reader, to_server), (from_server, writer))
        await asyncio.gather(*(pump(*way, float(delay_s)) for way in ways))

    server = await asyncio.start_server(serve, address, int(port), backlog=1000)
    print("listening", flush=True)  # noqa: T201 - it is waited for
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
