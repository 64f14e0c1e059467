#!/bin/bash
# train.sh <program> <case>: trains with `mpi_train` on this machine's processes and compares checkpoints. Exits with 77,
# "skipped", where mpirun, our library or the data are missing.
set -euo pipefail
program=$1
run=$(dirname "$0")/run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# mpi <ranks> <argument>...
mpi() { "$run" "$1" "$program" "${@:2}" || { rc=$?; [ $rc != 77 ] || exit 77; return $rc; }; }
equal() { "$program" compare "$work/$1" "$work/$2"; }
fail() { echo "FAILED: $*"; exit 1; }
# expect_error <text>: the output of the last run has it.
expect_error() { grep -q -- "$1" "$work/log" || { cat "$work/log"; fail "expected '$1'"; }; }

case $2 in
equal)  # 1 x 8, 2 x 4 and 4 x 2; an input_fn for each host, and one for each core
  mpi 1 train --dir "$work/1x8" --cores 8
  mpi 2 train --dir "$work/2x4" --cores 4
  equal 1x8 2x4
  mpi 2 train --dir "$work/2x4s" --cores 4 --input shard
  equal 1x8 2x4s
  mpi 4 train --dir "$work/4x2" --cores 2
  equal 1x8 4x2
  ;;
odd)  # numbers of cores that are no power of two
  mpi 1 train --dir "$work/1x6" --cores 6 --batch 36
  mpi 2 train --dir "$work/2x3" --cores 3 --batch 36
  equal 1x6 2x3
  mpi 3 train --dir "$work/3x2" --cores 2 --batch 36
  equal 1x6 3x2
  ;;
mnist)
  mpi 1 train --model mnist --dir "$work/1x4" --cores 4 --steps 3
  mpi 2 train --model mnist --dir "$work/2x2" --cores 2 --steps 3
  equal 1x4 2x2
  ;;
keras)  # model_to_estimator
  mpi 1 train --model keras --dir "$work/1x8" --cores 8
  mpi 2 train --model keras --dir "$work/2x4" --cores 4
  equal 1x8 2x4
  ;;
