#!/usr/bin/env python3
"""Checks every include of our headers against tools/layers.txt, and that neither this table nor the code has a circle."""

import collections
import re
import sys

import sources

EVERYTHING = "*"
TESTS = " (tests)"


class Table:
    """layers.txt: layers by folder; folders of a layer by layer and folder."""

    def __init__(self):
        self.layers = {}   # {folder: set of layers}
        self.folders = {}  # {layer: {"/folder": set of "/folder"}}


def parse_table(text):
    """Parses layers.txt. Raises ValueError on a malformed line."""
    table = Table()
    layer = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        folder, colon, names = (part.strip() for part in line.partition(":"))
        names = set(names.split())
        inner = folder.startswith("/") and layer is not None
        rows = table.folders.setdefault(layer, {}) if inner else table.layers
        if not colon or folder in rows:
            raise ValueError(f"layers.txt:{number}: expected a new '<folder>: <layer>...', got '{line}'")
        rows[folder] = names
        if not inner:
            layer = folder
    check_names_of(table)
    return table


def check_names_of(table):
    """Raises ValueError for a name that has no line."""
    for folder, layers in table.layers.items():
        if folder.endswith(TESTS) and folder.removesuffix(TESTS) not in table.layers:
            raise ValueError(f"layers.txt: '{folder}', expected a line for the folder itself")
        for layer in layers - {EVERYTHING}:
            if layer not in table.layers:
                raise ValueError(f"layers.txt: {folder} may include '{layer}', which has no line")
    for layer, rows in table.folders.items():
        for folder, names in rows.items():
            for name in names - set(rows):
                raise ValueError(f"layers.txt: {layer}{folder} may include '{name}', which has no line")


def find_cycle(rows):
    """Returns a cycle of folders, or None. `*` stands for all folders except those that use it."""
    plain = {f for f, layers in rows.items() if EVERYTHING not in layers and not f.endswith(TESTS)}

    def visit(folder, way):
        if folder in way:
            return way[way.index(folder):] + [folder]
        for layer in sorted(rows.get(folder, ()) & plain):
            cycle = visit(layer, way + [folder])
            if cycle:
                return cycle
        return None

    return next(filter(None, (visit(f, []) for f in sorted(plain))), None)


def parts_of(path):
    """Returns the folders and the name of a path below systole/ (those of `umbrella` for its own headers), or of others."""
    parts = path.split("/")
    if parts[0] == "systole":
        return parts[1:] if len(parts) > 2 else ["umbrella", parts[-1]]
    return parts


def layer_of(path, table):
    """Returns the folder of the table to which a path belongs (`backends/cpu` for a line `backends/*`), or None."""
    parts = parts_of(path)
    for depth in range(len(parts) - 1, 0, -1):
        folder = "/".join(parts[:depth])
        if folder in table.layers or ("/".join(parts[:depth - 1] + ["*"]) in table.layers and depth > 1):
            return folder
    return None


def folder_of(path, layer, table):
    """Returns the longest line "/folder" of the layer that holds the path, "/" for none."""
    inside = "/" + "/".join(parts_of(path)[len(layer.split("/")):-1])
    rows = table.folders.get(layer, {})
    return max((f for f in rows if inside == f or inside.startswith(f + "/")), key=len, default="/")


def is_test(path):
    """Returns whether no program but a test includes or links the file."""
    return path.endswith("_test.cc") or "/testing/" in path


def allowed(layer, target, table):
    """Returns whether a file of `layer` may include a file of `target`."""
    if layer == target:
        return True
    rule = table.layers.get(layer)
    if rule is None:
        rule = table.layers[layer.rsplit("/", 1)[0] + "/*"]
    if EVERYTHING in rule:
        return target in rule or not target.startswith("backends/") and target not in ("apps", "examples", "bench", "tests")
    return target in rule


def allowed_inside(path, name, layer, table):
    """Returns whether a file may include another one of its layer."""
    rows = table.folders.get(layer)
    if rows is None or is_test(path):
        return True
    source, target = folder_of(path, layer, table), folder_of(name, layer, table)
    return source == target or target in rows.get(source, ())


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
            more = table.layers.get(layer + TESTS, ()) if is_test(path) else ()
            if target is None or not allowed(layer, target, table) and target not in more:
                problems.append(f'{path}:{line}: {layer} may not include "{name}" ({target or "no such layer"})')
            elif target == layer and not allowed_inside(path, name, layer, table):
                problems.append(f'{path}:{line}: {layer}{folder_of(path, layer, table)} may not include "{name}"')
    return problems


def components(graph):
    """Returns the strongly connected components of {node: set of nodes} as sets (Tarjan, without recursion)."""
    index, low, stack, found = {}, {}, [], []
    for root in sorted(graph):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            node, nexts = work[-1]
            for other in nexts:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    found.append(set(stack[at:]))
                    del stack[at:]
    return found


def find_circles(paths, includes):
    """Returns the circles of folders, and those of more than two files (a source and its header are one file), without
    tests. Names leave out `systole/` and suffixes."""
    folders, files = collections.defaultdict(set), collections.defaultdict(set)
    for path in paths:
        if is_test(path):
            continue
        for name in [path] + [name for _, name in includes(path) if not is_test(name)]:
            for graph, node in ((folders, lambda p: p.rpartition("/")[0]), (files, lambda p: re.sub(r"\.\w+$", "", p))):
                ends = [node(p.removeprefix("systole/")) for p in (path, name)]
                graph[ends[0]] |= {ends[1]} - {ends[0]}
    return [c for c in components(folders) if len(c) > 1] + [c for c in components(files) if len(c) > 2]


def main():
    try:
        table = parse_table((sources.ROOT / "tools" / "layers.txt").read_text())
    except ValueError as error:
        sys.exit(str(error))
    cycles = filter(None, map(find_cycle, [table.layers, *table.folders.values()]))
    problems = [f"layers.txt: a cycle: {' -> '.join(cycle)}" for cycle in cycles]
    paths = sources.files(suffixes=(".h", ".cc", ".def"))
    problems += check(paths, table, sources.includes)
    circles = find_circles(paths, sources.includes)
    problems += [f"a circle of includes: {' '.join(sorted(circle))}" for circle in circles]
    sources.finish("layers", problems, len(paths))


if __name__ == "__main__":
    main()
