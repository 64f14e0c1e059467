#!/usr/bin/env bash
# Runs ctest in build/release and prints the slowest parts of the build and the tests. ctest's summary comes last.
# usage: run-tests.sh [CTEST_OPTION...]
# BEGIN in the environment is the time in seconds since 1970 from which parts count; it defaults to now.
set -u
cd "$(dirname "$0")/.."
export BEGIN=${BEGIN-$(date +%s)}
log=$PWD/build/release/ctest.log
rm -f "$log"
(cd build/release && ../../tools/timed.sh tests ctest --output-on-failure --progress --output-log "$log" "$@")
status=$?
python3 tools/slowest.py "$BEGIN"
sed -n '/^[0-9]*% tests passed/,$p' "$log"
exit $status
