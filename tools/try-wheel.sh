#!/usr/bin/env bash
# Installs a wheel as its users do, in an environment of its own where no compiler of Rust and no
# node can be called, and makes a run with it: try-wheel.sh UV WHEEL.
set -euo pipefail
uv=$(realpath "$1")
wheel=$(realpath "$2")

fail() {
    echo "$wheel: $1" >&2
    exit 1
}

files=$(python3 -m zipfile -l "$wheel")
for needed in dbdyno/_engine.abi3.so dbdyno/_engine.pyi dbdyno/py.typed dbdyno/report/static/report.js; do
    grep -qF "$needed" <<<"$files" || fail "has no $needed"
done
left=$(grep -E '__pycache__|\.pyc |node_modules|\.map |/tests?/' <<<"$files" || true)
[ -z "$left" ] || fail "has leftovers of the build: $left"
[[ $wheel == *-abi3-manylinux_* ]] || fail "is for this Python or this distribution only"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME=$place UV_TOOL_DIR=$place/tools UV_TOOL_BIN_DIR=$place/bin DBDYNO_HOME=$place/home
unset VIRTUAL_ENV PYTHONPATH
# Where the host has them, calling one fails.
mkdir "$place/refused"
for compiler in cargo rustc cc node npm; do
    printf '#!/bin/sh\necho "$0 was called" >&2\nexit 127\n' >"$place/refused/$compiler"
    chmod +x "$place/refused/$compiler"
done
export PATH=$place/refused:$place/bin:/usr/bin:/bin
"$uv" tool install --quiet "$wheel"
dbdyno --version
dbdyno run tpcb --server postgres -s 1 -c 4 -T 3 --warmup 1 --max-disturbance 100% --report "$place/report.html"
[ -s "$place/report.html" ] || fail "has written no report"
