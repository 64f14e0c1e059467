"""Compares Systole with JAX, PyTorch, TensorFlow, ONNX Runtime and OpenVINO on this CPU.

Each workload is one program with the same parameters and inputs on all systems. The workers of a workload live side by
side and take turns; a figure is the median of the rounds, a ratio the median of the ratios of adjacent rounds. Ratios
above 1 mean that Systole is faster.

usage: compare.py [--filter REGEX] [--threads 1,2] [--json FILE] [--table FILE] [--plot FILE]; --help names the rest
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import itertools
import json
import math
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

import numpy as np
from workloads import WORKLOADS

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENTS = ROOT / "build/clients"
BIN = ROOT / "build/release/bin"
WORKER = pathlib.Path(__file__).resolve().parent / "worker.py"
# TensorFlow's models are these.
TENSORFLOW = ("T1", "T2", "T2b", "T3", "T3b", "T4")


@dataclasses.dataclass(frozen=True)
class System:
    """A system, the virtual environment that it is installed in, and the worker's name of it."""

    title: str
    client: str
    worker: str
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def measures(self, name: str) -> bool:
        if self.worker.startswith("tensorflow"):
            return name in TENSORFLOW
        return not (self.worker in ("onnxruntime", "openvino") and WORKLOADS[name].trains)


SYSTEMS = {
    "systole": System("Systole", "", ""),
    "plugin": System("JAX on Systole", "jax", "jax", {"JAX_PLATFORMS": "systole"}),
    "xla": System("XLA:CPU", "jax", "jax", {"JAX_PLATFORMS": "cpu"}),
    "torch": System("PyTorch", "torch", "torch"),
    "torch.compile": System("torch.compile", "torch", "torch.compile"),
    "tensorflow": System("TensorFlow", "tensorflow", "tensorflow"),
    "tensorflow.xla": System("TensorFlow, XLA", "tensorflow", "tensorflow.xla"),
    "onnxruntime": System("ONNX Runtime", "torch", "onnxruntime"),
    "openvino": System("OpenVINO", "torch", "openvino"),
}
PEERS = [name for name in SYSTEMS if name not in ("systole", "plugin")]


def python(client: str) -> pathlib.Path:
    return CLIENTS / client / "bin/python"


def _environment(threads: int, extra: Mapping[str, str]) -> dict[str, str]:
    return {
        **os.environ,
        "OMP_NUM_THREADS": str(threads),
        "SYSTOLE_CACHE_DIR": "",
        "SYSTOLE_PJRT_LIBRARY": str(ROOT / "build/release/lib/libsystole_pjrt.so"),
        "PYTHONPATH": str(ROOT / "python"),
        **extra,
    }


