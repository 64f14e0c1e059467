#!/usr/bin/env bash
# Compiles forms.inc and checks that the compiler says what its comments expect.   usage: run.sh COMPILER GENERATED-HEADERS
set -euo pipefail
compiler=$1 generated=$2
cd "$(dirname "$0")/../.."
if output=$("$compiler" -std=c++20 -fsyntax-only -x c++ -I . -I "$generated" tests/compile_errors/forms.inc 2>&1); then
  echo "forms.inc: got no error, expected one a line"
  exit 1
fi
status=0
while IFS=: read -r line text; do
  expected=${text#*// error: }
  # The compiler names the line ("required from here") and prints the assertion's text with " escaped or not.
  grep -qF -- "${expected//\"/}" <<<"$(tr -d '\\"' <<<"$output")" ||
    { echo "forms.inc:$line: got no such error, expected '$expected'"; status=1; }
  grep -q "forms\.inc:$line:" <<<"$output" || { echo "forms.inc:$line: got no error"; status=1; }
done < <(grep -n '// error: ' tests/compile_errors/forms.inc)
[ $status = 0 ] || { echo "$output" | grep -E 'error|required from here'; exit 1; }
echo "compile_errors: ok"
