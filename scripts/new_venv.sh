#!/usr/bin/env bash
# Makes the virtual environment, or says in one line what the machine lacks.
set -euo pipefail
python=$1 venv=$2

say() { echo "saraban: $*" >&2; exit 1; }

command -v "$python" >/dev/null || say "Python 3.11 or newer is needed, and '$python' is not there (Debian: apt-get install python3 python3-venv)."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    say "Python 3.11 or newer is needed; '$python' is $("$python" -V | cut -d' ' -f2). Name another with: make PYTHON=python3.12 …"
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    # Debian ships the module apart.
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        say "Python's venv module is missing (Debian: apt-get install python3-venv)."
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
fi
"$python" -m venv "$venv"
