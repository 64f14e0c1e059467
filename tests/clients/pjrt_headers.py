"""Compares systole/pjrt_abi with XLA's pjrt_c_api.h: offsets and sizes of fields, sizes of structs, places of functions, values of enums.

usage: pjrt_headers.py        with the Python of a client whose TensorFlow has the header. Exit status: 1 for differences.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "systole/pjrt_abi"
# What the list is expanded to: a line for each struct and each field of it.
EXPAND = """
#define ARGS(name, ...) @ name##_Args __VA_ARGS__
#define STRUCT(name, ...) @ name __VA_ARGS__
#define PLAIN(name, ...) @ name __VA_ARGS__
#define IN(type, name) $ name
#define OUT(type, name) $ name
#define INOUT(type, name) $ name
#define IN_FUNCTION(result, name, parameters) $ name
#define OUT_FUNCTION(result, name, parameters) $ name
#define UNION(...) __VA_ARGS__
#include "systole/pjrt_abi/structs.def"
"""


def our_structs() -> dict[str, list[str]]:
    text = subprocess.run(
        ["cc", "-E", "-P", f"-I{ROOT}", "-xc", "-"], input=EXPAND, capture_output=True, text=True, check=True
    ).stdout
    structs = {}
    for part in text.split("@")[1:]:
        name, *fields = part.replace("$", " ").split()
        structs[name] = fields
    functions = re.findall(r"FUNCTION\((\w+)\)", (OURS / "functions.def").read_text().split("\n\n", 1)[1])
    structs["PJRT_Api"] = ["pjrt_api_version", "PJRT_Error_Destroy", "PJRT_Error_Message", *functions]
    return structs


def their_structs(text: str) -> dict[str, list[str]]:
    """Fields in order, by struct. Those of unnamed unions stand among the others."""
    structs = {}
    for name, body in re.findall(r"(?:typedef )?struct (PJRT_\w+) \{\n(.*?)\n\}", text, re.S):
        body = re.sub(r"//[^\n]*", "", body).replace("union {", "")
        fields = []
        for part in filter(None, (p.strip(" \n}") for p in body.split(";"))):
            pointer = re.search(r"\(\*(\w+)\)", part)
            macro = re.match(r"_PJRT_API_STRUCT_FIELD\((\w+)\)", part)
            match = pointer or macro or re.search(r"(\w+)$", part)
            fields.append(match[1])
        structs[name] = [f for f in fields if f not in ("struct_size", "extension_start")]
    return structs


def measure(include: Path, header: str, probes: list[str]) -> list[str]:
    code = f'#include <stddef.h>\n#include <stdio.h>\n#include "{header}"\nint main(void) {{\n'
    code += "".join(f'printf("%ld\\n", (long)({probe}));\n' for probe in probes) + "return 0;}\n"
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "probe"
        subprocess.run(
            ["cc", "-w", f"-I{include}", "-xc", "-", "-o", str(program)], input=code, text=True, check=True
        )
        return subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split()


def main() -> int:
    spec = importlib.util.find_spec("tensorflow")
    include = Path(spec.origin).parent / "include" if spec and spec.origin else None
    if include is None or not (include / "xla/pjrt/c/pjrt_c_api.h").exists():
        print("skipped: this client has no TensorFlow with xla/pjrt/c/pjrt_c_api.h")
        return 77
    text = (include / "xla/pjrt/c/pjrt_c_api.h").read_text()
    version = re.search(r"define PJRT_API_MINOR (\d+)", text)[1]
    ours, theirs = our_structs(), their_structs(text)
    problems, probes = [], []
    for name, fields in theirs.items():
        if name not in ours:
            problems.append(f"struct {name}: not in structs.def")
            continue
        mine = [f for f in ours[name] if f not in ("struct_size", "extension_start")]
        if mine[: len(fields)] != fields:
            problems.append(f"struct {name}: fields {mine}, expected to begin with {fields}")
            continue
        probes += [f"offsetof({name}, {f})" for f in fields] + [f"sizeof((({name}*)0)->{f})" for f in fields]
        if mine == fields and name + "_STRUCT_SIZE" in (OURS / "structs.def").read_text() + text:
            probes.append(f"{name}_STRUCT_SIZE")
        elif mine == fields and f"PJRT_DEFINE_STRUCT_TRAITS({name}," in text:
            probes.append(f"{name}_STRUCT_SIZE")
    header = (OURS / "pjrt_c_api.h").read_text()
    for body in re.findall(r"typedef enum \{(.*?)\}", re.sub(r"//[^\n]*", "", text), re.S):
        for value in re.findall(r"(PJRT_\w+)", body):
            if re.search(rf"\b{value}\b", header):
                probes.append(value)
            elif "Extension_Type" not in value:
                problems.append(f"value {value}: not in pjrt_c_api.h")
    for probe, got, expected in zip(
        probes,
        measure(ROOT, "systole/pjrt_abi/pjrt_c_api.h", probes),
        measure(include, "xla/pjrt/c/pjrt_c_api.h", probes),
        strict=True,
    ):
        if got != expected:
            problems.append(f"{probe}: got {got}, expected {expected}")
    print(*problems, sep="\n")
    print(f"PJRT 0.{version}: {len(theirs)} structs, {len(probes)} values compared, {len(problems)} differ")
    return 1 if problems or len(theirs) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
