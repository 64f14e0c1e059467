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

MESSAGES = CACHE / "proto"  # what protoc makes; see make_messages()

# Enough to parse any of our files, without a build.
FLAGS = ["-std=c++20", "-I", str(ROOT), "-isystem", "/usr/lib/llvm-19/include",
         "-isystem", str(MESSAGES), "-Wall", "-Wextra", "-Wno-missing-field-initializers",
         '-DSYSTOLE_VERSION="0"', '-DEXAMPLES_DATA_DIR="."']


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


def closure(path, root=ROOT):
    """A file and all files of ours that it includes, however deep."""
    seen, todo = set(), [path]
    while todo:
        name = todo.pop()
        if name in seen or not (root / name).is_file():
            continue
        seen.add(name)
        todo += [inc for _, inc in includes(name, root)]
    return seen


def content_key(path, root=ROOT, salt=""):
    """A hash of a file and of all files of ours that it includes."""
    digest = hashlib.sha256(salt.encode())
    for name in sorted(closure(path, root)):
        digest.update(name.encode() + b"\0" + (root / name).read_bytes())
    return digest.hexdigest()


def git(*args):
    done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def default_base():
    """The revision to compare with, or "" when there is none: then everything is new."""
    head = git("rev-parse", "HEAD")
    left = git("merge-base", "HEAD", "origin/main")
    return left if left and left != head else git("rev-parse", "--verify", "-q", "HEAD~1")


def changed(args):
    """The files that changed since the revision that a check's arguments name, by default where this branch left
    origin/main, else the last commit's parent; None for all files: that is what `--all` says. `--help` ends the check with its text."""
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
    """The C++ code of the protocol buffers, which some sources include."""
    MESSAGES.mkdir(parents=True, exist_ok=True)
    protos = files(suffixes=(".proto",))
    subprocess.run(["protoc", f"--cpp_out={MESSAGES}", f"--proto_path={ROOT}", *protos], cwd=ROOT, check=True)


def run_cached(kind, paths, command, salt, grouped=one_by_one):
    """Runs command(group) for each group of grouped(paths), in parallel; what passed before on the same content is left out.

    A group that does not even compile is taken apart: the names of its files may clash. Returns the outputs of those that
    failed."""
    cache = CACHE / kind
    cache.mkdir(parents=True, exist_ok=True)
    make_messages()
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
        return [text or f"{group}: {command(group)[0]} failed without a word"]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        groups = grouped([path for path in paths if not stamps[path].exists()])
        return [problem for problems in pool.map(run, groups) for problem in problems]


def finish(check, problems, count, unit="files"):
    """Prints the problems and one line of summary; exits with 1 when there are any."""
    for problem in problems:
        print(problem)
    print(f"{check}: {count} {unit}, " + (f"{len(problems)} problems" if problems else "ok"))
    sys.exit(1 if problems else 0)
