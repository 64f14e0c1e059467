#!/bin/bash
# Trains examples/mnist_tpuestimator.cc on all of MNIST (DATA_DIR/mnist/*.gz) with the command in its first lines. Takes about
# five minutes on two cores. Exits 1 if the accuracy on the 10,000 test images is below 99 %.
# Needs build/release/bin/mnist_tpuestimator.   usage: mnist_accuracy.sh [DATA_DIR]   (default ../shared/data)
set -uo pipefail
cd "$(dirname "$0")/.."
data=${1:-../shared/data}
program=build/release/bin/mnist_tpuestimator
[[ -x $program ]] || { echo "$program: not there; build its target first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command=$(sed -n 's|^//   \(mnist_tpuestimator --batch_size.*\)$|\1|p; s|^//       \(--.*\)$|\1|p' examples/mnist_tpuestimator.cc)
echo $command
# The words of the command are the arguments of the program.
"$program" ${command#mnist_tpuestimator} --data_dir="$data" --records_dir="$work/records" --model_dir="$work/model" |
  tee "$work/output" || exit 1
accuracy=$(sed -n 's/^accuracy \([0-9.]*\)% of 10000 test digits$/\1/p' "$work/output")
awk -v accuracy="${accuracy:-0}" 'BEGIN { exit accuracy >= 99 ? 0 : 1 }' ||
  { echo "accuracy, got ${accuracy:-none}, expected at least 99 %" >&2; exit 1; }
