#!/usr/bin/env python3
"""Compiles headers alone, without the precompiled header; each must include what it needs. Checks the headers that changed
since a revision or include a changed file, or all headers.

usage: check_headers.py [--all] [BASE]      see changed() of sources.py

A header that passed before, with the same content and the same includes, is not compiled again."""

import sys

import sources


def headers_to_check(changed, headers, root=sources.ROOT):
    """Returns the headers that changed or include a changed file, directly or not."""
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
