#!/usr/bin/env python3
"""Asks the installed libtpu for its verdicts on probes.txt and compares them with those recorded there.

usage: measure.py SYSTOLE [--only TEXT]    exits with 77 where no libtpu is installed
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HEAD = "// ==== "


def read_probes(text):
    """Yields (name, verdict, program)."""
    for part in text.split(HEAD)[1:]:
        head, _, program = part.partition("\n")
        name, verdict = head.split()
        yield name, verdict, program


def ask(systole, program, folder):
    """Returns libtpu's verdict; None where it is not installed."""
    path = pathlib.Path(folder) / "probe.mlir"
    path.write_text(program)
    command = [systole, "check", path, "--compile", "v2-8", "--json", "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True)
    if not run.stdout:
        return None if "pip install" in run.stderr else f"error: {run.stderr.strip()}"
    return json.loads(run.stdout)["compiler"]["verdict"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systole")
    parser.add_argument("--only", default="", help="probes whose names contain this text")
    options = parser.parse_args()
    text = (pathlib.Path(__file__).parent / "probes.txt").read_text()
    probes = [probe for probe in read_probes(text) if options.only in probe[0]]
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, recorded, program in probes:
            if "replica_groups" in program or "source_target_pairs" in program or "replica_id" in program:
                program = program.replace("module @m {", "module @m attributes {mhlo.num_replicas = 8 : i32} {")
            verdict = ask(options.systole, program, folder)
            if verdict is None:
                print("skipped: libtpu is not installed")
                return 77
            if verdict != recorded:
                different += 1
                print(f"{name}: got {verdict}, recorded {recorded}", flush=True)
    print(f"{len(probes)} probes, {different} different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