class Worker:
    """A process that measures one workload on one system when it is asked."""

    def __init__(self, command: list[str], cores: Iterable[int], environment: dict[str, str], log: TextIO) -> None:
        cpus = ",".join(map(str, cores))
        self._process = subprocess.Popen(
            ["taskset", "-c", cpus, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment,
            text=True,
            start_new_session=True,
        )
        self.peak_bytes = 0

    def answer(self) -> dict[str, Any]:
        """Returns the next line of JSON. Raises RuntimeError if the process has ended."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._note_memory()
                return json.loads(line)
        raise RuntimeError(f"the worker ended with status {self._process.wait()}")

    def seconds(self, lasting: float) -> float:
        """Returns the median time of a step, of measurements that last so many seconds."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{lasting}\n")
            self._process.stdin.flush()
        except OSError as error:
            raise RuntimeError(f"the worker ended with status {self._process.wait()}") from error
        return statistics.median(self.answer()["seconds"])

    def _note_memory(self) -> None:
        for line in pathlib.Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                self.peak_bytes = int(line.split()[1]) * 1024

    def stop(self) -> None:
        """Ends the process and those that it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def prepare(name: str, folder: pathlib.Path) -> None:
    """Writes the program of a workload, its inputs and the reference into the folder, if they are not there."""
    if not (folder / "facts.json").exists():
        command = [str(python("jax")), str(WORKER), "export", name, "2", str(folder)]
        subprocess.run(command, check=True, env=_environment(2, {"JAX_PLATFORMS": "cpu"}))
    if not WORKLOADS[name].trains and python("torch").exists() and not (folder / "model.onnx").exists():
        command = [str(python("torch")), str(WORKER), "onnx", name, "2", str(folder)]
        subprocess.run(command, check=True, env=_environment(2, {}), stdout=subprocess.DEVNULL)


def _systole_command(command: str, folder: pathlib.Path) -> list[str]:
    arguments = json.loads((folder / "facts.json").read_text())["arguments"]
    inputs = [part for i in range(arguments) for part in ("--input", f"{i}={folder}/{i}.npy")]
    return [str(BIN / "systole"), "hlo", command, str(folder / "program.mlir"), *inputs]


def _systole_results(folder: pathlib.Path, trains: bool) -> dict[str, Any]:
    """Runs the program once. Returns the loss, or the difference of the outputs, as a worker prints it."""
    with tempfile.TemporaryDirectory() as outputs:
        command = [*_systole_command("run", folder), "--output", outputs]
        subprocess.run(command, check=True, env=_environment(2, {}), stdout=subprocess.DEVNULL)
        last = max((int(path.stem) for path in pathlib.Path(outputs).glob("*.npy")), default=0)
        value = np.load(f"{outputs}/{last}.npy")
    if trains:
        return {"losses": [float(value)]}
    reference = np.load(folder / "reference.npy").astype(np.float64)
    return {"difference": float(np.abs(value - reference).max() / np.abs(reference).max())}


def start(system: str, name: str, threads: int, folder: pathlib.Path, log: TextIO) -> Worker:
    """Starts a worker."""
    entry = SYSTEMS[system]
    if system == "systole":
        donate = ["--donate"] if WORKLOADS[name].trains else []
        command = [*_systole_command("bench", folder), "--turns", "--threads", str(threads), *donate]
    else:
        command = [str(python(entry.client)), str(WORKER), entry.worker, name, str(threads), str(folder)]
    cores = sorted(os.sched_getaffinity(0))[:threads]
    return Worker(command, cores, _environment(threads, entry.environment), log)


def difference(first: dict[str, Any], folder: pathlib.Path) -> float:
    """Returns how far a worker's results are from XLA's: the losses of two steps, or the outputs."""
    if "difference" in first:
        return float(first["difference"])
    expected = json.loads((folder / "facts.json").read_text())["losses"]
    return max(abs(a / b - 1) for a, b in zip(first["losses"], expected, strict=False))


def _first_answer(system: str, worker: Worker, row: dict[str, Any], folder: pathlib.Path) -> bool:
    """Waits until a worker has compiled. Returns false, and notes why, if it fails."""
    try:
        first = worker.answer()
        if system == "systole":
            first |= _systole_results(folder, WORKLOADS[row["row"]].trains)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        row["errors"][system] = str(error)
        worker.stop()
        return False
    row["compile"][system] = first["compile_seconds"]
    row["difference"][system] = difference(first, folder)
    return True


def measure(name: str, threads: int, systems: list[str], rounds: int, seconds: float) -> dict[str, Any]:
    """Returns the figures of a workload: for each system the seconds of a step in each round, and more."""
    folder = ROOT / "build/peers" / name
    prepare(name, folder)
    row: dict[str, Any] = {"row": name, "threads": threads, "seconds": {}, "compile": {}, "difference": {}}
    row |= {"peak_bytes": {}, "errors": {}}
    workers: dict[str, Worker] = {}
    with (folder / "log.txt").open("a") as log:
        try:
            for system in systems:  # one after another: compilers would take each other's time
                worker = start(system, name, threads, folder, log)
                workers[system] = worker
                if not _first_answer(system, worker, row, folder):
                    del workers[system]
            for turn in range(rounds):
                order = list(workers)
                for system in order if turn % 2 == 0 else reversed(order):
                    row["seconds"].setdefault(system, []).append(workers[system].seconds(seconds))
            row["peak_bytes"] = {system: worker.peak_bytes for system, worker in workers.items()}
        finally:
            for worker in workers.values():
                worker.stop()
    return row


def ratio(row: dict[str, Any], system: str) -> float | None:
    """Returns the system's time over Systole's."""
    theirs, ours = row["seconds"].get(system), row["seconds"].get("systole")
    if not theirs or not ours:
        return None
    return statistics.median(a / b for a, b in zip(theirs, ours, strict=True))


def best_peer(row: dict[str, Any]) -> tuple[str, float] | None:
    """Returns the fastest peer and its time over Systole's."""
    found = [(value, peer) for peer in PEERS if (value := ratio(row, peer)) is not None]
    return (min(found)[1], min(found)[0]) if found else None


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _milliseconds(row: dict[str, Any], system: str) -> str:
    times = row["seconds"].get(system)
    if not times:
        return "fails" if system in row["errors"] else "-"
    return f"{statistics.median(times) * 1e3:.4g}"


