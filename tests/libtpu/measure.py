#!/usr/bin/env python3
"""Asks the installed libtpu again for what is recorded of it.

That is the verdicts on probes.txt, and verdict, bytes and cycles of the training steps in steps.csv.

usage: measure.py SYSTOLE [--only TEXT] [--system TPU] [--record] [--missing]

Exits with 77 where no libtpu is installed.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HEAD = "// ==== "
HERE = pathlib.Path(__file__).parent
STEPS = HERE / "steps.csv"
COLUMNS = ("step", "system", "verdict", "bytes", "cycles", "set")
# Recorded figures may be rounded to three digits.
CLOSE = 0.01


class NotInstalled(Exception):
    pass


def read_programs(archive):
    """The programs of an archive by name."""
    with tarfile.open(HERE / archive) as members:
        return {m.name.removesuffix(".mlir"): members.extractfile(m).read().decode() for m in members}


def read_probes(text):
    """Yields (name, verdict, program); those without a program are JAX's."""
    archived = read_programs("jax_probes.tar.xz")
    for part in text.split(HEAD)[1:]:
        head, _, program = part.partition("\n")
        name, verdict = head.split()
        yield name, verdict, program or archived[name]


def ask(systole, program, folder, system):
    """Returns what libtpu says of a program, as a JSON object; a text where the command failed."""
    path = pathlib.Path(folder) / "program.mlir"
    path.write_text(program)
    command = [systole, "check", path, "--compile", system, "--json", "--quiet", "--time-limit", "3600"]
    # Kept verdicts would agree with themselves.
    run = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"SYSTOLE_CACHE_DIR": ""})
    if run.stdout:
        return json.loads(run.stdout)["compiler"]
    if "pip install" in run.stderr:
        raise NotInstalled
    return f"error: {run.stderr.strip()}"


def measure_probes(options, folder):
    """Returns how many verdicts differ."""
    probes = [p for p in read_probes((HERE / "probes.txt").read_text()) if options.only in p[0]]
    different = 0
    for name, recorded, program in probes:
        if "replica_groups" in program or "source_target_pairs" in program or "replica_id" in program:
            program = program.replace("module @m {", "module @m attributes {mhlo.num_replicas = 8 : i32} {")
        said = ask(options.systole, program, folder, "v2-8")
        verdict = said if isinstance(said, str) else said["verdict"]
        if verdict != recorded:
            different += 1
            print(f"{name}: got {verdict}, recorded {recorded}", flush=True)
    print(f"{len(probes)} probes, {different} different")
    return different


def difference(row, said):
    """What libtpu says of a step that is not what is recorded; "" if it is the same."""
    if isinstance(said, str):
        return said
    if said["verdict"] != row["verdict"]:
        return f"got {said['verdict']}, recorded {row['verdict']}"
    for key, got in (("bytes", said["bytes"]["total"]), ("cycles", said["cycles"])):
        recorded = float(row[key])
        if recorded > 0 and abs(got / recorded - 1) > CLOSE:
            return f"{key}: got {got:.0f}, recorded {recorded:.0f}"
    return ""


def read_rows():
    with open(STEPS, newline="") as file:
        return list(csv.DictReader(file))


def write_rows(rows):
    rows.sort(key=lambda row: (row["step"], row["system"]))
    with open(STEPS, "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def figures(said):
    """The columns of a step that libtpu says."""
    return {"verdict": said["verdict"], "bytes": said["bytes"]["total"], "cycles": round(said["cycles"])}


def is_wanted(options, step, system):
    return options.only in step and options.system in ("", system)


def measure_steps(options, folder):
    """Returns how many steps differ; records them with --record."""
    rows = read_rows()
    programs = read_programs("steps.tar.xz")
    different = count = 0
    for row in rows:
        if not is_wanted(options, row["step"], row["system"]):
            continue
        said = ask(options.systole, programs[row["step"]], folder, row["system"])
        text = difference(row, said)
        count += 1
        different += text != ""
        print(f"{row['step']} on {row['system']}: {text or 'as recorded'}", flush=True)
        if options.record and not isinstance(said, str):
            row.update(figures(said))
            write_rows(rows)
    print(f"{count} steps, {different} different")
    return different


def add_missing_steps(options, folder):
    """Records the steps on the TPUs for which there is no row, the shortest program first."""
    programs = read_programs("steps.tar.xz")
    sets = {row["step"]: row["set"] for row in read_rows()}
    systems = sorted({row["system"] for row in read_rows()})
    for step in sorted(programs, key=lambda step: len(programs[step])):
        for system in systems:
            known = {(row["step"], row["system"]) for row in read_rows()}
            if (step, system) in known or not is_wanted(options, step, system):
                continue
            said = ask(options.systole, programs[step], folder, system)
            if isinstance(said, str) or said["verdict"] not in ("fits", "too_big"):
                print(f"{step} on {system}: {said if isinstance(said, str) else said['message']}", flush=True)
                continue
            # Others may have added rows.
            row = {"step": step, "system": system, **figures(said), "set": sets.get(step, "unseen")}
            write_rows([*read_rows(), row])
            print(f"{step} on {system}: {figures(said)}, {said['compile_seconds']:.0f} s", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systole")
    parser.add_argument("--only", default="", help="probes and steps whose names contain this text")
    parser.add_argument("--record", action="store_true", help="write what it says of steps to steps.csv")
    parser.add_argument("--system", default="", help="steps on this TPU only")
    parser.add_argument(
        "--missing", action="store_true", help="add the steps on TPUs that steps.csv lacks; nothing else"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if options.missing:
                return add_missing_steps(options, folder)
            different = measure_probes(options, folder) + measure_steps(options, folder)
        except NotInstalled:
            print("skipped: libtpu is not installed")
            return 77
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
