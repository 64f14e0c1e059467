#!/usr/bin/env python3
"""Checks targets whose files are compiled several at a time: layers with UNITY or UNITY_TESTS in their CMakeLists.txt,
commands, and the suites of tests/. Their unnamed namespaces must not share a name: where two functions differ in their
parameters alone, the compiler silently picks one of the other file. Limits are named kMin and kMax in all files."""

import re

import sources
from check_sizes import blank

OPENS = re.compile(r"^namespace(?: ([\w:]+))? \{", re.M)
NOT_DECLARATIONS = ("template", "static_assert", "return")
OVERLOADED = ("PrintTo",)  # GoogleTest finds it by the type of its argument


def declared(line):
    """Returns the name that an unindented line declares, or None."""
    line = re.sub(r"\[\[\w+\]\]|__attribute__\(\(.*?\)\)|decltype\([^)]*\)", "", line)
    while (shorter := re.sub(r"<[^<>]*>", "", line)) != line:  # arguments of templates, innermost first
        line = shorter
    kind = re.match(r"(?:struct|class|union|enum class|enum)\s+(\w+)|using\s+(\w+)\s*=", line)
    if kind or re.match(r"(?:enum|using|namespace)\b", line):
        return kind and (kind.group(1) or kind.group(2))
    found = re.search(r"([\w:]+)\s*(?:\(|=|\[|\{|;)", line)
    name = found.group(1) if found else ""
    if "::" in name or not name or name == "operator" or name in NOT_DECLARATIONS + OVERLOADED:
        return None
    return None if name.isupper() and len(name) > 1 else name  # TEST() and other macros


def unnamed(text):
    """Returns the set of (namespace, name) that the unnamed namespaces of a file declare."""
    found, open_names = set(), []
    for line in blank(text).split("\n"):
        opens = OPENS.match(line)
        if opens:
            open_names.append(opens.group(1) or "")
        elif line.startswith("}") and not line.startswith("};") and line.rstrip() == "}" and open_names:
            if depth == 0:
                open_names.pop()
        elif open_names and open_names[-1] == "" and depth == 0 and re.match(r"[A-Za-z_\[]", line):
            name = declared(line)
            if name:
                found.add(("::".join(filter(None, open_names)), name))
        depth = 0 if opens else max(0, depth + line.count("{") - line.count("}")) if open_names else 0
    return found


def clashes(files):
    """Returns messages about names that two files share. `files` maps paths to texts."""
    owners, messages = {}, []
    for path, text in sorted(files.items()):
        for key in sorted(unnamed(text)):
            first = owners.setdefault(key, path)
            if first != path:
                messages.append(f"{path}: {key[1]} in the unnamed namespace of {key[0]}, got one in {first} too, "
                                "expected a name that is unique in files that are compiled together")
    return messages


def odd_limits(path, text):
    """Returns messages about constants such as kMostRows: limits are kMaxRows and kMinRows."""
    found = sorted(set(re.findall(r"\bk(?:Most|Least|Fewest)(?:[A-Z]\w*)?\b", blank(text))))
    return [f"{path}: {name}, expected kMax... or kMin..." for name in found]


def is_test(path):
    return path.endswith("_test.cc")


def compiled_together():
    """Yields the lists of files that one target compiles together."""
    for top in ("systole", "apps"):
        for path in sorted((sources.ROOT / top).rglob("CMakeLists.txt")):
            call = re.search(r"^systole_(layer|commands)\(([^)]*)\)", path.read_text(), re.M)
            options = call.group(2).split() if call else []
            files = sources.files((".cc",), (str(path.parent.relative_to(sources.ROOT)),))
            if "UNITY" in options:
                yield [p for p in files if not is_test(p) and "/testing/" not in p]
            if call and ("UNITY_TESTS" in options or call.group(1) == "commands"):
                yield [p for p in files if is_test(p)]
    for suite in sorted((sources.ROOT / "tests").iterdir()):
        yield [p for p in sources.files((".cc",), (f"tests/{suite.name}",)) if is_test(p)]


def main():
    messages, count = [], 0
    for paths in compiled_together():
        count += len(paths)
        messages += clashes({p: (sources.ROOT / p).read_text() for p in paths})
    for path in sources.files((".cc", ".h")):
        messages += odd_limits(path, (sources.ROOT / path).read_text())
    sources.finish("names", messages, count)


if __name__ == "__main__":
    main()
