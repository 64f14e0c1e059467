"""Runs JAX's own tests on the plugin, and those that do not pass on JAX's CPU, too.

A file of tests runs in a process of its own. A test that crashes or hangs is recorded, and the others of its file go on
in a new process. A test counts if it passes here or on JAX's CPU: those that only the CPU runs count as failed, unless
they ask for more devices.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
FILES = """
ann aot api array array_interoperability batching checkify compilation_cache core custom_api custom_linear_solve
debug_nans debugging_primitives dtypes export ffi fft image jax_jit jet lax_autodiff lax_control_flow
lax_numpy_einsum lax_numpy_indexing lax_numpy_operators lax_numpy_reducers lax_numpy_setops lax_numpy
lax_numpy_ufuncs lax_numpy_vectorize lax_scipy_special_functions lax_scipy lax lax_vmap layout linalg memories
multi_device mutable_array nn ode optimizers pjit pmap profiler python_callback qdwh random_lax random scipy_ndimage
scipy_signal scipy_stats shape_poly shard_map sparse stax svd
""".split()
# Those with tests for several devices.
FILES_OF_DEVICES = """
array custom_partitioning custom_partitioning_sharding_rule debug_nans debugging_primitives export layout
linalg_sharding memories multi_device mutable_array pjit pmap python_callback ragged_collective random shard_alike
shard_map
""".split()


@dataclass
class Run:
    """The tests of one file on one platform."""

    total: int = 0  # tests in the file
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)  # by test: its last event
    error: str = ""  # why no test ran


@dataclass
class Row:
    """The counts of one file."""

    name: str
    tests: int = 0
    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # here, and passed by JAX's CPU
    left_out: int = 0  # neither here nor on JAX's CPU, or for more devices than there are
    error: str = ""

    def percent(self) -> float:
        counted = len(self.passed) + len(self.failed) + len(self.skipped)
        return 100 * len(self.passed) / counted if counted else 100.0


def environment(platform: str, a: argparse.Namespace) -> dict[str, str]:
    dropped = ("XLA_FLAGS", "PJRT_NAMES_AND_LIBRARY_PATHS", "SYSTOLE_CORES", "SYSTOLE_TPU")
    env = {k: v for k, v in os.environ.items() if k not in dropped and not k.startswith(("JAX_", "SYSTOLE_PJRT"))}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1", "JAX_NUM_GENERATED_CASES": str(a.cases)}
    env |= {"PYTHONPATH": str(ROOT / "tests/clients"), "JAX_TRACEBACK_FILTERING": "off", "JAX_PLATFORMS": "cpu"}
    if platform == "systole":
        env["PYTHONPATH"] += os.pathsep + str(ROOT / "python")
        env |= {"JAX_PLATFORMS": "systole,cpu", "SYSTOLE_PJRT_LIBRARY": str(a.library.resolve())}
    if a.cores > 1:
        env |= {"SYSTOLE_CORES": str(a.cores), "JAX_NUM_CPU_DEVICES": str(a.cores)}
    return env | a.environment


class Process:
    """One process of pytest, watched by the record that it writes."""

    def __init__(self, command: list[str], env: dict[str, str], record: Path, log: TextIO) -> None:
        self._record = record
        self._child = subprocess.Popen(
            command, env=env, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
        )

    def events(self) -> list[dict[str, Any]]:
        text = self._record.read_text() if self._record.exists() else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def wait(self, test_seconds: float, deadline: float) -> str:
        """Returns "" when the process ended by itself, else what ran too long: "test" or "file"."""
        begin, size = time.monotonic(), -1
        while self._child.poll() is None:
            time.sleep(0.2)
            now = time.monotonic()
            new_size = self._record.stat().st_size if self._record.exists() else 0
            if new_size != size:
                begin, size = now, new_size
            # Reading a file of tests may take longer than a test.
            why = "test" if now - begin > (test_seconds if size > 0 else 300) else "file" if now > deadline else ""
            if why:
                os.killpg(self._child.pid, signal.SIGKILL)
                self._child.wait()
                return why
        return ""

    def status(self) -> int:
        return int(self._child.returncode)


def run_files(
    name: str, files: list[str], platform: str, ids: list[str] | None, a: argparse.Namespace, folder: Path
) -> Run:
    """Runs the tests `ids` of files of the folder `a.tests`, or a sample of all. Records have the name `name`."""
    run = Run()
    record, wanted = folder / f"{name}.{platform}.jsonl", folder / f"{name}.{platform}.ids"
    env = environment(platform, a) | {"JAX_TESTS_RECORD": str(record), "JAX_TESTS_LIMIT": str(a.limit)}
    # -s: some tests look at what they print.
    command = [sys.executable, "-m", "pytest", "-p", "jax_tests_record", "-p", "no:cacheprovider", "-s", "-qq"]
    command += ["--tb=no", "--continue-on-collection-errors", "-c", os.devnull, "--rootdir", str(a.tests)]
    deadline, all_events = time.monotonic() + a.file_seconds, []
    with open(folder / f"{name}.{platform}.log", "a") as log:
        while ids is None or ids:
            record.unlink(missing_ok=True)
            if ids is not None:
                wanted.write_text("\n".join(ids) + "\n")
                env["JAX_TESTS_IDS"] = str(wanted)
                files = sorted({i.split("::")[0] for i in ids})
            process = Process(command + [str(a.tests / file) for file in files], env, record, log)
            why = process.wait(a.test_seconds, deadline)
            events = process.events()
            all_events += events
            for event in events:
                if event["event"] == "collected":
                    ids, run.total = event["ids"], event["total"]
                elif event["event"] == "end":
                    run.outcomes[event["id"]] = event
            started = [event["id"] for event in events if event["event"] == "start"]
            if not started:
                run.error = f"no test ran: pytest ended with {process.status()}"
                break
            if why != "file" and started[-1] not in run.outcomes:
                what = f"no end in {a.test_seconds:g} s" if why else f"crash: status {process.status()}"
                run.outcomes[started[-1]] = {"outcome": "failed", "messages": [what]}
                all_events.append({"event": "end", "id": started[-1], **run.outcomes[started[-1]]})
            elif not why and process.status() >= 0:
                break  # pytest came to its end
            ids = [i for i in ids or [] if i not in set(started)]
            if why == "file":
                break
    record.write_text("".join(json.dumps(event) + "\n" for event in all_events))  # of all processes
    return run


def read_run(name: str, platform: str, folder: Path) -> Run:
    """Returns what an earlier run has recorded in a folder."""
    run = Run()
    record = folder / f"{name}.{platform}.jsonl"
    for line in record.read_text().splitlines() if record.exists() else []:
        event = json.loads(line)
        if event["event"] == "collected":
            run.total = event["total"]
        elif event["event"] == "end":
            run.outcomes[event["id"]] = event
    return run


def compare(name: str, here: Run, cpu: Run) -> Row:
    row = Row(name, here.total, error=here.error)
    for test, event in here.outcomes.items():
        runs_on_cpu = cpu.outcomes.get(test, {}).get("outcome") == "passed"
        needs_devices = event["outcome"] == "skipped" and re.search(r"devices|multi-?device", event["messages"][0])
        if event["outcome"] == "passed":
            row.passed.append(test)
        elif not runs_on_cpu or needs_devices:
            row.left_out += 1
        elif event["outcome"] == "skipped":
            row.skipped.append(test)
        else:
            row.failed.append(test)
    return row


def run_both(name: str, record: str, files: list[str], a: argparse.Namespace, folder: Path) -> tuple[Run, Row]:
    """Runs files on the plugin, and what does not pass there on JAX's CPU."""
    here = run_files(record, files, "systole", None, a, folder)
    others = [test for test, event in here.outcomes.items() if event["outcome"] != "passed"]
    return here, compare(name, here, run_files(record, files, "cpu", others, a, folder))


