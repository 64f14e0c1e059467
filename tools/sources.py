"""What the check tools share: the files of the repository and how a compiler is called on one of them."""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = ("systole", "apps", "examples", "bench", "tests")
CPP = (".h", ".cc")
CACHE = ROOT / "build" / "lint"

# Enough to parse any of our files: no precompiled header needed, and of the build only what protoc makes.
FLAGS = ["-std=c++20", "-I", str(ROOT), "-isystem", "/usr/lib/llvm-19/include",
         "-isystem", str(ROOT / "build" / "release" / "generated" / "proto"), "-Wall", "-Wextra",
         "-Wno-missing-field-initializers", '-DSYSTOLE_VERSION="0"']


def files(suffixes=CPP, folders=CODE, root=ROOT):
    """Files of the repository, new ones included and ignored ones not, relative to the root, sorted."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z", "--", *folders], cwd=root,
                             check=True, capture_output=True, text=True).stdout
        names = set(filter(None, out.split("\0")))
    except (OSError, subprocess.CalledProcessError):  # not a git checkout
        names = {p.relative_to(root).as_posix() for f in folders for p in (root / f).rglob("*") if p.is_file()}
    return sorted(n for n in names if n.endswith(tuple(suffixes)) and (root / n).is_file())


def includes(path, root=ROOT):
    """The quoted includes of a file as (line number, name)."""
    found = []
    for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
        text = line.strip()
        if text.startswith("#include \""):
            found.append((number, text.split('"')[1]))
    return found


def content_key(path, root=ROOT, salt="", memo=None):
    """A hash of a file and of all files of ours that it includes, however deep."""
    seen, todo = set(), [path]
    while todo:
        name = todo.pop()
        if name in seen or not (root / name).is_file():
            continue
        seen.add(name)
        todo += [inc for _, inc in includes(name, root)]
    digest = hashlib.sha256(salt.encode())
    for name in sorted(seen):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return digest.hexdigest()


def run_cached(kind, paths, command, salt):
    """Runs command(path) for each path, in parallel, unless it passed before on the same content.

    Returns the outputs of those that failed."""
    cache = CACHE / kind
    cache.mkdir(parents=True, exist_ok=True)

    def one(path):
        stamp = cache / content_key(path, salt=salt)
        if stamp.exists():
            return None
        done = subprocess.run(command(path), cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            stamp.touch()
            return None
        text = re.sub(r"^\d+ (warnings?|errors?).* generated\.$|^Suppressed .*$|^Use -header-filter.*$", "",
                      done.stdout + done.stderr, flags=re.M).strip()
        return text or f"{path}: {command(path)[0]} failed without a word"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [text for text in pool.map(one, paths) if text]


def finish(check, problems, count, unit="files"):
    """Prints the problems and one line of summary; exits with 1 when there are any."""
    for problem in problems:
        print(problem)
    print(f"{check}: {count} {unit}, " + (f"{len(problems)} problems" if problems else "ok"))
    sys.exit(1 if problems else 0)
