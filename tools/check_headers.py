#!/usr/bin/env python3
"""Compiles every header alone, without the precompiled header: each must include what it needs. What passed before on
the same content is not compiled again. `check_headers.py FILE...` checks only those."""

import sys

import sources


def command(path):
    return ["g++", "-fsyntax-only", "-x", "c++", *sources.FLAGS, "-include", path, "/dev/null"]


def main():
    paths = sys.argv[1:] or sources.files(suffixes=(".h",))
    problems = sources.run_cached("headers", paths, command, " ".join(command("")))
    sources.finish("headers", problems, len(paths))


if __name__ == "__main__":
    main()
