#!/usr/bin/env bash
# Installs the build into a new prefix, then builds and runs the program of this folder against it, as a user of
# find_package(systole) does.   usage: run.sh CMAKE BUILD_FOLDER COMPILER
set -euo pipefail
cmake=$1 build=$2 compiler=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$cmake" -S "$here/program" -B "$work/program" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
         -DCMAKE_PREFIX_PATH="$work/prefix"
"$cmake" --build "$work/program"
"$work/program/first"
[ ! -x "$build/bin/systole" ] || "$work/prefix/bin/systole" version
echo "install test: ok"
