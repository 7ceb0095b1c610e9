#!/usr/bin/env bash
# Installs the front-end packages by the lock, with the machine's Node or, where there is none, with Node from PyPI.
set -euo pipefail
bin=$1
cd "$(dirname "$0")/.."

if ! { command -v npm && command -v node; } >/dev/null; then
    "$bin/python" -m pip install -qq --disable-pip-version-check --no-deps --require-hashes -r requirements-node.txt
    export PATH="$bin:$PATH"
fi
# No package of ours needs a script of its own to be installed, and one of them would report that it was.
npm ci --ignore-scripts --loglevel=error
