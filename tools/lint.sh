#!/usr/bin/env bash
# Every check of `make lint`, the quick ones first; all of them run, so that one call shows all that is wrong.
# usage: tools/lint.sh [BASE]     BASE: the revision that clang-tidy compares with, see tools/run_tidy.py
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
for check in check_format check_layers check_sizes check_names check_docs check_headers; do
  python3 "tools/$check.py" || failed=1
done
python3 tools/run_tidy.py "$@" || failed=1
exit $failed
