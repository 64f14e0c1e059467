"""Reads a profile with XProf, as its server does, and checks that the tools that Systole fills have content.

usage: xprof_profile.py SYSTOLE        the command, which profiles examples/configs/digits.yaml. Exit status: 1 for an empty tool.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from xprof.convert import raw_to_tool_data as xprof

ROOT = Path(__file__).resolve().parents[2]


def tool(paths: list[str], name: str, **params: object) -> object:
    data, _ = xprof.xspace_to_tool_data(paths, name, {"use_saved_result": False, **params})
    return json.loads(data) if data else None


def rows(table: object) -> int:
    return sum(len(part.get("rows", [])) for part in (table if isinstance(table, list) else [table]))


def check(paths: list[str]) -> dict[str, bool]:
    overview = {key: value for part in tool(paths, "overview_page") for key, value in part.get("p", {}).items()}
    programs = tool(paths, "op_profile")["byProgram"]["children"]
    xprof.xspace_to_tool_names(paths)  # makes the files of the programs
    modules = sorted(p.name.removesuffix(".hlo_proto.pb") for p in Path(paths[0]).parent.glob("*.hlo_proto.pb"))
    memory = tool(paths, "memory_viewer", module_name=modules[0], memory_space="0") if modules else None
    return {
        "overview_page: a step time": float(overview["steptime_ms_average"]) > 0,
        "overview_page: a busy device": float(overview["device_idle_time_percent"].rstrip("%")) < 100,
        "op_profile: ops of a program": any(c["children"] for p in programs for c in p["children"]),
        "framework_op_stats: more rows than IDLE's": rows(tool(paths, "framework_op_stats")) > 5,
        "hlo_stats: rows": rows(tool(paths, "hlo_stats")) > 5,
        "roofline_model: rows": rows(tool(paths, "roofline_model")) > 10,
        "memory_viewer: a heap": bool(memory and max(memory["heapSizes"]) > 0),
        "trace_viewer@: events": bool(tool(paths, "trace_viewer@")),
    }


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.argv[1], "profile", "examples/configs/digits.yaml", "--steps", "20", "--logdir", folder],
            cwd=ROOT, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        results = check([str(path) for path in Path(folder).rglob("*.xplane.pb")])
    for name, good in results.items():
        print(f"{'ok    ' if good else 'EMPTY '} {name}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
