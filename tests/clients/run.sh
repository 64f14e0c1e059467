#!/usr/bin/env bash
# Runs a script of this folder with a client's Python. Exits with 77, skipped, where tools/install-clients.sh has not installed it.
# usage: run.sh CLIENT SCRIPT [ARGUMENT...]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/clients/$1/bin/python
if [ ! -x "$python" ]; then
  echo "skipped: $1 is not installed: tools/install-clients.sh $1"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/$2" "${@:3}"
