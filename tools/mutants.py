#!/usr/bin/env python3
"""Shows which faults of a PJRT plugin `systole conform` finds.

Writes changes (mutants) into copies of the plugin's sources, each switched on by SYSTOLE_MUTANT=number, and links them once. Each check runs
once without a mutant, noting which changes it reaches; a mutant then runs the checks that reach it. It is found if one of them fails.

usage: tools/mutants.py [--build build/release] [--count 100] [--seed 1] [--only N] [--jobs N] [--report FILE]
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import mmap
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

HEADER = """#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
namespace systole_mutants {
struct State {
  int chosen = -1;
  unsigned char* reached = nullptr;  // a byte for each mutant, in a file
};
inline const State& state() {
  static const State made = [] {
    State state;
    if (const char* const text = std::getenv("SYSTOLE_MUTANT")) state.chosen = std::atoi(text);
    const char* const path = std::getenv("SYSTOLE_MUTANTS_REACHED");
    const int file = path == nullptr ? -1 : open(path, O_RDWR);
    if (file < 0) return state;
    void* const memory = mmap(nullptr, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) state.reached = static_cast<unsigned char*>(memory);
    return state;
  }();
  return made;
}
}  // namespace systole_mutants
inline bool systole_mutant(int number) {
  const systole_mutants::State& state = systole_mutants::state();
  if (state.reached != nullptr) state.reached[number] = 1;
  return state.chosen == number;
}
"""
SIZE = 1 << 20  # numbers of mutants are smaller
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
# Lines whose changes no caller can see, and why.
EQUIVALENT = [
    (r"\.reserve\(", "memory that is reserved changes the speed only"),
    (r"PJRT_\w+_STRUCT_SIZE", "sizes that the compiler checks"),
    (r"last_\.store|is_short\(\)|\bkShort\b|\bkSmall\b", "where a short program runs changes the speed only"),
    (r"forked\(\)|check_not_forked|detach\(\)", "a fork, which callers of the C API must not do: python/tests checks it"),
    (r"thread_id_", "calls of the plugin by functions that its programs call: python/tests checks them"),
    (r"\ba\.\w+_indices = nullptr;$", "a pointer to a list of no elements"),
    (r"systole_version", "a name that only our own tools read"),
    (r"owned\.empty\(\)\) delete", "memory that is never freed"),
    (r"name_thread|\b(pointers|sizes)_\.clear\(\);$", "the name of a thread; lists that are empty already"),
    (r"bad_alloc|out_of_memory", "reached without memory only: plugin_test checks it"),
    (r"queue == nullptr|register_reference_backend|Queues|queues_", "reached at the end of the process only"),
]
# The file and the change of mutants that were read one by one and no caller can see, and why.
SAME = {
    ("error.cc", "size_t size = 0;"): "memcpy sets it in the next line",
    ("executable.cc", "size_t size = 0;"): "from_chars sets it, or the function throws",
    ("buffer.cc", "a.layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;"): "the number 0, which make() gives it",
    ("topology.cc", "a.attributes = a.topology->attributes.data();"): "a pointer to a list of no elements",
    ("async_client.cc", "int device_id = 0;"): "who makes an array sets it",
    (
        "execute.cc",
        "return std::memcmp(elements_of(*buffer).raw(), first.raw(), size) != 0;",
    ): "values that are alike go through the program for those that are not, which gives the same results",
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: pathlib.Path
    line: int  # from 0
    text: str  # with N for the number
    kind: str
    number: int


def is_statement(lines: list[str], number: int) -> bool:
    """Whether the line does not continue the one before."""
    before = lines[number - 1].split("//")[0].rstrip() if number > 0 else ""
    return not before or before.endswith((";", "{", "}", ":", ")"))


def mutants_of(path: pathlib.Path, seed: int) -> list[Mutant]:
    """Returns one change for each line that can be changed, with a number that depends on the line's text only."""
    lines = path.read_text().splitlines()
    found = []
    for number, line in enumerate(lines):
        if line.lstrip().startswith(("//", "#", "static_assert", "constexpr", "inline constexpr", "template", "case ", "for ")):
            continue
        if not is_statement(lines, number) or any(re.search(pattern, line) for pattern, _ in EQUIVALENT):
            continue
        rules = [rule for rule in RULES if rule[1].match(line)]
        if not rules:
            continue
        digest = int(hashlib.sha1(f"{seed}:{path.name}:{lines[max(0, number - 3) : number + 1]}".encode()).hexdigest(), 16)
        kind, pattern, becomes = rules[digest % len(rules)]
        if (path.name, line.strip()) not in SAME:
            found.append(Mutant(path, number, pattern.sub(becomes, line), kind, (digest >> 8) % SIZE))
    return found


