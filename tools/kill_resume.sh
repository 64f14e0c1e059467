#!/bin/bash
# Kills a training run with SIGKILL at a random time, resumes it to its end, and compares its last checkpoint byte for byte
# with that of an undisturbed run. Every third round also kills the resumed run. Exits 1 at the first difference.
# Needs build/release/bin/iris_tpuestimator.   usage: kill_resume.sh [ROUNDS]   (default 100)
set -u
cd "$(dirname "$0")/.."
rounds=${1:-100}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "rounds, got '$rounds', expected a number above 0" >&2; exit 2; }
program=build/release/bin/iris_tpuestimator
steps=1000
[[ -x $program ]] || { echo "$program: not found; build its target first" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# With a code cache most of a run is training, and some kills hit a write to the cache.
export SYSTOLE_CACHE_DIR=$work/cache
mkdir "$SYSTOLE_CACHE_DIR"

train() {  # train FOLDER: starts training in the background; $! is its process id
  "$program" --model_dir="$1" --train_steps=$steps --save_checkpoints_steps=20 --iterations=10 >>"$1.log" 2>&1 &
}
finish() {  # finish FOLDER: trains to the end
  train "$1"
  wait $! || { echo "round $round: a resumed run failed:" >&2; tail -20 "$1.log" >&2; exit 1; }
}
kill_after() {  # kill_after FOLDER MILLISECONDS: trains and kills; counts runs that had not ended
  train "$1"
  local process=$!
  sleep "$(printf '%d.%03d' $(($2 / 1000)) $(($2 % 1000)))"
  kill -9 $process 2>/dev/null && kills=$((kills + 1))
  wait $process 2>/dev/null
}

round=0 kills=0
finish "$work/first"  # fills the cache
begin=$(date +%s%N)
finish "$work/whole"
milliseconds=$((($(date +%s%N) - begin) / 1000000))
for ((round = 1; round <= rounds; ++round)); do
  folder=$work/round
  rm -rf "$folder" "$folder.log"
  kill_after "$folder" $(((RANDOM * 32768 + RANDOM) % milliseconds))
  if ((round % 3 == 0)); then kill_after "$folder" $(((RANDOM * 32768 + RANDOM) % milliseconds)); fi
  finish "$folder"
  for part in index data-00000-of-00001 systole; do
    cmp "$work/whole/model.ckpt-$steps.$part" "$folder/model.ckpt-$steps.$part" || {
      echo "round $round: the checkpoint of a killed run differs" >&2
      cat "$folder.log" >&2
      exit 1
    }
  done
done
echo "$rounds rounds, $kills kills within runs of $milliseconds ms: every resumed run ended with the same bytes"
