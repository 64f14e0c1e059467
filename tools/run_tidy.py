#!/usr/bin/env python3
"""Runs clang-tidy (.clang-tidy says what for) on the sources that changed since a revision, or on all of them.

usage: run_tidy.py [--all] [BASE]      BASE: by default where this branch left origin/main, else the last commit's parent

A changed header is checked through the source of the same name. What passed before on the same content (of the file and of
all it includes) is not checked again."""

import subprocess
import sys

import sources


def git(*args):
    done = subprocess.run(["git", *args], cwd=sources.ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def default_base():
    """The revision to compare with, or "" when there is none: then everything is new."""
    head = git("rev-parse", "HEAD")
    left = git("merge-base", "HEAD", "origin/main")
    return left if left and left != head else git("rev-parse", "--verify", "-q", "HEAD~1")


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
    args = [a for a in sys.argv[1:] if a != "--all"]
    base = args[0] if args else default_base()
    if "--all" in sys.argv or not base:
        paths = sorted(known)
    else:
        changed = git("diff", "--name-only", base).splitlines()
        changed += git("ls-files", "-o", "--exclude-standard").splitlines()
        paths = sources_to_check(changed, known)
    salt = (sources.ROOT / ".clang-tidy").read_text() + git("--version") + " ".join(command(""))
    sources.finish("tidy", sources.run_cached("tidy", paths, command, salt), len(paths))


if __name__ == "__main__":
    main()
