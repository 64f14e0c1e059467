#!/bin/bash
# usage: testdata.sh SYSTOLE BACKEND [FOLDER]
# Runs StableHLO's own test data (openxla/stablehlo, stablehlo/testdata), wherever the environment variable
# SYSTOLE_STABLEHLO_TESTDATA or FOLDER says it is. Exit status 77, which ctest shows as skipped, where it is not.
folder=${SYSTOLE_STABLEHLO_TESTDATA:-$3}
if [[ ! -d $folder ]]; then
  echo "skipped: SYSTOLE_STABLEHLO_TESTDATA names no folder ('$folder')"
  exit 77
fi
"$1" hlo test --backend "$2" "$folder" | grep -v ': PASS$'
exit "${PIPESTATUS[0]}"
