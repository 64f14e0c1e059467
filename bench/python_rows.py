"""Compares programs of TensorFlow 1 on Systole with the same files on TensorFlow 2.15.

The programs are those of bench/python. Each round runs a program on both, one process after the other; a figure is the
median of the rounds, each the least tenth of its times, a ratio the median of the ratios of the rounds. Ratios above 1
mean that Systole is faster. The losses of the first 20 steps must agree.

usage: python_rows.py [--rounds 5] [--seconds 2] [--threads 2] [--filter REGEX] [--json FILE] [--table PAGE]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "bench/python"
CLIENTS = ROOT / "build/clients"

# A program of bench/python and its arguments.
ROWS: dict[str, list[str]] = {
    "python.mlp": ["mlp.py"],
    "python.cnn": ["cnn.py"],
    "python.lstm": ["lstm.py"],
    "python.lstm_dynamic": ["lstm.py", "dynamic"],
    "python.iris": ["iris.py"],
    "python.iris_regression": ["iris.py", "regression"],
}
# TensorFlow 2.15 has TensorFlow 1 under another name.
_AS_TENSORFLOW_1 = """
import os, runpy, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
sys.modules["tensorflow"] = tf
del sys.argv[0]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""
# What begins the command of a system, before the program.
SYSTEMS: dict[str, list[str]] = {
    "systole": [str(CLIENTS / "python/bin/python"), "-m", "systole_tpu"],
    "tensorflow": [str(CLIENTS / "keras2/bin/python"), "-c", _AS_TENSORFLOW_1],
}
# Relative; sums of f32 in another order.
TOLERANCE = 1e-4
# Of a page's section that --table writes.
TITLE = "## Speed beside TensorFlow 2.15"


def run(system: str, name: str, threads: int, seconds: float) -> dict[str, Any]:
    """Returns what a program prints: its first and last loss, and the seconds of a step."""
    program, *arguments = ROWS[name]
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:threads]))
    command = ["taskset", "-c", cores, *SYSTEMS[system], str(PROGRAMS / program), str(seconds), *arguments]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "SYSTOLE_CACHE_DIR": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    if system == "systole":
        environment["PYTHONPATH"] = str(ROOT / "python")
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = done.stdout.splitlines()
    if done.returncode or not lines:
        sys.exit(f"{name} on {system}: the program ended with status {done.returncode}\n{done.stderr}")
    return json.loads(lines[-1])


def measure(name: str, rounds: int, threads: int, seconds: float) -> dict[str, Any]:
    """Returns the figures of a row."""
    runs: dict[str, list[dict[str, Any]]] = {system: [] for system in SYSTEMS}
    for turn in range(rounds):
        for system in SYSTEMS if turn % 2 == 0 else reversed(SYSTEMS):
            runs[system].append(run(system, name, threads, seconds))
    times = {system: [made["seconds"] for made in runs[system]] for system in SYSTEMS}
    ratios = [theirs / ours for ours, theirs in zip(times["systole"], times["tensorflow"], strict=True)]
    losses = {system: runs[system][0]["losses"] for system in SYSTEMS}
    return {
        "row": name,
        "steps_per_second": {system: 1 / statistics.median(times[system]) for system in SYSTEMS},
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "losses": losses,
        "difference": max(abs(a - b) / abs(b) for a, b in zip(losses["systole"], losses["tensorflow"], strict=True)),
    }


def _processor() -> str:
    info = pathlib.Path("/proc/cpuinfo")
    names = re.findall(r"^model name\s*: (.*)$", info.read_text(), re.M) if info.exists() else []
    return names[0] if names else platform.processor() or platform.machine()