keras_fit)  # fit() and evaluate(), with shuffling, dropout, statistics of batches and short batches
  for shape in "1 8" "2 4" "4 2"; do
    set -- $shape
    mpi "$1" fit --dir "$work/$1x$2" --cores "$2" | grep epochs >"$work/$1x$2.out"
    cmp "$work/1x8.out" "$work/$1x$2.out" || { cat "$work"/*.out; fail "$1 x $2 differs"; }
    equal 1x8/weights "$1x$2/weights"
  done
  ;;
killed)  # continued on 2 and on 1 process, both as if nothing had happened
  mpi 2 train --dir "$work/whole" --cores 4
  if mpi 2 train --dir "$work/killed" --cores 4 --kill_at 20 >"$work/log" 2>&1; then fail "rank 1 was killed"; fi
  expect_error "signal 9"
  cp -r "$work/killed" "$work/alone"
  mpi 2 train --dir "$work/killed" --cores 4
  equal whole killed
  mpi 1 train --dir "$work/alone" --cores 8
  equal whole alone
  ;;
hung)
  export SYSTOLE_MPI_TIMEOUT_SECS=2
  rc=0
  mpi 2 train --dir "$work/hung" --cores 4 --hang_at 20 >"$work/log" 2>&1 || rc=$?
  expect_error "DEADLINE_EXCEEDED"
  [ $rc = 75 ] || { cat "$work/log"; fail "exit code $rc, expected 75"; }
  ;;
hung_first)  # where the others wait for up to ten minutes
  export SYSTOLE_MPI_TIMEOUT_SECS=3
  rc=0
  timeout 60 "$run" 2 "$program" train --dir "$work/hung" --cores 4 --hang_first >"$work/log" 2>&1 || rc=$?
  [ $rc != 77 ] || exit 77
  expect_error "rank 1 of 2 was not heard of"
  [ $rc = 75 ] || { cat "$work/log"; fail "exit code $rc, expected 75"; }
  ;;
slow)  # longer than the timeout, but alive
  SYSTOLE_MPI_TIMEOUT_SECS=3 mpi 2 train --dir "$work/slow" --cores 4 --steps 4 --slow_secs 6
  ;;
different)
  if mpi 2 train --dir "$work/different" --cores 4 --other_rate 0.07 >"$work/log" 2>&1; then
    fail "the programs differ"
  fi
  expect_error "expected the same on all 2 processes"
  [ ! -e "$work/different/model.ckpt-8.index" ] || fail "steps were run"
  ;;
evaluate)
  mpi 1 train --dir "$work/model" --cores 8
  mpi 1 evaluate --dir "$work/model" --cores 8 | grep examples >"$work/1x8"
  mpi 2 evaluate --dir "$work/model" --cores 4 | grep examples >"$work/2x4"
  "$program" evaluate --dir "$work/model" --cores 8 | grep examples >"$work/alone"
  cat "$work/1x8"
  cmp "$work/1x8" "$work/2x4" || { cat "$work/2x4"; fail "2 x 4 differs"; }
  mpi 2 train_and_evaluate --dir "$work/both" --cores 4 | grep examples >"$work/2x4both"
  cmp "$work/1x8" "$work/2x4both" || { cat "$work/2x4both"; fail "train_and_evaluate differs"; }
  cmp "$work/1x8" "$work/alone" || { cat "$work/alone"; fail "without mpirun differs"; }
  ;;
yaml)  # `systole train` splits the examples of its file and reports once; launches are as long as each process finds good
  config="examples/configs/iris.yaml --steps 20 --set run_config.tpu_config.num_shards=8"
  # A batch that 8 replicas share.
  config="$config --set estimator.train_batch_size=48 --set estimator.eval_batch_size=48"
  systole=$(dirname "$program")/systole
  yaml() { "$run" "$1" "$systole" train $config --set "run_config.master=local:$2" --model_dir "$work/$1x$2" >"$work/$1x$2.out" 2>"$work/log" ||
    { rc=$?; [ $rc != 77 ] || exit 77; cat "$work/log"; return $rc; }; }
  yaml 1 8
  yaml 2 4
  equal 1x8 2x4
  grep -q "examples = 50" "$work/1x8.out" || fail "no evaluation"
  sed "s/1x8/2x4/g" "$work/1x8.out" | cmp - "$work/2x4.out" || { cat "$work"/*.out; fail "the report of 2 x 4 differs"; }
  ;;
yaml_stopped)  # a signal to one process ends all, with the exit code that asks for another start
  bin=$(cd "$(dirname "$program")" && pwd)
  mkdir "$work/bin"
  ln -s "$bin/../lib" "$work/lib"  # run.sh looks beside the program's folder
  cat >"$work/bin/rank" <<END
#!/bin/sh
"$bin/systole" train examples/configs/iris.yaml --model_dir "$work/stopped" --steps 200000000 \\
  --set run_config.master=local:4 --set estimator.train_batch_size=48 & job=\$!
if [ "\$OMPI_COMM_WORLD_RANK" = 0 ]; then
  for try in \$(seq 300); do ls "$work"/stopped/events* >/dev/null 2>&1 && break; sleep 0.1; done
  sleep 1
  kill -TERM \$job
fi
wait \$job
END
  chmod +x "$work/bin/rank"
  rc=0
  "$run" 2 "$work/bin/rank" >"$work/log" 2>&1 || rc=$?
  [ $rc != 77 ] || exit 77
  [ $rc = 75 ] || { cat "$work/log"; fail "exit code $rc, expected 75"; }
  [ "$(grep -c "run the same command to continue" "$work/log")" = 1 ] || { cat "$work/log"; fail "expected one report"; }
  ;;
*) fail "no case '$2'" ;;
esac
