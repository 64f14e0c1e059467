#!/usr/bin/env python3
"""Checks Markdown files. Every folder with sources has a README.md. Links lead to files of the repository and to headings
in them; web addresses are not visited. A block of C++ after a line `path`: is a part of that file, so that tests run the
programs that pages show. A sentence "May include: ..." of a README.md says what tools/layers.txt says of the folder, and
no folder of that table is without one. Comments of C++ begin with their subject, not with "Of", "Those", "Its", "Their" or
"They"."""

import posixpath
import re

import check_layers
import sources

FOLDERS = sources.CODE + ("docs", "tools", "cmake")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M))


def anchors(text):
    """Returns the link anchors of the headings of a Markdown text."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    titles = re.findall(r"^#+\s+(.*?)\s*$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def folders_without_readme(paths):
    """Returns folders that directly contain a source file and no README.md."""
    have = {posixpath.dirname(p) for p in paths if posixpath.basename(p) == "README.md"}
    need = {posixpath.dirname(p) for p in paths if p.endswith((".h", ".cc", ".py", ".sh", ".cmake"))}
    return sorted(need - have)


def broken_links(path, text, exists, read):
    """Returns the problems of the links of one Markdown file. exists(path) and read(path) access other files."""
    problems = []
    for match in LINK.finditer(without_code(text)):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
        if target != path and not exists(target):
            problems.append(f"{path}: the link '{link}' names no file of the repository")
        elif anchor and target.endswith(".md") and anchor not in anchors(text if target == path else read(target)):
            problems.append(f"{path}: '{link}': no such heading")
    return problems


def stale_programs(path, text, exists, read):
    """Returns the problems of the programs that a Markdown file shows."""
    problems = []
    shown = re.findall(r"^`([^`\n]+)`:\n+```cpp\n(.*?)^```", text, re.S | re.M)
    for name, block in re.findall(r"^`([^`\n()]+)`:\n\n((?:    .*\n|\n)+)", text, re.M):
        shown.append((name, re.sub(r"^    ", "", block.strip("\n") + "\n", flags=re.M)))
    for name, code in shown:
        if not exists(name):
            problems.append(f"{path}: shows '{name}', which does not exist")
        elif code not in read(name):
            problems.append(f"{path}: the code shown of '{name}' is not in that file")
    return problems


def names_of(names, rows):
    return ", ".join("the top" if name == "/" else name.removeprefix("/") for name in rows if name in names)


def may_include(folder, table):
    """Returns what the README.md of a folder says that it may include; None for a folder without a row in layers.txt."""
    parts = check_layers.parts_of(folder + "/README.md")[:-1]
    name = "/".join(parts)
    rows = [name, "/".join([*parts[:-1], "*"]), name + "/*"]
    row = next((row for row in rows if row in table.layers), None)
    if row:
        layers = table.layers[row]
        if check_layers.EVERYTHING not in layers:
            return names_of(layers, table.layers) or "nothing of ours"
        more = names_of(layers, table.layers)
        return f"every layer, {more}; other backends only by name" if more else "every layer; backends only by name"
    layer = check_layers.layer_of(folder + "/README.md", table)
    folders = table.folders.get(layer, {})
    inside = "/" + name.removeprefix(f"{layer}/")
    if inside not in folders:
        return None
    others = names_of(folders[inside], folders)
    return f"what {layer} may, and of {layer}: {others}" if others else f"what {layer} may"


def wrong_includes(path, text, table):
    """Returns the problems of the sentence "May include: ..." of a README.md."""
    expected = may_include(posixpath.dirname(path), table)
    match = re.search(r"^May include: (.*?)\.(?=\s|$)", text, re.S | re.M)
    got = " ".join(match.group(1).split()) if match else "no such sentence"
    if expected is None or got == expected:
        return []
    return [f"{path}: 'May include: ', got '{got}', expected '{expected}'"]


def comments_without_subject(path, text):
    """Returns the problems of the comments of a C++ file that stand on lines of their own."""
    problems = []
    before = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*// ((?:Of|Those|Its|Theirs?|They)\b.{0,40})", line)
        if match and not re.match(r"\s*//", before):
            problems.append(f"{path}:{number}: a comment begins '{match.group(1)}', expected its subject")
        before = line
    return problems


def main():
    root = sources.ROOT
    table = check_layers.parse_table((root / "tools" / "layers.txt").read_text())
    problems = [f"{folder}: no README.md" for folder in folders_without_readme(
        sources.files(suffixes=("",), folders=FOLDERS))]
    pages = sources.files(suffixes=(".md",), folders=(".",))
    for path in pages:
        reach = lambda p: (root / p).exists(), lambda p: (root / p).read_text()
        text = (root / path).read_text()
        problems += broken_links(path, text, *reach) + stale_programs(path, text, *reach)
        if posixpath.basename(path) == "README.md" and path.split("/")[0] in sources.CODE:
            problems += wrong_includes(path, text, table)
    for path in sources.files(suffixes=(".h", ".cc")):
        problems += comments_without_subject(path, (root / path).read_text())
    sources.finish("docs", problems, len(pages), "pages")


if __name__ == "__main__":
    main()
