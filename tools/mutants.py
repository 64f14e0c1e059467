#!/usr/bin/env python3
"""Shows which faults of a PJRT plugin `systole conform` finds.

Writes changes (mutants) into copies of the plugin's sources, each switched on by SYSTOLE_MUTANT=number, links them once, and runs the
checks on each mutant. A mutant is found if a check fails that passes without it.

usage: tools/mutants.py [--build build/release] [--count 100] [--seed 1] [--only N] [--report FILE]
"""

import argparse
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

HEADER = """#pragma once
#include <cstdlib>
inline bool systole_mutant(int number) {
  static const int chosen = [] { const char* const text = std::getenv("SYSTOLE_MUTANT"); return text == nullptr ? -1 : std::atoi(text); }();
  return chosen == number;
}
"""
# A line, what it becomes (the number of the mutant is N), and a word for it.
RULES = [
    ("condition turned", re.compile(r"^(\s*(?:\} else )?if \()((?:[^()]|\([^()]*\))+)(\).*)$"), r"\1systole_mutant(N) != static_cast<bool>(\2)\3"),
    ("statement left out", re.compile(r"^(\s*)((?:a|args)\.[\w.\[\]>-]+ = [^;{}]+;)$"), r"\1if (!systole_mutant(N)) \2"),
    (
        "statement left out",
        re.compile(r"^(\s*)((?!return|delete|throw|using|if|else|const|auto|static|for|while)[\w.>-]+\([^;{}]*\);)$"),
        r"\1if (!systole_mutant(N)) \2",
    ),
    ("number changed", re.compile(r"^(.*[=(,] ?)(0|1|2)([;,)].*)$"), r"\1(\2 + systole_mutant(N))\3"),
    ("result turned", re.compile(r"^(\s*return )([\w.>()-]+ (?:==|!=|<|>) [\w.>()-]+)(;)$"), r"\1systole_mutant(N) != (\2)\3"),
]


def mutations(text: str) -> list[tuple[int, str, str]]:
    """Returns (line, its mutated text with N, kind) for each change that can be made to a source."""
    found = []
    for number, line in enumerate(text.splitlines()):
        if line.lstrip().startswith(("//", "#", "static_assert", "constexpr", "inline constexpr", "template", "case ", "for ")):
            continue
        for kind, pattern, becomes in RULES:
            if pattern.match(line) is None:
                continue
            found.append((number, pattern.sub(becomes, line), kind))
    return found


def choose(sources: list[pathlib.Path], count: int, seed: int) -> list[tuple[pathlib.Path, int, str, str]]:
    all_of_them = [(path, *mutation) for path in sources for mutation in mutations(path.read_text())]
    random.Random(seed).shuffle(all_of_them)
    taken: set[tuple[pathlib.Path, int]] = set()
    chosen = []
    for mutant in all_of_them:  # one a line
        if (mutant[0], mutant[1]) not in taken:
            taken.add((mutant[0], mutant[1]))
            chosen.append(mutant)
    return chosen[:count]


