"""Functions of the check tools: lists files of the repository and runs compilers on them."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = ("systole", "apps", "plugin", "examples", "bench", "tests")
CPP = (".h", ".cc")
CACHE = ROOT / "build" / "lint"

MESSAGES = CACHE / "proto"  # generated code; see make_messages() and make_lists()

# Flags with which a compiler can parse any of our files without a build.
FLAGS = ["-std=c++20", "-I", str(ROOT), "-isystem", "/usr/lib/llvm-19/include",
         "-isystem", str(MESSAGES), "-Wall", "-Wextra", "-Wno-missing-field-initializers",
         '-DSYSTOLE_VERSION="0"', '-DEXAMPLES_DATA_DIR="."']


def files(suffixes=CPP, folders=CODE, root=ROOT):
    """Returns the sorted paths of tracked and new files, relative to the root. Ignored files are left out."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", "--", *folders], cwd=root,
                             check=True, capture_output=True, text=True).stdout
        names = set(filter(None, out.split("\0")))
    except (OSError, subprocess.CalledProcessError):  # not a git checkout
        names = {p.relative_to(root).as_posix() for f in folders for p in (root / f).rglob("*") if p.is_file()}
    return sorted(n for n in names if n.endswith(tuple(suffixes)) and (root / n).is_file())


def includes(path, root=ROOT):
    """Returns the quoted includes of a file as (line number, name)."""
    found = []
    for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
        text = line.strip()
        if text.startswith("#include \""):
            found.append((number, text.split('"')[1]))
    return found


def closure(path, root=ROOT):
    """Returns a file and all our files that it includes, directly or not."""
    seen, todo = set(), [path]
    while todo:
        name = todo.pop()
        if name in seen or not (root / name).is_file():
            continue
        seen.add(name)
        todo += [inc for _, inc in includes(name, root)]
    return seen


def content_key(path, root=ROOT, salt=""):
    """Returns a hash of a file and of all our files that it includes."""
    digest = hashlib.sha256(salt.encode())
    for name in sorted(closure(path, root)):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return digest.hexdigest()


def git(*args):
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def default_base():
    """Returns the revision to compare with, or "" if there is none."""
    head = git("rev-parse", "HEAD")
    left = git("merge-base", "HEAD", "origin/main")
    return left if left and left != head else git("rev-parse", "--verify", "-q", "HEAD~1")


def changed(args):
    """Returns the files that changed since the revision in `args`, or None for all files (`--all`). The default revision is
    the merge base with origin/main, else the parent of the last commit. Prints the docstring and exits on `--help`."""
    if not {"-h", "--help"}.isdisjoint(args):
        sys.exit(print(sys.modules["__main__"].__doc__))
    base = next((a for a in args if a != "--all"), None) or default_base()
    if "--all" in args or not base:
        return None
    if not git("rev-parse", "--verify", "-q", base + "^{commit}"):
        sys.exit(f"{base}: revision, got none, expected one to compare with")
    return set((git("diff", "--name-only", base) + "\n" + git("ls-files", "-o", "--exclude-standard")).split())


def one_by_one(paths):
    return [[path] for path in paths]


def make_messages():
    """Generates the C++ code of the protocol buffers."""
    MESSAGES.mkdir(parents=True, exist_ok=True)
    protos = files(suffixes=(".proto",))
    subprocess.run(["protoc", f"--cpp_out={MESSAGES}", f"--grpc_out={MESSAGES}",
                    f"--plugin=protoc-gen-grpc={shutil.which('grpc_cpp_plugin')}", f"--proto_path={ROOT}", *protos],
                   cwd=ROOT, check=True)


def make_lists():
    """Generates the headers <folder>/all.h that the build makes: each includes the headers of its folder."""
    headers = files(suffixes=(".h",))
    folders = {folder for path in headers for folder in
               re.findall(r'^#include "([\w/]+)/all\.h"', (ROOT / path).read_text(), re.MULTILINE)}
    for folder in folders:
        listed = [path for path in headers if os.path.dirname(path) == folder]
        (MESSAGES / folder).mkdir(parents=True, exist_ok=True)
        (MESSAGES / folder / "all.h").write_text("#pragma once\n" + "".join(f'#include "{path}"\n' for path in listed))


def run_cached(kind, paths, command, salt, grouped=one_by_one):
    """Runs command(group) in parallel for each group of grouped(paths) and returns the outputs of failed commands.

    Files that passed before with the same content are skipped. If a group does not compile, each of its files runs alone,
    because names may clash."""
    cache = CACHE / kind
    cache.mkdir(parents=True, exist_ok=True)
    make_messages()
    make_lists()
    stamps = {path: cache / content_key(path, salt=salt) for path in paths}

    def run(group):
        done = subprocess.run(command(group), cwd=ROOT, capture_output=True, text=True)
        text = re.sub(r"^\d+ (warnings?|errors?).* generated\.$|^Suppressed .*$|^Use -header-filter.*$", "",
                      done.stdout + done.stderr, flags=re.M).strip()
        if done.returncode == 0:
            for path in group:
                stamps[path].touch()
            return []
        if len(group) > 1 and "clang-diagnostic-error" in text:
            return [problem for path in group for problem in run([path])]
        return [text or f"{group}: {command(group)[0]} failed without output"]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        groups = grouped([path for path in paths if not stamps[path].exists()])
        return [problem for problems in pool.map(run, groups) for problem in problems]


def finish(check, problems, count, unit="files"):
    """Prints the problems and one line of summary. Exits with 1 if there are problems."""
    for problem in problems:
        print(problem)
    print(f"{check}: {count} {unit}, " + (f"{len(problems)} problems" if problems else "ok"))
    sys.exit(1 if problems else 0)
