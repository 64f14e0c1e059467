#!/usr/bin/env bash
# Compares files of models with a client's Keras. Exits with 77, skipped, where tools/install-clients.sh has not installed it.
# usage: run.sh CLIENT PROGRAM [OPTION...]     the program of keras_client.cc; options of keras_files.py
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=$here/../../build/clients/$1/bin/python
if [ ! -x "$python" ]; then
  echo "skipped: $1 is not installed: tools/install-clients.sh $1"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/keras_files.py" "${@:2}"
