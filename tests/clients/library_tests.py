"""Runs the tests of Keras 3, Optax and Flax on the plugin, and those that do not pass on JAX's CPU, too.

The counts are those of jax_tests.py. The tests of a folder run in a process of their own.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from jax_tests import Row, Run, compare, read_run, run_both, write_part, write_results

TITLE = "# The tests of Keras 3, Optax and Flax"


@dataclass
class Library:
    """Where the tests of a library are in its repository."""

    folders: list[str]
    environment: dict[str, str] = field(default_factory=dict)


LIBRARIES = {
    "keras": Library(["keras/src/ops", "keras/src/layers"], {"KERAS_BACKEND": "jax"}),
    "optax": Library(["optax"]),
    "flax": Library(["tests"]),
}


def files_of(library: Library, top: Path, pattern: str) -> dict[str, list[str]]:
    """Returns by folder the files of tests."""
    files: dict[str, list[str]] = {}
    for folder in library.folders:
        for file in sorted((top / folder).rglob("*_test.py")):
            relative = file.relative_to(top)
            if pattern in str(relative):
                files.setdefault(str(relative.parent), []).append(str(relative))
    return files


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("library", type=Path, help="libsystole_pjrt.so")
    p.add_argument("repositories", nargs="+", help="keras=DIR, optax=DIR, flax=DIR: at the tags of what is installed")
    p.add_argument("--only", default="", help="only files with this in their path")
    p.add_argument("--limit", type=int, default=100, help="the most tests of a folder (default: %(default)s)")
    p.add_argument("--test-seconds", type=float, default=120, help="the most for a test (default: %(default)s)")
    p.add_argument("--file-seconds", type=float, default=3600, help="the most for a folder (default: %(default)s)")
    p.add_argument("--table", type=Path, help="the file that the table is written to; default: printed")
    p.add_argument("--keep", type=Path, help="a folder for the records and the output of the tests")
    p.add_argument("--read", type=Path, help="runs nothing: makes the table of the records in this folder")
    a = p.parse_args(namespace=argparse.Namespace(cores=1, cases=3))
    for repository in a.repositories:
        name, _, folder = repository.partition("=")
        if name not in LIBRARIES or not Path(folder).is_dir():
            p.error(f"repository, got {repository}, expected {'=DIR, '.join(LIBRARIES)}=DIR")
    return a


def run_library(
    name: str, top: Path, a: argparse.Namespace, folder: Path, rows: list[Row], runs: dict[str, Run]
) -> None:
    library = LIBRARIES[name]
    # The library of the repository, which the tests are of.
    environment = library.environment | {"KERAS_HOME": str(folder / "keras_home")}
    settings = argparse.Namespace(**vars(a) | {"tests": top, "environment": environment})
    for part, files in files_of(library, top, a.only).items():
        title, record = f"{name}: {part}", f"{name}-{part.replace(os.sep, '-')}"
        if a.read:
            here, cpu = (read_run(record, platform, a.read) for platform in ("systole", "cpu"))
            row = compare(title, here, cpu)
        else:
            here, row = run_both(title, record, files, settings, folder)
        rows.append(row)
        runs[title] = here
        counts = f"passed {len(row.passed)}, failed {len(row.failed)}, skipped {len(row.skipped)}"
        print(f"{title}: {counts} of {row.tests} {row.error}", flush=True)


def main() -> int:
    a = parse()
    rows: list[Row] = []
    runs: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = (a.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for repository in a.repositories:
            name, _, top = repository.partition("=")
            run_library(name, Path(top).resolve(), a, folder, rows, runs)
    names = [repository.partition("=")[0] for repository in a.repositories]
    versions = ", ".join(f"{n} {metadata.version(n)}" for n in (*names, "jax", "jaxlib"))
    text = io.StringIO()
    print(f"{TITLE}\n", file=text)
    print(
        f"`make library-tests KERAS=DIR OPTAX=DIR FLAX=DIR` wrote this part on {time.strftime('%Y-%m-%d')}: {versions},"
        f" 1 device, at most {a.limit} tests of a folder, chosen by hash.\n",
        file=text,
    )
    write_results(rows, runs, text)
    if a.table:
        write_part(a.table, text.getvalue())
    else:
        print(text.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
