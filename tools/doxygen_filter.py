#!/usr/bin/env python3
"""Converts a header for doxygen: ordinary comments become documentation. Text that doxygen would read as a command, HTML
or a link is escaped. Writes to standard output."""

import re
import sys

COMMENT = re.compile(r"^\s*//( |$)")


def plain(text):
    """Escapes text so that doxygen shows it unchanged."""
    return re.sub(r"([\\@#<>])", r"\\\1", text)


def comment(text):
    """Converts the text of a comment. Text between backticks, also over several lines, is shown as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick alone
        return plain(text)
    return "".join(f"<tt>{plain(part)}</tt>" if i % 2 else plain(part) for i, part in enumerate(parts))


def documented(source):
    """Returns a header with its comments as documentation."""
    result = []
    block = []

    def end_block():
        texts = [line.split("//", 1)[1] for line in block]
        heads = [line.split("//", 1)[0] for line in block]
        for head, text in zip(heads, comment("\n".join(texts)).split("\n")):
            result.append(f"{head}///{text}")
        block.clear()

    for line in source.split("\n"):
        if COMMENT.match(line):
            block.append(line)
            continue
        if block:
            end_block()
        result.append(line)
    if block:
        end_block()
    return "\n".join(result)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(documented(file.read()))
