#!/usr/bin/env python3
"""Checks that every folder with sources has a README.md and that the links of all Markdown files lead somewhere: files
of the repository, and headings within them. Addresses on the web are not visited."""

import posixpath
import re

import sources

FOLDERS = sources.CODE + ("docs", "tools", "cmake")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M))


def anchors(text):
    """The names under which the headings of a Markdown text can be linked to."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    titles = re.findall(r"^#+\s+(.*?)\s*$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def folders_without_readme(paths):
    """Folders that hold a source of ours, directly, and no README.md."""
    have = {posixpath.dirname(p) for p in paths if posixpath.basename(p) == "README.md"}
    need = {posixpath.dirname(p) for p in paths if p.endswith((".h", ".cc", ".py", ".sh", ".cmake"))}
    return sorted(need - have)


def broken_links(path, text, exists, read):
    """Problems of one Markdown file. exists(path) and read(path) reach the others."""
    problems = []
    for match in LINK.finditer(without_code(text)):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
        if target != path and not exists(target):
            problems.append(f"{path}: the link '{link}' leads nowhere")
        elif anchor and target.endswith(".md") and anchor not in anchors(text if target == path else read(target)):
            problems.append(f"{path}: '{link}': no such heading")
    return problems


def main():
    root = sources.ROOT
    problems = [f"{folder}: no README.md" for folder in folders_without_readme(
        sources.files(suffixes=("",), folders=FOLDERS))]
    pages = sources.files(suffixes=(".md",), folders=(".",))
    for path in pages:
        problems += broken_links(path, (root / path).read_text(), lambda p: (root / p).exists(),
                                 lambda p: (root / p).read_text())
    sources.finish("docs", problems, len(pages), "pages")


if __name__ == "__main__":
    main()
