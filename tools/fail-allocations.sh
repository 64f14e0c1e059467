#!/usr/bin/env bash
# Runs each fuzz target of the release build on its seeds while allocations fail: the n-th, for each n up to
# SYSTOLE_FAILING_ALLOCATIONS. Prints one line per target and fails if one of them crashes, leaks or throws something else.
# usage: tools/fail-allocations.sh
set -uo pipefail
cd "$(dirname "$0")/.."
compgen -G 'build/release/bin/fuzz_*' >/dev/null || { echo "build/release/bin: fuzz targets, got none; make out-of-memory builds them" >&2; exit 1; }

fail_allocations() {  # fail_allocations PROGRAM
  local name=${1##*/fuzz_} output
  output=$("$1" --fail-allocations 3 "tests/fuzz/seeds/$name" 2>&1)
  local status=$?
  [ $status -eq 2 ] && return 0  # a target of a library that is not written for it
  if [ $status -eq 0 ]; then
    printf '%-20s %9d runs with a failed allocation, nothing found\n' "$name" "$(awk '{ runs += $3 } END { print runs }' <<<"$output")"
  else
    printf '%-20s FAILED\n%s\n' "$name" "$(tail -n 20 <<<"$output")"
    return 1
  fi
}
export -f fail_allocations
printf '%s\0' build/release/bin/fuzz_* | xargs -0 -n 1 -P "$(nproc)" bash -c 'fail_allocations "$1"' _ || exit 1
