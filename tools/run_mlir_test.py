#!/usr/bin/env python3
"""Runs the RUN lines of an .mlir file, as LLVM's lit does.

usage: run_mlir_test.py --systole PROGRAM [--filecheck PROGRAM] FILE
Each line `// RUN: COMMAND` is a command of the shell, in which `systole` and FileCheck are the programs given and %s is
FILE. A pipe fails if one of its commands does. Exits 1 at the first command that fails, and without FileCheck.
"""

import argparse
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

RUN = re.compile(r"^//\s*RUN:\s*(.*\S)", re.M)


def commands(text: str, programs: dict[str, str], path: str) -> list[str]:
    """Returns the commands of the RUN lines of a file, with `%s` and the names of programs replaced."""
    names = re.compile(r"%s|\b(?:" + "|".join(map(re.escape, programs)) + r")\b(?=\s)")
    values = {name: shlex.quote(value) for name, value in {**programs, "%s": path}.items()}
    return [names.sub(lambda match: values[match.group()], line) for line in RUN.findall(text)]


def find_filecheck(given: str | None) -> str | None:
    """Returns the path of FileCheck: the given one, if it exists, else one of an LLVM that is installed."""
    for name in (given, "FileCheck-19", "/usr/lib/llvm-19/bin/FileCheck", "FileCheck"):
        found = shutil.which(name) if name else None
        if found:
            return found
    return None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--systole", required=True)
    parser.add_argument("--filecheck")
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args(arguments)
    filecheck = find_filecheck(options.filecheck)
    if filecheck is None:
        print("FileCheck: got none, expected that of the package llvm-19-tools (tools/install-deps.sh)")
        return 1
    text = options.file.read_text(encoding="utf-8")
    lines = commands(text, {"systole": options.systole, "FileCheck": filecheck}, str(options.file))
    if not lines:
        print(f"{options.file}: got no RUN line, expected `// RUN: systole hlo opt ... %s | FileCheck %s`")
        return 1
    for line in lines:
        status = subprocess.run(["bash", "-o", "pipefail", "-c", line], check=False).returncode
        if status != 0:
            print(f"{options.file}: exit status {status} of: {line}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
