#!/usr/bin/env bash
# Runs every fuzzer of build/fuzz for SECONDS each, one a processor, starting from its seeds. New inputs are kept in build/fuzz/corpus.
# Prints one line per fuzzer and fails if one of them found an error.
# usage: tools/run-fuzzers.sh [SECONDS]
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "seconds, got '$seconds', expected a number above 0" >&2; exit 2; }
compgen -G 'build/fuzz/bin/fuzz_*' >/dev/null || { echo "build/fuzz/bin: fuzzers, got none; make fuzz builds them" >&2; exit 1; }

fuzz() {  # fuzz PROGRAM
  local name=${1##*/fuzz_}
  local corpus=build/fuzz/corpus/$name log=build/fuzz/$name.log
  mkdir -p "$corpus"
  if "$1" "$corpus" "tests/fuzz/seeds/$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 \
      -artifact_prefix="build/fuzz/$name." >"$log" 2>&1; then
    local runs
    runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    printf '%-20s %12s executions in %s s, nothing found\n' "$name" "${runs:-0}" "$seconds"
  else
    printf '%-20s FAILED: %s\n%s\n' "$name" "$log" "$(tail -n 5 "$log")"
    return 1
  fi
}
export -f fuzz
export seconds
printf '%s\0' build/fuzz/bin/fuzz_* | xargs -0 -n 1 -P "${FUZZ_JOBS:-$(nproc)}" bash -c 'fuzz "$1"' _ || exit 1
