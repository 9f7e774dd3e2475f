"""Makes the manual's search work from a folder without a network: a hook of mkdocs.

A browser refuses a worker from ``file://``; the theme then loads a replacement for it from the
network. Here that is a file of the manual.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

FROM_THE_NETWORK = re.compile(r"https://[^\"]*/iframe-worker/shim")
HERE = "assets/javascripts/iframe-worker.js"
SOURCE = Path(__file__).parents[1] / "frontend/node_modules/iframe-worker/shim/index.js"


def on_files(files: Files, config: Any, **_others: Any) -> Files:
    """Add the script to the files of the manual."""
    files.append(File.generated(config, HERE, abs_src_path=str(SOURCE)))
    return files


def on_post_page(output: str, page: Any, **_others: Any) -> str:
    """Point the page to it."""
    return FROM_THE_NETWORK.sub("../" * page.url.count("/") + HERE, output)
