#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy says what for) on the sources that changed since a revision, or on all of them.

usage: run_tidy.py [--all] [BASE]      see changed() of sources.py

A changed header is checked through the source of the same name. What passed before on the same content (of the file and of
all it includes) is not checked again."""

import sys

import sources


def sources_to_check(changed, known):
    """The .cc files to check for a set of changed files."""
    found = {p for p in changed if p.endswith(".cc") and p in known}
    for header in (p for p in changed if p.endswith(".h")):
        candidates = [header[:-2] + ".cc", header[:-2] + "_test.cc"]
        found.update([p for p in candidates if p in known][:1])
    return sorted(found)


def command(path):
    flags = ["-xc++", *sources.FLAGS, "-isystem", str(sources.ROOT / "tools" / "clang14")]
    return ["clang-tidy", "--quiet", path, "--", *flags]


def main():
    known = set(sources.files(suffixes=(".cc",)))
    changed = sources.changed(sys.argv[1:])
    paths = sorted(known) if changed is None else sources_to_check(changed, known)
    salt = (sources.ROOT / ".clang-tidy").read_text() + sources.git("--version") + " ".join(command(""))
    sources.finish("tidy", sources.run_cached("tidy", paths, command, salt), len(paths))


if __name__ == "__main__":
    main()
