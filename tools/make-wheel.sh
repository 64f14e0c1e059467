#!/usr/bin/env bash
# Makes a wheel of the Python package (pyproject.toml) of what a build holds, with the shared libraries that it needs. The wheel is for the version of
# Python of the client `python` (tools/install-clients.sh), with which the build has made its module. For another PYTHON, of the client python@PYTHON,
# the module alone is compiled in the build folder, which is then as before.
# usage: tools/make-wheel.sh BUILD-FOLDER FOLDER [PYTHON]
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 to=$2 other=${3-}
client=python
[ -z "$other" ] || client=python-$("$other" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
python=$PWD/build/clients/$client/bin log=$to/wheel.log stage=$to/stage
[ -x "$python/auditwheel" ] || { echo "make-wheel: the client $client, got none, expected tools/install-clients.sh python${other:+@$other}" >&2; exit 1; }
tag=$("$python/python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
mkdir -p "$to"
rm -rf "$stage" "$to/plain" "$to"/*-"$tag"-*.whl
mkdir -p "$stage"
export PATH=$python:$PATH
quietly() { "$@" >>"$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }
: >"$log"
# What CMake has found of a Python is forgotten.
configure() { cmake -U 'Python_*' -U '_Python_*' -U 'nanobind_*' -U 'NB_*' "$@" "$build"; }
if [ -n "$other" ]; then
  trap 'configure >>"$log" 2>&1' EXIT
  quietly configure -DPython_EXECUTABLE="$python/python"
  quietly cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target systole_python_stubs
fi
quietly cmake --install "$build" --component wheel --strip --prefix "$stage"
for file in lib/libsystole_pjrt.so bin/systole "_core$(python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')"; do
  [ -f "$stage/$file" ] || { echo "make-wheel: $file of $build, got none, expected a build of its target for $(python --version)" >&2; exit 1; }
done
quietly pip wheel . --no-deps --no-build-isolation -w "$to/plain" -C wheel.cmake=false -C wheel.platlib=true -C "wheel.force-include.$stage=systole_tpu"
quietly auditwheel repair -w "$to" "$to"/plain/*.whl
rm -rf "$stage" "$to/plain"
ls "$to"/*-"$tag"-*.whl
