#!/usr/bin/env python3
"""Compiles headers alone, without the precompiled header: each must include what it needs. Those are checked that changed
since a revision, or include what changed, or all of them.

usage: check_headers.py [--all] [BASE]      see changed() of sources.py

What passed before on the same content (of the header and of all it includes) is not compiled again."""

import sys

import sources


def headers_to_check(changed, headers, root=sources.ROOT):
    """The headers that are among the changed files or include one of them, however deep."""
    return [h for h in headers if not changed.isdisjoint(sources.closure(h, root))]


def command(group):
    return ["g++", "-fsyntax-only", "-x", "c++", *sources.FLAGS, "-include", *group, "/dev/null"]


def main():
    paths = sources.files(suffixes=(".h",))
    changed = sources.changed(sys.argv[1:])
    if changed is not None:
        paths = headers_to_check(changed, paths)
    problems = sources.run_cached("headers", paths, command, " ".join(command([])))
    sources.finish("headers", problems, len(paths))


if __name__ == "__main__":
    main()
