#!/bin/bash
# tools/mnist_accuracy.sh [DATA_DIR]: trains examples/mnist_tpuestimator.cc on all of MNIST (DATA_DIR/mnist/*.gz; ../shared/data
# unless told otherwise) with the command of its first lines, about five minutes on two cores, and exits 1 when it names
# less than 99 % of the 10,000 test digits rightly. Needs build/release/bin/mnist_tpuestimator.
set -uo pipefail
cd "$(dirname "$0")/.."
data=${1:-../shared/data}
program=build/release/bin/mnist_tpuestimator
[[ -x $program ]] || { echo "$program: not there; build its target first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command=$(sed -n 's|^//   \(mnist_tpuestimator --batch_size.*\)$|\1|p; s|^//       \(--.*\)$|\1|p' examples/mnist_tpuestimator.cc)
echo $command
# The command's words are the program's arguments.
"$program" ${command#mnist_tpuestimator} --data_dir="$data" --records_dir="$work/records" --model_dir="$work/model" |
  tee "$work/output" || exit 1
accuracy=$(sed -n 's/^accuracy \([0-9.]*\)% of 10000 test digits$/\1/p' "$work/output")
awk -v accuracy="${accuracy:-0}" 'BEGIN { exit accuracy >= 99 ? 0 : 1 }' ||
  { echo "accuracy, got ${accuracy:-none}, expected at least 99 %" >&2; exit 1; }
