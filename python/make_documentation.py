"""Writes the comments of functions in headers as a table of C++, for the documentation of Python's functions.

usage: make_documentation.py FILE HEADER...      FILE gets lines {"softmax", R"doc(...)doc"}, one a function
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_FUNCTION = re.compile(r"^(?:inline |template <.*> )?[\w:<>,&*\[\] ]+[ &*](\w+)\(([^;{]*)[;{]?")
_FIELD = re.compile(r"^  [\w:<>,*& ]+ (\w+)(?: = [^;]*)?;(?:\s*// (.*))?$")
_OPTIONS = re.compile(r"const (\w+(?:Options|Args))&")


def _paragraph(comment: list[str]) -> str:
    return " ".join(line.removeprefix("//").strip() for line in comment).strip()


def _fields(lines: list[str]) -> dict[str, dict[str, str]]:
    """{struct: {field: its comment}} of the structs of a header."""
    structs: dict[str, dict[str, str]] = {}
    fields: dict[str, str] | None = None
    comment: list[str] = []
    for line in lines:
        begin = re.match(r"^struct (\w+)", line)
        if begin:
            fields = structs.setdefault(begin.group(1), {})
        elif line.startswith("}"):
            fields = None
        elif fields is not None and line.startswith("  //"):
            comment.append(line.strip())
            continue
        elif fields is not None and (field := _FIELD.match(line)):
            text = _paragraph(comment) or (field.group(2) or "")
            if text:
                fields[field.group(1)] = text
        comment = []
    return structs


def documentation(text: str) -> dict[str, str]:
    """{function: what it does, and its options' comments} of a header. The first of several of a name counts."""
    lines = text.splitlines()
    structs = _fields(lines)
    found: dict[str, str] = {}
    comment: list[str] = []
    for i, line in enumerate(lines):
        if line.startswith("//"):
            comment = [*comment, line] if i and lines[i - 1].startswith("//") else [line]
            continue
        function = _FUNCTION.match(line)
        if not function or not comment or comment[0].startswith("// --"):
            if not line.startswith(" ") and not function:
                comment = []
            continue
        declaration = " ".join(lines[i : i + 4]).partition(");")[0]
        parts = [_paragraph(comment)]
        for options in _OPTIONS.findall(declaration):
            rows = [f"  {name}: {what}" for name, what in structs.get(options, {}).items()]
            if rows:
                parts += ["", "Options:", *rows]
        found.setdefault(function.group(1), "\n".join(parts))
    return found


def main(words: list[str]) -> None:
    every: dict[str, str] = {}
    for header in words[1:]:
        for name, text in documentation(Path(header).read_text(encoding="utf-8")).items():
            every.setdefault(name, text)
    rows = [f'{{"{name}", R"doc({text})doc"}},\n' for name, text in sorted(every.items())]
    Path(words[0]).write_text("".join(rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
