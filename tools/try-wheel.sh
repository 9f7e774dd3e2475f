#!/usr/bin/env bash
# Installs a wheel as its users do, with uv and with pipx, in environments of their own where no
# compiler and no node can be called, and makes a run with it: try-wheel.sh UV WHEEL.
set -euo pipefail
uv=$(realpath "$1")
wheel=$(realpath "$2")
sources=$(realpath "$(dirname "$0")/../python")

fail() {
    echo "$wheel: $1" >&2
    exit 1
}

names=$(python3 -m zipfile -l "$wheel" | awk 'NR > 1 {print $1}')
# Everything that is beside the sources is in the wheel, and nothing else.
expected=$(cd "$sources" && find dbdyno -type f ! -path '*/__pycache__/*' ! -name '_engine*.so' ! -name '.*' | sort)
packed=$(grep '^dbdyno/' <<<"$names" | grep -v '_engine\.abi3\.so$' | sort)
differences=$(diff <(echo "$expected") <(echo "$packed")) ||
    fail "lacks what is marked with <, has too much where >: $differences"
for needed in _engine.abi3.so py.typed report/static/report.js report/static/live.js; do
    grep -qxF "dbdyno/$needed" <<<"$names" || fail "has no $needed"
done
[[ $wheel == *-abi3-manylinux_* ]] || fail "is for this Python or this distribution only"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export HOME=$place DBDYNO_HOME=$place/home
export UV_TOOL_DIR=$place/uv UV_TOOL_BIN_DIR=$place/uv-bin
export PIPX_HOME=$place/pipx PIPX_BIN_DIR=$place/pipx-bin
unset VIRTUAL_ENV PYTHONPATH
# Where the host has them, calling one fails.
mkdir "$place/refused"
for compiler in cargo rustc cc gcc c++ node npm; do
    printf '#!/bin/sh\necho "$0 was called" >&2\nexit 127\n' >"$place/refused/$compiler"
    chmod +x "$place/refused/$compiler"
done
export PATH=$place/refused:/usr/bin:/bin

"$uv" tool install --quiet "dbdyno[charts,embedded] @ file://$wheel"
"$uv" tool run --quiet pipx install --quiet "$wheel"
"$place/pipx-bin/dbdyno" --version
dbdyno=$place/uv-bin/dbdyno
"$dbdyno" run tpcb --server postgres -s 1 -c 4 -T 3 --warmup 1 --max-disturbance 100% --report "$place/report.html"
[ -s "$place/report.html" ] || fail "has written no report"
"$dbdyno" report last --charts "$place/charts"
[ -s "$(find "$place/charts" -name '*.png' | head -1)" ] || fail "has drawn no PNG"
"$place/pipx-bin/dbdyno" explain last >/dev/null
