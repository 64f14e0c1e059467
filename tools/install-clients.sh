#!/usr/bin/env bash
# Installs the clients that tests/clients compares with, each in a virtual environment of build/clients, in the versions of
# tests/clients/<client>.lock. Uses no network if they are there.
# usage: tools/install-clients.sh [CLIENT...]     clients: python (builds and tests the Python package), keras2 (Keras 2.15, needs Python up to
# 3.11), keras3, jax, jax_libraries, xprof; torch, tensorflow (3 GB, for make bench-peers)
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- keras2 keras3 jax xprof
failed=0
for client in "$@"; do
  lock=tests/clients/$client.lock to=build/clients/$client
  [ -f "$lock" ] || { echo "install-clients: no client '$client'; tests/clients has one .lock file for each" >&2; exit 2; }
  if [ -x "$to/bin/python" ] && cmp -s "$lock" "$to/lock"; then continue; fi
  rm -rf "$to"
  mkdir -p "$to"
  log=$to/install.log
  if python3 -m venv "$to" >"$log" 2>&1 && "$to/bin/pip" install --no-input -r "$lock" >>"$log" 2>&1; then
    cp "$lock" "$to/lock"
  else
    tail -n 10 "$log" >&2
    echo "install-clients: could not install $client (its output is above and in $log); its tests are skipped" >&2
    rm -f "$to/bin/python"
    failed=1
  fi
done
exit $failed
