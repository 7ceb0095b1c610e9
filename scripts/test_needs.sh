#!/usr/bin/env bash
# The servers and the browser that the tests start themselves: installed when root runs this on Debian, named otherwise.
# With the word `cluster`: those of tests/cluster instead. Galera comes with Debian's mariadb-server.
set -euo pipefail

declare -A package=([mariadbd]=mariadb-server [redis-server]=redis-server [chromium-headless-shell]=chromium-headless-shell [promtool]=prometheus [curl]=curl)
[ "${1:-}" != cluster ] || package=([mariadbd]=mariadb-server [redis-server]=redis-server [redis-sentinel]=redis-sentinel [haproxy]=haproxy [rsync]=rsync)
export PATH="$PATH:/usr/sbin:/usr/local/sbin"
missing=()
for program in "${!package[@]}"; do
    command -v "$program" >/dev/null || missing+=("${package[$program]}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

install="apt-get install --no-install-recommends ${missing[*]} fonts-noto-core"
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "saraban: the tests need ${missing[*]} (Debian, as root: apt-get update && $install)." >&2
    exit 1
fi
echo "Installing ${missing[*]}."
apt-get update -qq
# The packages' own services stay off; the tests use private ports and folders.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
    trap 'rm -f "$policy"' EXIT
fi
RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive $install -qq -y >/dev/null