def choose(sources: list[pathlib.Path], count: int, seed: int) -> list[Mutant]:
    """Returns `count` of the changes, those with the smallest numbers: a change of one file leaves most of the others' as they are."""
    by_number = {mutant.number: mutant for path in sources for mutant in mutants_of(path, seed)}
    return [by_number[number] for number in sorted(by_number)[:count]]


def headers_of(path: pathlib.Path, seen: set[pathlib.Path]) -> set[pathlib.Path]:
    """Adds the headers of this repository that the file includes to `seen`, and those that they include."""
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        header = pathlib.Path(name)
        if header.exists() and header not in seen:
            seen.add(header)
            headers_of(header, seen)
    return seen


class Library:
    """The plugin with all mutants in it."""

    def __init__(self, build: pathlib.Path, sources: list[pathlib.Path], chosen: list[Mutant]) -> None:
        self.build = build
        self.folder = build / "mutants"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.refused: set[int] = set()
        self.chosen = chosen
        header = self.folder / "mutant.h"
        text = HEADER.replace("SIZE", str(SIZE))
        if not header.exists() or header.read_text() != text:
            header.write_text(text)
        entries = json.loads((build / "compile_commands.json").read_text())
        self.commands = {pathlib.Path(e["file"]).name: e for e in entries if "/systole_pjrt.dir/" in e["command"]}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(self.compile, sources))
        self.link(sources)

    def compile(self, path: pathlib.Path) -> None:
        """Compiles the file with its mutants, without those that do not compile."""
        copy, target = self.folder / path.name, self.folder / (path.name + ".o")
        refused_list = self.folder / (path.name + ".refused")
        while True:
            lines, at_line = path.read_text().splitlines(), {}
            if refused_list.exists():
                self.refused |= set(json.loads(refused_list.read_text()))
            for mutant in self.chosen:
                if mutant.path == path and mutant.number not in self.refused:
                    lines[mutant.line] = mutant.text.replace("systole_mutant(N)", f"systole_mutant({mutant.number})")
                    at_line[mutant.line + 1] = mutant.number
            text = "\n".join(lines) + "\n"
            newest = max(header.stat().st_mtime for header in [self.folder / "mutant.h", *headers_of(path, set())])
            if target.exists() and copy.read_text() == text and target.stat().st_mtime > newest:
                return
            target.unlink(missing_ok=True)
            copy.write_text(text)
            run = subprocess.run(self.command(path, copy, target), cwd=self.entry(path)["directory"], capture_output=True, text=True)
            if run.returncode == 0:
                return
            wrong = {at_line[int(n)] for n in re.findall(rf"{re.escape(path.name)}:(\d+):\d+: error", run.stderr) if int(n) in at_line}
            if not wrong:
                sys.exit(f"mutants: {path.name} does not compile:\n{run.stderr[:2000]}")
            self.refused |= wrong
            refused_list.write_text(json.dumps(sorted(self.refused & {m.number for m in self.chosen if m.path == path})))

    def entry(self, path: pathlib.Path) -> dict[str, str]:
        return self.commands.get(path.name) or self.commands["api.cc"]

    def command(self, path: pathlib.Path, copy: pathlib.Path, target: pathlib.Path) -> list[str]:
        words = [w for w in shlex.split(self.entry(path)["command"]) if not w.endswith("ccache")]
        words[words.index("-o") + 1] = str(target.resolve())
        words[words.index("-c") + 1] = str(copy.resolve())
        words[1:1] = ["-w", "-iquote", str(path.parent.resolve())]
        return [*words, "-Wno-error", "-include", str((self.folder / "mutant.h").resolve())]

    def link(self, sources: list[pathlib.Path]) -> None:
        self.path = (self.folder / "libsystole_pjrt.so").resolve()
        lines = subprocess.run(
            ["ninja", "-C", str(self.build), "-t", "commands", "lib/libsystole_pjrt.so"], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        objects = " ".join(str((self.folder / (path.name + ".o")).resolve()) for path in sources)
        link = re.sub(r"( plugin/CMakeFiles/systole_pjrt\.dir/\S+\.o)+", " " + objects, lines[-1])
        link = link.replace("-o lib/libsystole_pjrt.so", f"-o {self.path}")
        subprocess.run(link, shell=True, cwd=self.build, check=True, capture_output=True)


class Checks:
    """The checks of the command, on the plugin with mutants."""

    def __init__(self, systole: pathlib.Path, library: Library) -> None:
        self.systole = systole
        self.library = library
        listing = subprocess.run([systole, "conform", "--list"], capture_output=True, text=True, check=True).stdout
        self.names = [line for line in listing.splitlines() if not line.startswith(" ")]

    def failures(self, names: list[str], mutant: int, reached: pathlib.Path | None = None) -> list[str]:
        """Runs the checks of these names; returns those that do not pass, and the ones that are absent as well."""
        environment = {**os.environ, "SYSTOLE_MUTANT": str(mutant), "SYSTOLE_CACHE_DIR": ""}
        if reached is not None:
            environment["SYSTOLE_MUTANTS_REACHED"] = str(reached)
        pattern = "^(" + "|".join(re.sub(r"([^\w ,'])", r"\\\1", name) for name in names) + ")$"
        run = subprocess.run(
            [self.systole, "conform", self.library.path, "--client-options", "cores=2", "--timeout", "20", "--json", "-q", "--filter", pattern],
            env=environment,
            capture_output=True,
            text=True,
        )
        try:
            checks = json.loads(run.stdout)["checks"]
        except (ValueError, KeyError):
            return [f"the plugin cannot be loaded {run.stderr[-200:]}"]
        return [check["check"] for check in checks if check["outcome"] != "pass"]

    def cover(self, pool: concurrent.futures.Executor) -> dict[str, set[int]]:
        """Runs each check alone; returns the mutants that each of those that pass reaches."""
        reached = dict(zip(self.names, pool.map(self.reached_by, self.names), strict=True))
        return {name: numbers for name, numbers in reached.items() if numbers is not None}

    def reached_by(self, name: str) -> set[int] | None:
        with tempfile.NamedTemporaryFile(dir=self.library.folder) as file:
            file.truncate(SIZE)
            if self.failures([name], -1, reached=pathlib.Path(file.name).resolve()):
                print(f"passes not without a mutant: {name}", file=sys.stderr)
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as memory:
                return {m.number for m in self.library.chosen if memory[m.number]}

    def find(self, mutant: int, covered: dict[str, set[int]]) -> str:
        """Returns the checks that find a mutant: of those that reach it, the ones that reach the fewest come first."""
        names = sorted((name for name in covered if mutant in covered[name]), key=lambda name: len(covered[name]))
        for begin in range(0, len(names), 8):
            found = self.failures(names[begin : begin + 8], mutant)
            if found:
                return ", ".join(found)
        return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"), help="the build folder")
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="chooses them")
    parser.add_argument("--only", type=int, help="one mutant, by number")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many checks run at a time")
    parser.add_argument("--report", type=pathlib.Path, help="write a table to this file")
    parser.add_argument("--systole", type=pathlib.Path, help="the command; default: bin/systole of the build")
    args = parser.parse_args()
    sources = [s for s in sorted(pathlib.Path("plugin").glob("*.cc")) if not s.name.endswith("_test.cc")]
    library = Library(args.build, sources, choose(sources, args.count * 5 // 4, args.seed))
    checks = Checks(args.systole or args.build / "bin/systole", library)
    compiled = [mutant for mutant in library.chosen if mutant.number not in library.refused]
    tried = [mutant for mutant in compiled[: args.count] if args.only in (None, mutant.number)]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        covered = checks.cover(pool)
        for mutant, found in zip(tried, pool.map(lambda mutant: checks.find(mutant.number, covered), tried), strict=True):
            rows.append((mutant, found))
            change = mutant.text.strip().replace("systole_mutant(N)", "MUTANT")
            print(f"{mutant.number:7} {mutant.path.name}:{mutant.line + 1} {mutant.kind}: {found or 'NOT FOUND: ' + change}", flush=True)
    print(f"found {sum(1 for _, found in rows if found)} of {len(rows)}")
    if args.report:
        table = "\n".join(f"| {m.path.name}:{m.line + 1} | {m.kind} | {found or '**not found**'} |" for m, found in rows)
        args.report.write_text(f"| where | change | found by |\n|---|---|---|\n{table}\n")


if __name__ == "__main__":
    main()
