#!/usr/bin/env python3
"""Checks the format of every C++ file with clang-format and .clang-format; --fix rewrites the files."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import sources


def main():
    fix = "--fix" in sys.argv
    paths = sources.files()
    mode = ["-i"] if fix else ["--dry-run", "--Werror"]
    chunks = [paths[i::os.cpu_count()] for i in range(os.cpu_count())]

    def run(chunk):
        if not chunk:
            return ""
        done = subprocess.run(["clang-format", *mode, *chunk], cwd=sources.ROOT, capture_output=True, text=True)
        return done.stderr

    with ThreadPoolExecutor() as pool:
        output = "".join(pool.map(run, chunks))
    bad = sorted({line.split(":")[0] for line in output.splitlines() if "[-Wclang-format-violations]" in line})
    problems = [f"{path}: not formatted; `make format` formats it" for path in bad]
    if output and not bad:
        problems = [output.strip()]
    sources.finish("format", problems, len(paths))


if __name__ == "__main__":
    main()
