#!/usr/bin/env bash
# Installs the npm packages of the browser tests, in the versions of their package-lock.json, in build/npm. Uses no network
# if they are there.
set -euo pipefail
cd "$(dirname "$0")/.."
from=apps/board/browser_tests to=build/npm
command -v npm >/dev/null || { echo "install-npm: npm is not installed; the browser tests are skipped" >&2; exit 1; }
if [ -d $to/node_modules ] && cmp -s $from/package-lock.json $to/package-lock.json; then exit 0; fi
rm -rf $to
mkdir -p $to
cp $from/package.json $from/package-lock.json $to
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd $to && timeout 300 npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1); then
  tail -n 10 "$log" >&2
  rm -rf $to
  echo "install-npm: npm could not install the packages (its output is above); the browser tests are skipped" >&2
  exit 1
fi
