#!/usr/bin/env bash
# Runs every check of `make lint`, the fast ones first. A failed check does not stop the others.
# usage: tools/lint.sh [--all | BASE]     compilers check files changed since the revision BASE, or all files
set -uo pipefail
case ${1-} in -h | --help) sed -n 's/^# //p' "$0"; exit ;; esac
cd "$(dirname "$0")/.."
failed=0
for check in check_format check_layers check_sizes check_names check_docs; do
  python3 "tools/$check.py" || failed=1
done
for compiler in check_headers run_tidy; do
  python3 "tools/$compiler.py" "$@" || failed=1
done
exit $failed
