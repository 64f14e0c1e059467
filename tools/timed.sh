#!/usr/bin/env bash
# Runs a command, appends a line "START SECONDS NAME" to build/step_times and exits with the command's status.
# usage: timed.sh NAME COMMAND [ARG...]
set -u
steps=$(cd "$(dirname "$0")/.." && pwd)/build/step_times
name=$1
shift
start=$(date +%s)
"$@"
status=$?
mkdir -p "${steps%/*}"
echo "$start $SECONDS $name" >>"$steps"
exit $status