def table(rows: list[dict[str, Any]]) -> str:
    """Returns the figures as tables of Markdown, one for each kind and number of threads."""
    lines = []
    for threads in sorted({row["threads"] for row in rows}):
        for trains, title in ((True, "Training step"), (False, "Forward pass")):
            chosen = [row for row in rows if row["threads"] == threads and WORKLOADS[row["row"]].trains == trains]
            if not chosen:
                continue
            systems = [s for s in SYSTEMS if any(s in row["seconds"] or s in row["errors"] for row in chosen)]
            lines += [f"### {title}, {threads} thread{'s' if threads > 1 else ''}: milliseconds", ""]
            lines += ["| | " + " | ".join(SYSTEMS[s].title for s in systems) + " | best peer / Systole |"]
            lines += ["|---" * (len(systems) + 2) + "|"]
            for row in chosen:
                best = best_peer(row)
                cells = [_milliseconds(row, system) for system in systems]
                cells.append(f"{best[1]:.2f} ({SYSTEMS[best[0]].title})" if best else "-")
                lines.append(f"| {row['row']} | " + " | ".join(cells) + " |")
            means = [geometric_mean(r for row in chosen if (r := ratio(row, system))) for system in systems]
            bests = geometric_mean(best[1] for row in chosen if (best := best_peer(row)))
            lines += ["| geometric mean, over Systole | " + " | ".join(f"{m:.2f}" for m in means) + f" | {bests:.2f} |"]
            lines.append("")
    lines += ["| workload | what | batch | type | optimizer |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(row["row"] for row in rows):
        work = WORKLOADS[name]
        lines.append(f"| {name} | {work.text} | {work.batch} | {work.dtype} | {work.optimizer or '-'} |")
    return "\n".join(lines) + "\n"


def cost_table(rows: list[dict[str, Any]]) -> str:
    """Returns compile times, memory and differences of the outputs as a table of Markdown."""
    lines = ["### Compile time, peak memory of the process, and how far outputs are from XLA's", ""]
    lines += ["| | threads | compile, s: Systole | XLA:CPU | Systole / XLA:CPU | memory, MiB: Systole | least peer |"]
    lines[-1] += " outputs or losses of Systole | of the peers, at most |"
    lines += ["|---" * 9 + "|"]
    for row in rows:
        ours, xla = (row["compile"].get(system) for system in ("systole", "xla"))
        memory = {system: size / 2**20 for system, size in row["peak_bytes"].items() if system != "plugin"}
        peers = [(size, system) for system, size in memory.items() if system != "systole"]
        cells = [row["row"], str(row["threads"])]
        cells += [f"{value:.2f}" if value else "-" for value in (ours, xla, ours and xla and ours / xla)]
        cells.append(f"{memory['systole']:.0f}" if "systole" in memory else "-")
        cells.append(f"{min(peers)[0]:.0f} ({SYSTEMS[min(peers)[1]].title})" if peers else "-")
        far = {system: value for system, value in row["difference"].items() if system in ("systole", *PEERS)}
        cells.append(f"{far['systole']:.0e}" if "systole" in far else "-")
        cells.append(f"{max((far[system] for system in far if system != 'systole'), default=math.nan):.0e}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def plot(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Draws each peer's time over Systole's, a logarithmic axis, as SVG."""
    width, left, bar, gap = 900, 90, 7, 10
    colours = dict(
        zip(PEERS, ("#3366cc", "#dc3912", "#ff9900", "#109618", "#990099", "#0099c6", "#dd4477"), strict=True)
    )
    limit = math.log(32)

    def x(value: float) -> float:
        return left + (width - left - 20) * (min(max(math.log(value), -limit / 5), limit) + limit / 5) / (limit * 1.2)

    parts, y = [], 40
    for i, peer in enumerate(PEERS):
        parts.append(f'<text x="{left + i * 115}" y="16" fill="{colours[peer]}">{SYSTEMS[peer].title}</text>')
    for row in rows:
        bars = [(peer, value) for peer in PEERS if (value := ratio(row, peer)) is not None]
        parts.append(f'<text x="4" y="{y + 9}">{row["row"]}, {row["threads"]}</text>')
        for peer, value in bars:
            start, end = sorted((x(1), x(value)))
            box = f'x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{bar - 1}"'
            parts.append(f'<rect {box} fill="{colours[peer]}"><title>{value:.2f}</title></rect>')
            y += bar
        y += gap
    for value in (0.5, 1, 2, 4, 8, 16, 32):
        line = f'x1="{x(value):.1f}" x2="{x(value):.1f}" y1="24" y2="{y}" stroke="#888" stroke-width="0.5"'
        parts.append(f'<line {line}/><text x="{x(value) - 6:.1f}" y="32" fill="#555">{value:g}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + 10}" font-family="sans-serif" '
    path.write_text(head + 'font-size="11">\n' + "\n".join(parts) + "\n</svg>\n")


def _machine() -> str:
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return f"{model.group(1) if model else platform.processor()}, {len(os.sched_getaffinity(0))} cores"


def _versions() -> str:
    names = ("jax", "torch", "tensorflow", "onnxruntime", "openvino")
    found = []
    for client in ("jax", "torch", "tensorflow"):
        for package in (CLIENTS / client).glob("lib/python*/site-packages/*.dist-info"):
            name, _, version = package.name.removesuffix(".dist-info").partition("-")
            if name.removesuffix("_cpu") in names:
                found.append(f"{name.removesuffix('_cpu')} {version}")
    return ", ".join(sorted(set(found)))


def read_rows(paths: Iterable[pathlib.Path]) -> dict[tuple[int, str], dict[str, Any]]:
    """Returns the rows of former runs by threads and name; a later file's replace an earlier one's."""
    return {(row["threads"], row["row"]): row for path in paths for row in json.loads(path.read_text())["rows"]}


def write_results(args: argparse.Namespace, found: dict[tuple[int, str], dict[str, Any]]) -> None:
    """Writes the files that the command line asks for."""
    order = list(WORKLOADS)
    rows = sorted(found.values(), key=lambda row: (-row["threads"], order.index(row["row"])))
    head = {"date": f"{datetime.date.today()}", "machine": _machine(), "versions": _versions()}
    if args.json:
        args.json.write_text(json.dumps({**head, "rows": rows}, indent=1))
    if args.table:
        facts = f"{head['machine']}; {head['versions']}; {head['date']}."
        args.table.write_text(f"{facts}\n\n{table(rows)}\n{cost_table(rows)}")
    if args.plot:
        plot(rows, args.plot)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filter", default="", help="only workloads whose whole name matches this regular expression")
    parser.add_argument("--systems", default=",".join(SYSTEMS), help="only these systems")
    parser.add_argument("--threads", default="2,1", help="numbers of threads")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each system; 0 measures nothing")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long a measurement lasts")
    parser.add_argument(
        "--read", type=pathlib.Path, action="append", default=[], help="adds the rows of this JSON file"
    )
    parser.add_argument("--json", type=pathlib.Path, help="also writes the figures to this file")
    parser.add_argument("--table", type=pathlib.Path, help="also writes tables of Markdown to this file")
    parser.add_argument("--plot", type=pathlib.Path, help="also draws the ratios into this SVG file")
    args = parser.parse_args()
    names = [name for name in WORKLOADS if not args.filter or re.fullmatch(args.filter, name)]
    if not names:
        sys.exit(f"--filter, got no workload that matches {args.filter!r}, expected one of {', '.join(WORKLOADS)}")
    wanted = args.systems.split(",")
    if unknown := [name for name in wanted if name not in SYSTEMS]:
        sys.exit(f"--systems, got {unknown[0]!r}, expected some of {', '.join(SYSTEMS)}")
    there = [s for s in wanted if s == "systole" or python(SYSTEMS[s].client).exists()]
    for missing in sorted(set(wanted) - set(there)):
        print(f"{missing}: not installed, left out (tools/install-clients.sh {SYSTEMS[missing].client})")
    print(f"{_machine()}; {_versions()}; load {os.getloadavg()[0]:.1f}")
    found = read_rows(args.read)
    for threads, name in itertools.product(map(int, args.threads.split(",")), names if args.rounds else []):
        begin = time.monotonic()
        row = measure(name, threads, [s for s in there if SYSTEMS[s].measures(name)], args.rounds, args.seconds)
        found[threads, name] = row
        cells = [f"{s} {_milliseconds(row, s)} ms ({row['difference'].get(s, math.nan):.0e})" for s in row["seconds"]]
        cells += [f"{s} fails: {error}" for s, error in row["errors"].items()]
        best = best_peer(row)
        verdict = f"best peer / Systole {best[1]:.2f}" if best else "no peer"
        print(f"{name}, {threads}: {verdict}; {'; '.join(cells)}; {time.monotonic() - begin:.0f} s", flush=True)
        write_results(args, found)
    write_results(args, found)


if __name__ == "__main__":
    main()
