#!/bin/bash
# slurm_loop.sh: runs the script for Slurm of docs/clusters.md with an `srun` that ends as it is told.
set -euo pipefail
page=$(dirname "$0")/../../docs/clusters.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

# The indented block that begins with its first line.
sed -n '/^    #!\/bin\/bash/,/^$/p' "$page" | sed 's/^    //' >"$work/job.sh"
grep -q 'for try in' "$work/job.sh" || fail "no script in $page"
mkdir "$work/bin"
# Ends with the next code of the file `codes`; with `wait`, after SIGTERM, with 75.
cat >"$work/bin/srun" <<END
#!/bin/bash
echo run >>"$work/runs"
code=\$(head -n 1 "$work/codes"); sed -i 1d "$work/codes"
[ "\$code" = wait ] || exit \$code
trap 'exit 75' TERM
touch "$work/waits"
while true; do sleep 0.05; done
END
printf '#!/bin/bash\necho "$@" >>"%s"\n' "$work/requeued" >"$work/bin/scontrol"
chmod +x "$work"/bin/*
export PATH="$work/bin:$PATH" SLURM_JOB_ID=7

# expect <exit code> <runs> <code of each run>...
expect() {
  printf '%s\n' "${@:3}" >"$work/codes"
  rm -f "$work/runs"
  local code=0
  bash "$work/job.sh" >/dev/null 2>&1 || code=$?
  [ $code = "$1" ] || fail "exit code $code, expected $1 after ${*:3}"
  [ "$(wc -l <"$work/runs")" = "$2" ] || fail "$(wc -l <"$work/runs") runs, expected $2 after ${*:3}"
}
expect 0 3 75 137 0
expect 1 1 1
expect 2 2 75 2
expect 75 5 75 75 75 75 75
[ ! -e "$work/requeued" ] || fail "requeued without a signal"

echo wait >"$work/codes"
bash "$work/job.sh" >/dev/null 2>&1 & job=$!
for try in $(seq 200); do [ ! -e "$work/waits" ] || break; sleep 0.05; done
kill -TERM $job
code=0
wait $job || code=$?
[ $code = 0 ] || fail "exit code $code after SIGTERM"
[ "$(cat "$work/requeued")" = "requeue 7" ] || fail "not requeued"
echo "the script starts again what may go on, and nothing else"
