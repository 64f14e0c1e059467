#!/usr/bin/env python3
"""Prints the slowest parts of a build and its tests: steps of make, compiled files, test executables, single tests.

usage: slowest.py BEGIN     parts count from BEGIN on, in seconds since 1970

It reads build/step_times (of timed.sh), the .ninja_log of each preset and build/release/ctest.log (of run-tests.sh)."""

import collections
import pathlib
import re
import sys

import sources

BUILD = sources.ROOT / "build"
PRESETS = ("release", "asan", "tsan")
ROWS = 8  # of each table
TEST = re.compile(r"^ *\d+/\d+ +Test +#\d+: (\S+) .*? ([\d.]+) sec", re.M)


def steps(text, begin):
    """The lines of build/step_times from `begin` on, as (seconds, name) in their order."""
    rows = [line.split(" ", 2) for line in text.splitlines()]
    return [(float(seconds), name) for start, seconds, name in rows if int(start) >= begin]


def edges(text):
    """The last run of each edge of a .ninja_log as (seconds, first output)."""
    runs = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            start, end, _, output, command = line.split("\t")
            runs[output] = ((int(end) - int(start)) / 1000, command)
    first = {}
    for output, (seconds, command) in runs.items():
        first.setdefault(command, (seconds, output))
    return list(first.values())


def built(preset, begin):
    """The edges of a preset whose output was written from `begin` on."""
    folder = BUILD / preset
    log = folder / ".ninja_log"
    found = edges(log.read_text()) if log.is_file() else []
    return [(seconds, f"{preset}: {output}") for seconds, output in found
            if (folder / output).is_file() and (folder / output).stat().st_mtime >= begin]


def tests(text):
    """The tests of a log of ctest as (seconds, name)."""
    return [(float(seconds), name) for name, seconds in TEST.findall(text)]


def by_executable(rows):
    """The sums of tests named executable:test."""
    sums = collections.Counter()
    for seconds, name in rows:
        sums[name.rpartition(":")[0] or name] += seconds
    return [(seconds, name) for name, seconds in sums.items()]


def table(title, rows):
    lines = [f"{seconds:9.1f}  {name}" for seconds, name in rows]
    return "\n".join([f"{title}, in seconds", *lines, ""]) if rows else ""


def slowest(rows):
    return sorted(rows, reverse=True)[:ROWS]


def read(path):
    return path.read_text(errors="replace") if path.is_file() else ""


def main():
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    begin = int(sys.argv[1])
    ran = tests(read(BUILD / "release" / "ctest.log"))
    print()
    print(table("steps", steps(read(BUILD / "step_times"), begin)))
    print(table("slowest files to compile or link", slowest(e for p in PRESETS for e in built(p, begin))))
    print(table("slowest test executables", slowest(by_executable(ran))))
    print(table("slowest tests", slowest(ran)))


if __name__ == "__main__":
    main()