def _version(system: str, package: str) -> str:
    code = f"import importlib.metadata as m; print(m.version('{package}'))"
    return subprocess.run([SYSTEMS[system][0], "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def facts(args: argparse.Namespace) -> dict[str, Any]:
    """Returns what the figures depend on."""
    return {
        "processor": _processor(),
        "threads": args.threads,
        "rounds": args.rounds,
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "numpy": {system: _version(system, "numpy") for system in SYSTEMS},
        "tensorflow": _version("tensorflow", "tensorflow-cpu"),
        "load": round(os.getloadavg()[0], 1),
    }


def section(rows: list[dict[str, Any]], of: dict[str, Any]) -> str:
    """Returns the section of a page: what was measured, and a table."""
    lines = [
        TITLE,
        "",
        "`make bench-python` runs the programs of [bench/python](../bench/python/README.md), which set equal initial",
        "values and feed NumPy arrays, on Systole and on TensorFlow's `compat.v1`, in turns, each in its own process.",
        "A run gives the least tenth of its times, a figure is the median of the runs, and the ratio the median of the",
        "rounds' ratios: above 1 Systole is faster. The last column is the largest relative difference of the losses",
        "of the first and the 20th step.",
        "",
        f"{of['processor']}, {of['threads']} threads, {of['rounds']} rounds, {of['date']}, load {of['load']};",
        f"Python {of['python']}, TensorFlow {of['tensorflow']} with NumPy {of['numpy']['tensorflow']},",
        f"NumPy {of['numpy']['systole']} here.",
        "",
        "| row | steps/s here | steps/s, TensorFlow | ratio | least and greatest ratio | losses differ by |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = (row["steps_per_second"][system] for system in SYSTEMS)
        lines.append(
            f"| `{row['row']}` | {ours:,.0f} | {theirs:,.0f} | {row['ratio']:.2f} "
            f"| {min(row['ratios']):.2f} to {max(row['ratios']):.2f} | {row['difference']:.1e} |"
        )
    return "\n".join(lines) + "\n"


def replace_section(page: str, text: str) -> str:
    """Returns a page with its section of TITLE replaced, up to the next heading of any level.

    Raises ValueError if the page has no such section.
    """
    found = re.search(rf"^{re.escape(TITLE)}\n.*?(?=^#|\Z)", page, re.M | re.S)
    if not found:
        raise ValueError(f"page, got no heading '{TITLE}', expected one")
    return f"{page[: found.start()]}{text}\n{page[found.end() :]}"


def main() -> None:
    """Measures the rows and prints them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program on each system")
    parser.add_argument(
        "--seconds", type=float, default=2, help="what a run measures, after a quarter of it to warm up"
    )
    parser.add_argument("--threads", type=int, default=2, help="cores that a program may use")
    parser.add_argument("--filter", default="", help="only rows that match this regular expression")
    parser.add_argument("--json", type=pathlib.Path, help="also writes the figures to this file")
    parser.add_argument("--table", type=pathlib.Path, help=f"also replaces the section '{TITLE[3:]}' of this page")
    args = parser.parse_args()
    names = [name for name in ROWS if re.search(args.filter, name)]
    if not names:
        sys.exit(f"rows: got no row that matches {args.filter!r}, expected one of {', '.join(ROWS)}")
    of = facts(args)
    rows = []
    print(f"{'row':26}{'systole':>14}{'tensorflow':>14}{'ratio':>8}{'difference':>12}")
    for name in names:
        row = measure(name, args.rounds, args.threads, args.seconds)
        rows.append(row)
        cells = "".join(f"{row['steps_per_second'][system]:12.1f}/s" for system in SYSTEMS)
        print(f"{name:26}{cells}{row['ratio']:8.2f}{row['difference']:12.1e}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({**of, "rows": rows}, indent=1))
    if args.table:
        args.table.write_text(replace_section(args.table.read_text(), section(rows, of)))
    differ = [row["row"] for row in rows if not row["difference"] <= TOLERANCE]
    if differ:
        sys.exit(f"losses: got others than TensorFlow's in {', '.join(differ)}, expected within {TOLERANCE} of them")


if __name__ == "__main__":
    main()
