#!/bin/bash
# mnist_train.sh [program]: the row mpi.mnist.train. Runs of one and of two processes alternate, each process on a core of its own.
set -euo pipefail
program=${1:-build/release/bin/mpi_mnist_train}
run=$(dirname "$0")/../../tests/mpi/run.sh
export SYSTOLE_MPI_BIND=core SYSTOLE_LOG=warning
ratios=()
for _ in 1 2 3; do
  one=$("$run" 1 "$program")
  two=$("$run" 2 "$program")
  ratios+=("$(awk -v a="$one" -v b="$two" 'BEGIN { printf "%.2f %.0f %.0f\n", b / a, b, a }')")
done
median=$(printf '%s\n' "${ratios[@]}" | sort -n | sed -n 2p)
read -r ratio two one <<<"$median"
echo "mpi.mnist.train        $two images/s on 2 x 1 core, $ratio times 1 x 1 core ($one images/s)"
