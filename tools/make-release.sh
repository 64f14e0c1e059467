#!/usr/bin/env bash
# Collects what a version publishes in FOLDER: the source archive of the commit, the Debian packages and the wheel that are built, the notes of
# CHANGELOG.md and the checksums.   usage: tools/make-release.sh BUILD-FOLDER WHEEL-FOLDER FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1 wheels=$2 to=$3
version=$(sed -n 's/^project(systole VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
for file in pyproject.toml python/systole_tpu/__init__.py; do
  grep -qE "^(__)?version(__)? = \"$version\"$" "$file" || { echo "make-release: version of $file, expected $version, that of CMakeLists.txt" >&2; exit 1; }
done
rm -rf "$to"
mkdir -p "$to"
[ -z "$(git status --porcelain)" ] || echo "make-release: the source archive is that of the last commit; changes since then are not in it" >&2
git archive --format=tar.gz --prefix="systole-$version/" -o "$to/systole-$version.tar.gz" HEAD
cp "$build"/packages/*_"$version"_*.deb "$wheels"/systole_tpu-"$version"-*.whl "$to"
# The section of the version, or of what comes next.
notes() { awk -v title="$1" '/^## / { inside = index($0, "## " title) == 1; next } inside' CHANGELOG.md; }
{ echo "# Systole $version"; notes "$version" | grep . || notes Unreleased; } >"$to/NOTES.md"
(cd "$to" && sha256sum -- * >SHA256SUMS)
ls -l "$to"
