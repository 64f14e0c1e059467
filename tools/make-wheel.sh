#!/usr/bin/env bash
# Makes a wheel of the Python package (pyproject.toml) of what a build holds, with the shared libraries that it needs. Compiles nothing. The wheel is
# for the version of Python of the client `python` (tools/install-clients.sh), with which the build has made its module.
# usage: tools/make-wheel.sh BUILD-FOLDER FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 to=$2
python=$PWD/build/clients/python/bin log=$to/wheel.log stage=$to/stage
[ -x "$python/auditwheel" ] || { echo "make-wheel: the client python, got none, expected tools/install-clients.sh python" >&2; exit 1; }
rm -rf "$stage" "$to/plain" "$to"/*.whl
mkdir -p "$stage"
export PATH=$python:$PATH
quietly() { "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }
: >"$log"
quietly cmake --install "$build" --component wheel --strip --prefix "$stage"
for file in lib/libsystole_pjrt.so bin/systole "_core$(python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')"; do
  [ -f "$stage/$file" ] || { echo "make-wheel: $file of $build, got none, expected a build of its target for $(python --version)" >&2; exit 1; }
done
quietly pip wheel . --no-deps --no-build-isolation -w "$to/plain" -C wheel.cmake=false -C wheel.platlib=true -C "wheel.force-include.$stage=systole_tpu"
quietly auditwheel repair -w "$to" "$to"/plain/*.whl
rm -rf "$stage" "$to/plain"
ls "$to"/*.whl