def compile_mutants(build: pathlib.Path, folder: pathlib.Path, chosen: list[tuple[pathlib.Path, int, str, str]]) -> tuple[pathlib.Path, set[int]]:
    """Returns the library of all mutants and the numbers of those that do not compile."""
    commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text()) if "systole_pjrt.dir" in entry["command"]}
    (folder / "mutant.h").write_text(HEADER)
    refused: set[int] = set()
    objects: dict[str, str] = {}
    for path in sorted({mutant[0] for mutant in chosen}):
        entry = next(e for f, e in commands.items() if f.endswith(f"/plugin/{path.name}"))
        while True:
            lines = path.read_text().splitlines()
            at_line = {}
            for number, (of, line, text, _) in enumerate(chosen):
                if of == path and number not in refused:
                    lines[line] = text.replace("systole_mutant(N)", f"systole_mutant({number})")
                    at_line[line + 1] = number
            copy = folder / path.name
            copy.write_text("\n".join(lines) + "\n")
            words = [w for w in shlex.split(entry["command"]) if not w.endswith("ccache")]
            out = words.index("-o")
            old = words[out + 1]
            words[out + 1] = str((folder / (path.name + ".o")).resolve())
            words = [str(copy.resolve()) if w.endswith(f"/plugin/{path.name}") else w for w in words]
            words[1:1] = ["-include", str((folder / "mutant.h").resolve()), "-w", "-iquote", str(path.parent.resolve())]
            run = subprocess.run([*words, "-Wno-error"], cwd=entry["directory"], capture_output=True, text=True)
            if run.returncode == 0:
                objects[old] = str((folder / (path.name + ".o")).resolve())
                break
            wrong = {at_line[int(n)] for n in re.findall(rf"{re.escape(path.name)}:(\d+):\d+: error", run.stderr) if int(n) in at_line}
            if not wrong:
                sys.exit(f"mutants: {path.name} does not compile:\n{run.stderr[:2000]}")
            refused |= wrong
    link = subprocess.run(
        ["ninja", "-C", str(build), "-t", "commands", "lib/libsystole_pjrt.so"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    library = (folder / "libsystole_pjrt.so").resolve()
    link = link.replace("-o lib/libsystole_pjrt.so", f"-o {library}")
    for old, new in objects.items():
        link = link.replace(f" {old}", f" {new}")
    subprocess.run(link, shell=True, cwd=build, check=True, capture_output=True)
    return library, refused


def failures(systole: pathlib.Path, library: pathlib.Path, mutant: int) -> set[str] | str:
    environment = {**os.environ, "SYSTOLE_MUTANT": str(mutant), "SYSTOLE_CACHE_DIR": ""}
    run = subprocess.run(
        [systole, "conform", library, "--client-options", "cores=2", "--timeout", "20", "--json", "-q"],
        env=environment,
        capture_output=True,
        text=True,
    )
    try:
        checks = json.loads(run.stdout)["checks"]
    except (ValueError, KeyError):
        return "the plugin cannot be loaded"
    return {check["check"] for check in checks if check["outcome"] != "pass"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"), help="the build folder")
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="chooses them")
    parser.add_argument("--only", type=int, help="one mutant, by number")
    parser.add_argument("--report", type=pathlib.Path, help="write a table to this file")
    parser.add_argument("--systole", type=pathlib.Path, help="the command; default: bin/systole of the build")
    args = parser.parse_args()
    folder = args.build / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    sources = sorted(pathlib.Path("plugin").glob("*.cc"))
    chosen = choose([s for s in sources if not s.name.endswith("_test.cc")], args.count * 2, args.seed)
    library, refused = compile_mutants(args.build, folder, chosen)
    systole = args.systole or args.build / "bin/systole"
    without = failures(systole, library, -1)
    if isinstance(without, str):
        sys.exit(f"mutants: {without} without a mutant")
    rows = []
    for number, (path, line, text, kind) in enumerate(chosen):
        if number in refused or len(rows) == args.count or (args.only is not None and number != args.only):
            continue
        new = failures(systole, library, number)
        found = new if isinstance(new, str) else ", ".join(sorted(new - without))
        rows.append((number, path.name, line + 1, kind, found, text.strip().replace("systole_mutant(N)", "MUTANT")))
        print(f"{number:4} {path.name}:{line + 1} {kind}: {found or 'NOT FOUND'}", flush=True)
    found_count = sum(1 for row in rows if row[4])
    print(f"found {found_count} of {len(rows)}")
    if args.report:
        table = "\n".join(f"| {n} | {f}:{line} | {k} | {w or '**not found**'} |" for n, f, line, k, w, _ in rows)
        args.report.write_text(f"| mutant | where | change | found by |\n|---|---|---|---|\n{table}\n")


if __name__ == "__main__":
    main()
