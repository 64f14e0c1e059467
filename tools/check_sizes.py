#!/usr/bin/env python3
"""Checks sizes and textual rules of C++ files: at most 800 lines per file and 60 per function, headers with `#pragma once`
and without `using namespace`, one door for files.

To find functions, comments and literals are blanked and braces are matched. A `{` opens a function if the text before it,
back to the last `;`, `{`, `}` or label, has a parameter list, no `=` outside it, and is no control statement, namespace or
type. A lambda at namespace scope (in a table) is a function; a lambda in a function is a part of it. The length is the
number of lines with code from the opening to the closing brace, without blank lines and comments. Tables (*.def) have no
limit."""

import re

import sources

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 60
TABLES = ("_cases.cc",)  # test tables: a function that returns rows and does nothing else

# Files are opened by FileSystem (base/file_system.h), or by open_file() (base/open_file.h) where a descriptor is needed. Free
# are tests, the files of the kernel (lines that name /proc, /sys or /dev), and these:
DOOR = re.compile(r"\bstd::(?:basic_)?[io]?fstream\b|\b(?:std::)?fopen\(|(?<![\w:])::open(?:at)?\(")
DOOR_FOLDERS = ("systole/", "apps/", "plugin/")
BEHIND_THE_DOOR = {
    "systole/base/open_file.cc": "open_file() itself",
    "systole/base/available_cpus.cc": "cgroup files of the kernel, in folders that tests give",
    "systole/runtime/memory.cc": "cgroup files of the kernel",
    "systole/io/local/local_file_system.cc": "opens folders, to sync them",
    "apps/board/inside_files.cc": "names a file first, and opens it only inside the log folder",
    "apps/systole/data/convert_command.cc": "locks a folder",
    "systole/worker/session_process.cc": "a file of a process in /proc",
    "apps/systole/train/profile_process.cc": "files of a process in /proc",
}

LITERALS = re.compile(r'''//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+\'''',
                      re.S)
NOT_FUNCTION = re.compile(r"^\s*(?:template\s*<.*>\s*)?(?:inline\s+|export\s+)?"
                          r"(?:namespace|class|struct|enum|union|extern)\b", re.S)


def blank(text):
    """Returns the text with comments and literals replaced by spaces. Keeps line breaks."""
    return LITERALS.sub(lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group().startswith("/")
                        else re.sub(r"[^\n]", "_", m.group()), text)


def opens_function(head):
    """Returns whether a `{` after `head`, outside any function, opens the body of a function or a lambda."""
    head = re.sub(r"^\s*(?:#(?:\\\n|[^\n])*\n\s*)+", "", head)
    if re.search(r"\[[^\[\]]*\]\s*(?:\([^{}]*\)\s*)?(?:mutable\s*)?(?:noexcept\s*)?(?:->[^{}=]*)?$", head):
        return True  # a lambda
    if NOT_FUNCTION.match(head) or "(" not in head:
        return False
    outside = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", head)))
    outside = re.sub(r"operator\s*[^\s\w(]+", "", outside)
    return not re.search(r"(?<![<>=!])=(?!=)", outside) and outside.count("(") <= outside.count(")")


def functions(text):
    """Yields (first line, number of lines with code) of every outermost function. Lines count from 1."""
    text = blank(text)
    code_lines = [0]
    for line in text.split("\n"):
        code_lines.append(code_lines[-1] + bool(line.strip()))
    stack, found, start, line = [], [], 0, 1
    for position, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            inside = any(is_function for is_function, _ in stack)
            stack.append((not inside and opens_function(text[start:position]), line))
            start = position + 1
        elif char == "}" and stack:
            is_function, first = stack.pop()
            if is_function:
                found.append((first, code_lines[line] - code_lines[first - 1]))
            start = position + 1
        elif char == ";":
            start = position + 1
    return found


def check_door(path, text):
    """Returns the problems of files that are opened elsewhere than in the places that may."""
    if not path.startswith(DOOR_FOLDERS) or path.endswith("_test.cc") or "/testing/" in path or path in BEHIND_THE_DOOR:
        return []
    lines = zip(blank(text).split("\n"), text.split("\n"))
    return [f"{path}:{number}: {DOOR.search(line).group()}, expected FileSystem or open_file()"
            for number, (line, raw) in enumerate(lines, 1)
            if DOOR.search(line) and not re.search(r'"/(?:proc|sys|dev)/', raw)]


def check_text(path, text):
    """Returns the problems of one file."""
    problems = check_door(path, text)
    lines = text.count("\n")
    if lines > MAX_FILE_LINES and not path.endswith(".def"):
        problems.append(f"{path}: {lines} lines, expected at most {MAX_FILE_LINES}")
    if path.endswith(".h"):
        if "#pragma once" not in text:
            problems.append(f"{path}: no #pragma once")
        for match in re.finditer(r"^\s*using\s+namespace\b", blank(text), re.M):
            number = text.count("\n", 0, match.end()) + 1
            problems.append(f"{path}:{number}: using namespace in a header")
    if path.endswith(sources.CPP) and not path.endswith(TABLES):
        for first, length in functions(text):
            if length > MAX_FUNCTION_LINES:
                problems.append(f"{path}:{first}: a function of {length} lines, expected at most {MAX_FUNCTION_LINES}")
    return problems


def main():
    paths = sources.files(suffixes=(".h", ".cc", ".def"))
    problems = [p for path in paths for p in check_text(path, (sources.ROOT / path).read_text(errors="replace"))]
    sources.finish("sizes", problems, len(paths))


if __name__ == "__main__":
    main()
