#!/usr/bin/env bash
# Copies, lists, reads and removes files with servers that others wrote: s3rver, and the storage emulator of firebase-tools.
# usage: second_opinions.sh SYSTOLE s3|gs      exits with 77 if the npm package is not installed
# The packages are looked for in $SYSTOLE_NPM_PACKAGES (a folder node_modules) and in npm's global folder.
set -euo pipefail
systole=$1
service=$2
here=$(cd "$(dirname "$0")" && pwd)

case $service in s3) package=s3rver ;; gs) package=firebase-tools ;; *) echo "expected s3 or gs" >&2; exit 2 ;; esac
command -v node >/dev/null || { echo "skipped: node is not installed"; exit 77; }
packages=
for folder in "${SYSTOLE_NPM_PACKAGES-}" "$(npm root -g 2>/dev/null || true)"; do
  [ -n "$folder" ] && [ -d "$folder/$package" ] && packages=$folder && break
done
[ -n "$packages" ] || { echo "skipped: the npm package $package is not installed"; exit 77; }

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

if [ "$service" = s3 ]; then
  # Old hashes are needed for the pages of its lists.
  NODE_OPTIONS=--openssl-legacy-provider node -e '
    const S3rver = require(process.argv[1] + "/s3rver");
    new S3rver({ address: "127.0.0.1", port: 0, silent: true, directory: process.argv[2],
                 configureBuckets: [{ name: "bucket" }] })
      .run().then((address) => console.log(address.port));' "$packages" "$work/s3" >"$work/port" 2>"$work/log" &
  server=$!
  export AWS_ACCESS_KEY_ID=S3RVER AWS_SECRET_ACCESS_KEY=S3RVER
else
  node "$here/firebase_storage.js" "$packages" >"$work/port" 2>"$work/log" &
  server=$!
fi
for _ in $(seq 300); do [ -s "$work/port" ] && break; sleep 0.1; done
port=$(tail -n 1 "$work/port")
[ -n "$port" ] || { echo "the server did not start:"; cat "$work/log"; exit 1; }
if [ "$service" = s3 ]; then
  export AWS_ENDPOINT_URL_S3=http://127.0.0.1:$port
else
  export STORAGE_EMULATOR_HOST=127.0.0.1:$port
fi
root=$service://bucket

fail() { echo "$service: $1"; exit 1; }
mkdir "$work/in"
printf 'alpha\n' >"$work/in/a.txt"
head -c 3000000 /dev/urandom >"$work/in/b c+d.bin"
: >"$work/in/empty"
mkdir "$work/in/many"
for i in $(seq 25); do echo "$i" >"$work/in/many/$i"; done

"$systole" files cp -r "$work/in" "$root/up/" 2>/dev/null
[ "$("$systole" files ls "$root/up/in" | tr '\n' ' ')" = "a.txt b c+d.bin empty many " ] || fail "ls"
[ "$("$systole" files ls "$root/up/in/many" | wc -l)" = 25 ] || fail "ls of many"
[ "$("$systole" files cat "$root/up/in/a.txt")" = alpha ] || fail "cat"
"$systole" files cp -r "$root/up/in" "$work/out" 2>/dev/null
diff -r "$work/in" "$work/out" || fail "cp"
if [ "$service" = s3 ]; then
  # A multipart upload. The emulator of gs:// ends a resumable upload at its first part.
  head -c 20000000 /dev/urandom >"$work/large"
  "$systole" files cp "$work/large" "$root/large" 2>/dev/null
  "$systole" files cat "$root/large" | cmp - "$work/large" || fail "multipart upload"
fi
"$systole" files rm "$root/up/in/a.txt"
"$systole" files cat "$root/up/in/a.txt" 2>"$work/error" && fail "read after rm"
grep -q NOT_FOUND "$work/error" || fail "the error of a missing file"
"$systole" files rm -r "$root/up"
"$systole" files ls "$root/up" 2>"$work/error" && fail "ls after rm -r"
echo "$service: ok"
