#!/usr/bin/env bash
# Installs the build to a new prefix, then builds and runs the first program of docs/first_steps.md against it with
# find_package(systole) and with pkg-config.   usage: run.sh CMAKE BUILD_FOLDER COMPILER
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
# The same program without CMake.
if command -v pkg-config >/dev/null; then
  # shellcheck disable=SC2046
  PKG_CONFIG_PATH="$work/prefix/lib/pkgconfig" bash -c '"$@" $(pkg-config --cflags --libs systole)' compile \
    "$compiler" -o "$work/first" "$work/first.cc"
  "$work/first" | grep -qE '^w = (2\.00|1\.99)., b = 1\.00.$' || { echo "pkg-config: expected w = 2, b = 1"; exit 1; }
fi
(cd "$work" && "$work/program/graph_file") | tee "$work/output"
grep -qxF 'f32[2] {9, 18}' "$work/output" || { echo "expected f32[2] {9, 18}"; exit 1; }
"$work/prefix/bin/systole" version

# docs/deploying.md names the package of every library that the programs link. (libc6 is on every Debian.)
if command -v dpkg-query >/dev/null && command -v readelf >/dev/null; then
  for program in "$work/program/first" "$work/prefix/bin/systole"; do
    readelf -d "$program" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | while read -r library; do
      package=$(dpkg-query -S "*/$library" 2>/dev/null | grep -v -e '^lib32' -e '^libx32' | head -n 1 | cut -d: -f1 || true)
      case $package in ''|libc6*|libgcc-s1) continue ;; esac
      grep -qw -- "$package" "$here/../../docs/deploying.md" ||
        { echo "docs/deploying.md: package of $library, got none, expected $package"; exit 1; }
    done
  done
fi
echo "install test: ok"
