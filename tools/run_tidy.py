#!/usr/bin/env python3
"""Runs clang-tidy with .clang-tidy on the sources that changed since a revision, or on all sources.

usage: run_tidy.py [--all] [BASE]      see changed() of sources.py

A changed header is checked through the source of the same name. A file that passed before, with the same content and the same
includes, is not checked again. Headers of libraries take most of the time, so clang-tidy gets many files of a layer at once."""

import hashlib
import shutil
import subprocess
import sys

import check_layers
import check_names
import sources

GROUP = 24  # files, at most
TOGETHER = sources.CACHE / "together"


def sources_to_check(changed, known):
    """Returns the .cc files to check for a set of changed files."""
    found = {p for p in changed if p.endswith(".cc") and p in known}
    for header in (p for p in changed if p.endswith(".h")):
        candidates = [header[:-2] + ".cc", header[:-2] + "_test.cc"]
        found.update([p for p in candidates if p in known][:1])
    return sorted(found)


def groups_of(paths, texts, table):
    """Groups the files of a layer, and its tests, so that unnamed namespaces in a group share no name."""
    groups = {}  # layer and kind -> list of (files, their names)
    for path in paths:
        kind = (check_layers.layer_of(path, table), path.endswith("_test.cc") or "/testing/" in path)
        names = check_names.unnamed(texts[path])
        open_groups = groups.setdefault(kind, [])
        fitting = next((g for g in open_groups if len(g[0]) < GROUP and g[1].isdisjoint(names)), None)
        if fitting is None:
            fitting = ([], set())
            open_groups.append(fitting)
        fitting[0].append(path)
        fitting[1].update(names)
    return [files for of_kind in groups.values() for files, _ in of_kind]


def grouped(paths):
    table = check_layers.parse_table((sources.ROOT / "tools" / "layers.txt").read_text())
    return groups_of(paths, {p: (sources.ROOT / p).read_text() for p in paths}, table)


def mpi_flags(group):
    """Returns the folder of mpi.h as a flag if the group needs it. It is not in /usr/include."""
    if not any("/mpi/" in path for path in group):
        return []
    found = subprocess.run(["pkg-config", "--variable=includedir", "ompi"], capture_output=True, text=True)
    return ["-isystem", found.stdout.strip()] if found.returncode == 0 else []


def command(group):
    """Returns the command line. For several files, it names a file that includes them."""
    path = "".join(group[:1])
    if len(group) > 1:
        text = "".join(f'#include "{name}"  // NOLINT(bugprone-suspicious-include)\n' for name in group)
        together = TOGETHER / (hashlib.sha256(text.encode()).hexdigest() + ".cc")
        together.write_text(text)
        path = str(together)
    # The inline assembly of profile/prediction/machine.cc has 512-bit operands, which clang accepts only with AVX-512 enabled.
    return ["clang-tidy", "--quiet", path, "--", "-xc++", *sources.FLAGS, "-Wthread-safety", "-mavx512f", "-isystem",
            str(sources.ROOT / "tools" / "clang14"), *mpi_flags(group)]


def main():
    known = set(sources.files(suffixes=(".cc",)))
    changed = sources.changed(sys.argv[1:])
    paths = sorted(known) if changed is None else sources_to_check(changed, known)
    salt = (sources.ROOT / ".clang-tidy").read_text() + " ".join(command([]))
    TOGETHER.mkdir(parents=True, exist_ok=True)
    problems = sources.run_cached("tidy", paths, command, salt, grouped)
    shutil.rmtree(TOGETHER)
    sources.finish("tidy", problems, len(paths))


if __name__ == "__main__":
    main()
