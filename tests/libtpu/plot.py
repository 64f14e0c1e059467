#!/usr/bin/env python3
"""Draws libtpu's bytes and cycles of the recorded steps over ours.

usage: tpu_check_test --gtest_filter='RecordedSteps.*' | plot.py prediction.svg
"""

import math
import sys

SIZE = 380
MARGIN = 56
COLORS = {"v2-8": "#1b6ca8", "v3-8": "#2e9e5b", "v5e-4": "#c4681b", "v6e-4": "#8a3fa0"}


def read_rows(lines):
    """Yields (system, their GB, our GB, their ms, our ms, whether it is unseen) of the table that the test prints."""
    for line in lines:
        fields = line.split()
        if len(fields) >= 9 and fields[1] in COLORS:
            yield fields[1], *(float(fields[i]) for i in (2, 3, 5, 6)), fields[8] == "unseen"


def panel(left, title, unit, points):
    values = [v for _, ours, theirs, _ in points for v in (ours, theirs)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def place(v):
        return (math.log10(v) - low) / (high - low) * SIZE

    def x(v):
        return left + place(v)

    def y(v):
        return MARGIN + SIZE - place(v)

    parts = [f'<rect x="{left}" y="{MARGIN}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#888"/>']
    for power in range(low, high + 1):
        v = 10.0**power
        parts += [
            f'<text x="{x(v):.1f}" y="{MARGIN + SIZE + 16}" text-anchor="middle">{v:g}</text>',
            f'<text x="{left - 6}" y="{y(v) + 4:.1f}" text-anchor="end">{v:g}</text>',
        ]
    edges = (10.0**low, 10.0**high)
    for factor, dash in ((1, ""), (1.25, ' stroke-dasharray="4 4"'), (0.8, ' stroke-dasharray="4 4"')):
        a, b = (max(edges[0], edges[0] / factor), min(edges[1], edges[1] / factor))
        parts.append(
            f'<line x1="{x(a):.1f}" y1="{y(a * factor):.1f}" x2="{x(b):.1f}" y2="{y(b * factor):.1f}" '
            f'stroke="#888"{dash}/>'
        )
    for system, ours, theirs, unseen in points:
        fill = "none" if unseen else COLORS[system]
        parts.append(
            f'<circle cx="{x(ours):.1f}" cy="{y(theirs):.1f}" r="3.5" fill="{fill}" stroke="{COLORS[system]}"/>'
        )
    middle = left + SIZE / 2
    parts += [
        f'<text x="{middle}" y="{MARGIN - 14}" text-anchor="middle" font-weight="bold">{title}</text>',
        f'<text x="{middle}" y="{MARGIN + SIZE + 36}" text-anchor="middle">ours, {unit}</text>',
        f'<text x="{left - 40}" y="{MARGIN + SIZE / 2}" text-anchor="middle" '
        f'transform="rotate(-90 {left - 40} {MARGIN + SIZE / 2})">libtpu, {unit}</text>',
    ]
    return parts


def main():
    rows = list(read_rows(sys.stdin))
    right = 2 * MARGIN + SIZE + 40
    parts = panel(MARGIN + 8, "memory of a core", "GB", [(s, b, a, u) for s, a, b, _, _, u in rows])
    parts += panel(right, "step of a core", "ms", [(s, d, c, u) for s, _, _, c, d, u in rows if c > 0])
    for i, (system, color) in enumerate(COLORS.items()):
        y = MARGIN + SIZE + 60
        parts.append(f'<circle cx="{MARGIN + 20 + 110 * i}" cy="{y - 4}" r="4" fill="{color}"/>')
        parts.append(f'<text x="{MARGIN + 30 + 110 * i}" y="{y}">{system}</text>')
    parts.append(
        f'<text x="{MARGIN + 470}" y="{MARGIN + SIZE + 60}">empty: nothing was fitted to it; dashed: 25 %</text>'
    )
    width, height = right + SIZE + 20, SIZE + 2 * MARGIN + 16
    with open(sys.argv[1], "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" ')
        file.write('font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" fill="white"/>\n')
        file.write("\n".join(parts) + "\n</svg>\n")


if __name__ == "__main__":
    main()