def cause(event: dict[str, Any]) -> str:
    """What failed or was skipped, without the names and numbers of the test."""
    messages = event["messages"] or ["no message"]
    text = " ".join(messages[::-1])
    status = re.search(r"\b(UNIMPLEMENTED|INVALID_ARGUMENT|INTERNAL|RESOURCE_EXHAUSTED|FAILED_PRECONDITION): .*", text)
    line = status[0] if status else next((m for m in messages[0].splitlines() if len(m.split(":", 1)[-1]) > 1), "")
    line = re.sub(r"<.*>|\(.*\)|\[[^\]]*\]|%\w+", "...", re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?", "N", line))
    return line.replace("|", "/").replace("`", "'")[:140].strip()


def write_results(rows: list[Row], runs: dict[str, Run], out: TextIO) -> None:
    """Writes the tables of counts and of causes."""
    total = Row("all", sum(r.tests for r in rows))
    for row in rows:
        total.passed += row.passed
        total.failed += row.failed
        total.skipped += row.skipped
        total.left_out += row.left_out
    print(
        "Tests that are skipped here and that JAX's own CPU passes count as failed. Tests that neither passes do not\n"
        f"count, nor those that ask for more devices; they are {total.left_out}.\n\n"
        "| file | tests | counted | passed | failed | skipped here only | % |\n|---|---|---|---|---|---|---|",
        file=out,
    )
    for row in [*rows, total]:
        passed, failed, skipped = len(row.passed), len(row.failed), len(row.skipped)
        print(
            f"| {row.name} | {row.tests} | {passed + failed + skipped} | {passed} | {failed} | {skipped} |"
            f" {row.error or f'{row.percent():.1f}'} |",
            file=out,
        )
    groups: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for what, tests in (("failed", row.failed), ("skipped", row.skipped)):
            for test in tests:
                groups[f"{what} | {cause(runs[row.name].outcomes[test])}"].append(f"{row.name}: {test.split('::')[-1]}")
    print("\n### Causes\n\n| tests | | cause | such as |\n|---|---|---|---|", file=out)
    for group, tests in sorted(groups.items(), key=lambda g: -len(g[1])):
        print(f"| {len(tests)} | {group} | {tests[0]} |", file=out)


def title(cores: int) -> str:
    return f"# JAX's own tests on {'one device' if cores == 1 else f'{cores} devices'}"


def report(rows: list[Row], runs: dict[str, Run], a: argparse.Namespace, out: TextIO) -> None:
    python = ".".join(map(str, sys.version_info[:3]))
    print(f"{title(a.cores)}\n", file=out)
    print(
        f"`make jax-tests JAX_TESTS=DIR` wrote this part on {time.strftime('%Y-%m-%d')}: JAX {metadata.version('jax')},"
        f" jaxlib {metadata.version('jaxlib')}, Python {python}, {a.cores} device{'s' if a.cores > 1 else ''}, at most"
        f" {a.limit} tests of a file, chosen by hash, JAX_NUM_GENERATED_CASES={a.cases}.\n",
        file=out,
    )
    print("Tests that ask for a device by its name take this one for a CPU (JAX's option jax_test_dut).\n", file=out)
    write_results(rows, runs, out)


def write_part(path: Path, text: str) -> None:
    """Replaces in a file the part that begins with the title of `text`, up to the next title, or appends it."""
    title = text.partition("\n")[0]
    parts = re.split(r"^(?=# )", path.read_text() if path.exists() else "", flags=re.MULTILINE)
    kept = [part.rstrip("\n") + "\n" for part in parts if part]
    place = next((i for i, part in enumerate(kept) if part.partition("\n")[0] == title), len(kept))
    kept[place : place + 1] = [text.rstrip("\n") + "\n"]
    path.write_text("\n".join(kept))


def parse() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("library", type=Path, help="libsystole_pjrt.so")
    p.add_argument("tests", type=Path, help="the folder `tests` of JAX's repository, at the tag of the installed JAX")
    p.add_argument("files", nargs="*", help="names such as lax_numpy; default: those for so many devices")
    p.add_argument("--limit", type=int, default=30, help="the most tests of a file (default: %(default)s)")
    p.add_argument("--cases", type=int, default=3, help="cases of each generated test (default: %(default)s)")
    p.add_argument("--cores", type=int, default=1, help="devices (default: %(default)s)")
    p.add_argument("--jobs", type=int, default=1, help="files at a time (default: %(default)s)")
    p.add_argument("--test-seconds", type=float, default=60, help="the most for a test (default: %(default)s)")
    p.add_argument("--file-seconds", type=float, default=1800, help="the most for a file (default: %(default)s)")
    p.add_argument("--table", type=Path, help="the file of which the table becomes a section; default: printed")
    p.add_argument("--keep", type=Path, help="a folder for the records and the output of the tests")
    p.add_argument("--read", type=Path, help="runs nothing: makes the table of the records in this folder")
    return p.parse_intermixed_args(namespace=argparse.Namespace(environment={}))


def main() -> int:
    a = parse()
    if not a.tests.is_dir():
        print(f"jax_tests: tests, got {a.tests}, expected a folder", file=sys.stderr)
        return 2
    a.tests = a.tests.resolve()
    a.files = a.files or (FILES if a.cores == 1 else FILES_OF_DEVICES)
    rows: list[Row] = []
    runs: dict[str, Run] = {}

    def run_one(name: str, folder: Path) -> tuple[Run, Row]:
        if a.read:
            here, cpu = (read_run(name + "_test", platform, a.read) for platform in ("systole", "cpu"))
            return here, compare(name, here, cpu)
        return run_both(name, name + "_test", [name + "_test.py"], a, folder)

    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(a.jobs) as pool:
        folder = a.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        pending = {pool.submit(run_one, name, folder): name for name in a.files}
        for done in as_completed(pending):
            name = pending[done]
            runs[name], row = done.result()
            rows.append(row)
            counts = Counter(passed=len(row.passed), failed=len(row.failed), skipped=len(row.skipped))
            print(f"{len(rows)} of {len(pending)} {name}: {dict(counts)} of {row.tests} {row.error}", flush=True)
    rows.sort(key=lambda r: a.files.index(r.name))
    text = io.StringIO()
    report(rows, runs, a, text)
    if a.table:
        write_part(a.table, text.getvalue())
    else:
        print(text.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
