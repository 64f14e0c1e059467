#!/usr/bin/env bash
# Installs the build into a new prefix, then builds and runs the README's first program against it, as a user of
# find_package(systole) does.   usage: run.sh CMAKE BUILD_FOLDER COMPILER
set -euo pipefail
cmake=$1 build=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
cp "$here/../../examples/linear_regression.cc" "$work/first.cc"
"$cmake" -S "$here/program" -B "$work/program" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
         -DCMAKE_PREFIX_PATH="$work/prefix" -DFIRST_PROGRAM="$work/first.cc"
"$cmake" --build "$work/program"
"$work/program/first" | tee "$work/output"
grep -qE '^w = 2\.00., b = 1\.00.$|^w = 1\.99., b = 1\.00.$' "$work/output" || { echo "expected w = 2, b = 1"; exit 1; }
(cd "$work" && "$work/program/graph_file") | tee "$work/output"
grep -qxF 'f32[2] {9, 18}' "$work/output" || { echo "expected f32[2] {9, 18}"; exit 1; }
"$work/prefix/bin/systole" version
echo "install test: ok"
