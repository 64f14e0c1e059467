#!/usr/bin/env python3
"""Checks every include of our headers against tools/layers.txt, and that this table has no cycle."""

import sys

import sources

EVERYTHING = "*"


def parse_table(text):
    """Parses layers.txt to {folder: set of layers}. Raises ValueError on a malformed line."""
    table = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, colon, layers = line.partition(":")
        if not colon or folder.strip() in table:
            raise ValueError(f"layers.txt:{number}: expected a new '<folder>: <layer>...', got '{line}'")
        table[folder.strip()] = set(layers.split())
    for folder, layers in table.items():
        for layer in layers - {EVERYTHING}:
            if layer not in table:
                raise ValueError(f"layers.txt: {folder} may include '{layer}', which has no line")
    return table


def find_cycle(table):
    """Returns a cycle of folders, or None. `*` stands for all folders except those that use it."""
    plain = {f for f, layers in table.items() if EVERYTHING not in layers}

    def visit(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        for layer in sorted(table.get(folder, ()) & plain):
            cycle = visit(layer, way + [folder])
            if cycle:
                return cycle
        return None

    return next(filter(None, (visit(f, []) for f in sorted(plain))), None)


def layer_of(path, table):
    """Returns the folder of the table to which a path belongs (`backends/cpu` for a line `backends/*`), or None."""
    parts = path.split("/")
    if parts[0] == "systole":
        parts = parts[1:] if len(parts) > 2 else ["umbrella", parts[-1]]
    for depth in range(len(parts) - 1, 0, -1):
        folder = "/".join(parts[:depth])
        if folder in table or ("/".join(parts[:depth - 1] + ["*"]) in table and depth > 1):
            return folder
    return None


def allowed(layer, target, table):
    """Returns whether a file of `layer` may include a file of `target`."""
    if layer == target:
        return True
    rule = table.get(layer)
    if rule is None:
        rule = table[layer.rsplit("/", 1)[0] + "/*"]
    if EVERYTHING in rule:
        return target in rule or not target.startswith("backends/") and target not in ("apps", "examples", "bench", "tests")
    return target in rule


def check(paths, table, includes):
    """Returns the problems of the given files. `includes(path)` yields (line, name)."""
    problems = []
    for path in paths:
        layer = layer_of(path, table)
        if layer is None:
            problems.append(f"{path}: its folder has no line in tools/layers.txt")
            continue
        for line, name in includes(path):
            if name.split("/")[0] not in sources.CODE:
                problems.append(f'{path}:{line}: includes "{name}", expected a path from the repository root')
                continue
            target = layer_of(name, table)
            if target is None or not allowed(layer, target, table):
                problems.append(f'{path}:{line}: {layer} may not include "{name}" ({target or "no such layer"})')
    return problems


def main():
    try:
        table = parse_table((sources.ROOT / "tools" / "layers.txt").read_text())
    except ValueError as error:
        sys.exit(str(error))
    cycle = find_cycle(table)
    problems = [f"layers.txt: a cycle: {' -> '.join(cycle)}"] if cycle else []
    paths = sources.files(suffixes=(".h", ".cc", ".def"))
    sources.finish("layers", problems + check(paths, table, sources.includes), len(paths))


if __name__ == "__main__":
    main()
