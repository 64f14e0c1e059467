#!/usr/bin/env bash
# Installs the clients that tests/clients compares with, each in a virtual environment of build/clients, in the versions of
# tests/clients/<client>.lock. Uses no network if they are there.
# usage: tools/install-clients.sh [CLIENT...]     clients: python (builds and tests the Python package), keras2 (Keras 2.15, needs Python up to
# 3.11), keras3, jax, jax_libraries, xprof; torch, tensorflow (3 GB, for make bench-peers). CLIENT@PYTHON, such as python@python3.13, is the
# client with another interpreter than python3, in build/clients/CLIENT-<its version>
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- keras2 keras3 jax xprof
failed=0
for name in "$@"; do
  client=${name%%@*} interpreter=python3 to=build/clients/${name%%@*}
  if [ "$client" != "$name" ]; then
    interpreter=${name#*@}
    version=$("$interpreter" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || { echo "install-clients: no interpreter '$interpreter'" >&2; exit 2; }
    to=$to-$version
  fi
  lock=tests/clients/$client.lock
  [ -f "$lock" ] || { echo "install-clients: no client '$client'; tests/clients has one .lock file for each" >&2; exit 2; }
  if [ -x "$to/bin/python" ] && cmp -s "$lock" "$to/lock"; then continue; fi
  rm -rf "$to"
  mkdir -p "$to"
  log=$to/install.log
  if "$interpreter" -m venv "$to" >"$log" 2>&1 && "$to/bin/pip" install --no-input -r "$lock" >>"$log" 2>&1; then
    cp "$lock" "$to/lock"
  else
    tail -n 10 "$log" >&2
    echo "install-clients: could not install $client (its output is above and in $log); its tests are skipped" >&2
    rm -f "$to/bin/python"
    failed=1
  fi
done
exit $failed
