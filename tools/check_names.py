#!/usr/bin/env python3
"""Checks that a layer whose files are compiled several at a time (UNITY in its CMakeLists.txt) has no name twice in the
unnamed namespaces of one namespace: where two functions differ in their parameters alone, the compiler would take the
other file's without a word."""

import re

import sources
from check_sizes import blank

OPENS = re.compile(r"^namespace(?: ([\w:]+))? \{", re.M)
NOT_DECLARATIONS = ("template", "static_assert", "return")


def declared(line):
    """The name that a line at the margin declares, or None."""
    line = re.sub(r"\[\[\w+\]\]|__attribute__\(\(.*?\)\)|decltype\([^)]*\)", "", line)
    while (shorter := re.sub(r"<[^<>]*>", "", line)) != line:  # arguments of templates, innermost first
        line = shorter
    kind = re.match(r"(?:struct|class|union|enum class|enum)\s+(\w+)|using\s+(\w+)\s*=", line)
    if kind or re.match(r"(?:enum|using|namespace)\b", line):
        return kind and (kind.group(1) or kind.group(2))
    found = re.search(r"([\w:]+)\s*(?:\(|=|\[|\{|;)", line)
    name = found.group(1) if found else ""
    return None if "::" in name or not name or name == "operator" or name in NOT_DECLARATIONS else name


def unnamed(text):
    """(namespace, name) of all that the unnamed namespaces of a file declare."""
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
    """Messages about the names that two of the files share; `files` is a map from path to text."""
    owners, messages = {}, []
    for path, text in sorted(files.items()):
        for key in sorted(unnamed(text)):
            first = owners.setdefault(key, path)
            if first != path:
                messages.append(f"{path}: {key[1]} in the unnamed namespace of {key[0]}, got one in {first} too, "
                                "expected one name a layer: its files are compiled together")
    return messages


def main():
    messages, count = [], 0
    lists = [path for top in ("systole", "apps") for path in sorted((sources.ROOT / top).rglob("CMakeLists.txt"))]
    for folder in lists:
        if not re.search(r"^systole_(?:layer|commands)\([^)]*\bUNITY\b", folder.read_text(), re.M):
            continue
        paths = [p for p in sources.files((".cc",), (str(folder.parent.relative_to(sources.ROOT)),))
                 if not p.endswith("_test.cc") and "/testing/" not in p]
        count += len(paths)
        messages += clashes({p: (sources.ROOT / p).read_text() for p in paths})
    sources.finish("names", messages, count)


if __name__ == "__main__":
    main()
