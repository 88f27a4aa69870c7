#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws how each format stores one small tensor, as SVG: format_pictures.py FOLDER. docs/formats.md shows the pictures.
What is drawn is computed from the tensor: the sorts, trees, flags and bits are those of the formats."""

import sys
from pathlib import Path

# The tensor of all pictures: 4 x 4 x 4, nine nonzeros (i, j, k, value), in the order of a file.
NONZEROS = [(0, 0, 1, 5), (1, 2, 3, 2), (3, 0, 0, 7), (1, 2, 0, 1), (0, 3, 2, 4), (1, 2, 2, 8), (1, 0, 1, 3), (3, 1, 3, 6),
            (1, 2, 1, 9)]
INK, GREY, PAPER = "#1a1a1a", "#666666", "#ffffff"
# A colour for each row of mode 0, so that the same nonzero is found again in every picture.
ROWS = ["#9ecae1", "#fdbf6f", "#cccccc", "#b2df8a"]
CELL = 34


class Picture:
    def __init__(self, width, height, title):
        self.width, self.height, self.parts = width, height, []
        self.title = title

    def text(self, x, y, text, size=13, color=INK, anchor="middle", weight="normal"):
        text = str(text).replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{color}" text-anchor="{anchor}" '
                          f'font-weight="{weight}">{text}</text>')

    def note(self, x, y, text):
        self.text(x, y, text, 12, GREY, "start")

    def cell(self, x, y, text, fill=PAPER, width=CELL, height=26, weight="normal"):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{INK}"/>')
        self.text(x + width / 2, y + height / 2 + 5, text, weight=weight)

    def line(self, x1, y1, x2, y2, color=GREY, width=1.3, dash=""):
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{color}" stroke-width="{width}" fill="none"{dash}/>')

    def frame(self, x, y, width, height, color="#d62728", dash="5 3"):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="none" stroke="{color}" '
                          f'stroke-width="2" stroke-dasharray="{dash}" rx="4"/>')

    def save(self, path):
        path.write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif" role="img"><title>{self.title}</title>'
            f'<rect width="100%" height="100%" fill="{PAPER}"/>' + "".join(self.parts) + "</svg>\n", encoding="utf-8")


def table(picture, x, y, nonzeros, labels, columns=(0, 1, 2, 3)):
    """Nonzeros side by side, a line for each mode and one for the values."""
    for k, (label, column) in enumerate(zip(labels, columns)):
        picture.text(x - 10, y + 26 * k + 18, label, anchor="end")
        for p, nonzero in enumerate(nonzeros):
            picture.cell(x + CELL * p, y + 26 * k, nonzero[column], ROWS[nonzero[0]], weight="bold" if column == 3 else "normal")


def coo(path):
    picture = Picture(480, 170, "Coordinates: three indices and a value for each nonzero, in the order of the file")
    table(picture, 90, 20, NONZEROS, ["i", "j", "k", "value"])
    picture.note(20, 150, "P = 9 nonzeros in the order of the file. A colour is a row of mode 0.")
    picture.save(path)


def permuted(path):
    picture = Picture(480, 330, "Coordinates and one permutation for each mode")
    table(picture, 90, 20, NONZEROS, ["i", "j", "k", "value"])
    for p in range(9):
        picture.text(90 + CELL * (p + 0.5), 140, p, 11, GREY)
    picture.text(80, 140, "place", 11, GREY, "end")
    for mode, name in enumerate("ijk"):
        order = sorted(range(9), key=lambda p: NONZEROS[p][mode])
        y = 165 + 40 * mode
        picture.text(80, y + 18, f"by {name}", anchor="end")
        for q, p in enumerate(order):
            picture.cell(90 + CELL * q, y, p, ROWS[NONZEROS[p][0]])
            if q and NONZEROS[order[q - 1]][mode] != NONZEROS[p][mode]:
                picture.line(90 + CELL * q, y - 5, 90 + CELL * q, y + 31, "#d62728", 2.5)
    picture.note(20, 310, "Each mode has a list of positions, sorted by its index. Red lines separate its rows.")
    picture.save(path)


def sorted_copies(path):
    picture = Picture(860, 190, "Sorted: one copy of the nonzeros for each mode")
    for mode, x in ((0, 70), (1, 500)):
        order = sorted(NONZEROS, key=lambda nonzero: (nonzero[mode], nonzero))
        names = ["i", "j", "k", "value"]
        table(picture, x, 30, order, names)
        picture.text(x + CELL * 4.5, 20, f"copy for mode {mode}: sorted by {names[mode]}", 12)
        for q in range(1, 9):
            if order[q - 1][mode] != order[q][mode]:
                picture.line(x + CELL * q, 26, x + CELL * q, 138, "#d62728", 2.5)
    picture.note(20, 175, "A thread walks over a part of one copy, sums each row in registers and stores it once. The copy for mode 2 is not shown.")
    picture.save(path)


def tree_levels(nonzeros):
    """The tree i, j, k: slices, fibers, leaves, each as (first leaf, past the last leaf, label)."""
    leaves = sorted(nonzeros)
    levels = []
    for depth in (1, 2):
        level = []
        for p, leaf in enumerate(leaves):
            if level and leaves[level[-1][0]][:depth] == leaf[:depth]:
                level[-1][1] = p + 1
            else:
                level.append([p, p + 1, leaf[depth - 1]])
        levels.append(level)
    return leaves, levels


def draw_tree(picture, x, y, nonzeros):
    leaves, (slices, fibers) = tree_levels(nonzeros)

    def middle(node):
        return x + CELL * (node[0] + node[1]) / 2

    for fiber in fibers:
        owner = next(s for s in slices if s[0] <= fiber[0] < s[1])
        picture.line(middle(owner), y + 26, middle(fiber), y + 56)
        for p in range(*fiber[:2]):
            picture.line(middle(fiber), y + 82, x + CELL * (p + 0.5), y + 112)
    for node in slices:
        picture.cell(middle(node) - CELL / 2, y, node[2], ROWS[node[2]])
    for node in fibers:
        picture.cell(middle(node) - CELL / 2, y + 56, node[2], ROWS[leaves[node[0]][0]])
    for p, leaf in enumerate(leaves):
        picture.cell(x + CELL * p, y + 112, leaf[2], ROWS[leaf[0]])
        picture.cell(x + CELL * p, y + 138, leaf[3], ROWS[leaf[0]], weight="bold")
    for label, at in (("slices: i", 18), ("fibers: j", 74), ("k", 130), ("value", 156)):
        picture.text(x - 12, y + at, label, 12, anchor="end")
    return leaves, slices, fibers


def csf(path):
    picture = Picture(460, 220, "CSF: a tree of slices, fibers and nonzeros")
    draw_tree(picture, 100, 15, NONZEROS)
    picture.note(20, 205, "An index that neighbours share is stored once. The tree has i at its root.")
    picture.save(path)


def b_csf(path):
    picture = Picture(560, 265, "B-CSF: the tree, divided into bins of equally many nonzeros")
    draw_tree(picture, 100, 15, NONZEROS)
    for b in range(3):
        picture.frame(102 + CELL * 3 * b, 123, CELL * 3 - 4, 60)
        picture.text(100 + CELL * 3 * (b + 0.5), 205, f"bin {b}", 12, "#d62728")
    picture.note(20, 232, "A bin has 3 nonzeros here, 128 in the library. One thread walks a bin. Bins may cut slices")
    picture.note(20, 249, "and fibers: the parts of a row are added up.")
    picture.save(path)


def hb_csf(path):
    picture = Picture(700, 260, "HB-CSF: slices in three groups")
    leaves, (slices, fibers) = tree_levels(NONZEROS + [(2, 1, 2, 5)])
    groups = {"one nonzero: coordinates": [], "fibers of one nonzero: no fiber pointers": [], "the others: B-CSF": []}
    for node in slices:
        own = leaves[node[0]:node[1]]
        lengths = [f[1] - f[0] for f in fibers if node[0] <= f[0] < node[1]]
        key = list(groups)[0 if len(own) == 1 else 1 if max(lengths) == 1 else 2]
        groups[key] += own
    x = 30
    for title, own in groups.items():
        picture.text(x + 55 if title.startswith("one") else x + 55 + CELL * len(own) / 2, 22, title, 11)
        if title.startswith("the others"):
            draw_tree(picture, x + 75, 40, own)
        else:
            table(picture, x + 40, 40, own, ["i", "j", "k", "value"])
        x += 130 if title.startswith("one") else CELL * len(own) + 130
    picture.note(20, 245, "Here row 2 has one nonzero, so that all three groups occur. Each group has a separate walk.")
    picture.save(path)


def f_coo(path):
    picture = Picture(640, 225, "F-COO: the nonzeros of one mode with flags instead of its index")
    order = sorted(NONZEROS)
    x, y = 110, 20
    table(picture, x, y, order, ["j", "k", "value"], (1, 2, 3))
    picture.text(x - 10, y + 26 * 3 + 26, "flag", anchor="end")
    for p, nonzero in enumerate(order):
        is_end = p + 1 == len(order) or order[p + 1][0] != nonzero[0]
        picture.cell(x + CELL * p, y + 26 * 3 + 8, 1 if is_end else 0, "#f4a6a6" if is_end else PAPER)
    for b in range(3):
        picture.frame(x + 1 + CELL * 3 * b, y - 4, CELL * 3 - 2, 126)
        picture.text(x + CELL * 3 * (b + 0.5), y + 140, f"partition {b}", 12, "#d62728")
    picture.note(20, 190, "For mode 0: index i is gone. A flag of 1 ends a row's segment. A thread sums each segment of its")
    picture.note(20, 207, "partition (threadlen = 3 here); the sum of a segment that continues is passed to the next thread.")
    picture.save(path)


def interleaved(nonzero):
    """The bits of ALTO's index: one of each mode in turn, the lowest first."""
    return [(nonzero[bit % 3] >> (bit // 3) & 1, bit % 3) for bit in range(6)][::-1]


def alto_key(nonzero):
    return int("".join(str(bit) for bit, _ in interleaved(nonzero)), 2)


MODES = ["#9ecae1", "#fdbf6f", "#b2df8a"]


def alto(path):
    picture = Picture(640, 330, "ALTO: the bits of all indices in turn make one number, and the nonzeros are sorted by it")
    order = sorted(NONZEROS, key=alto_key)
    picture.text(80, 24, "i j k", 12)
    picture.text(220, 24, "bits of k, j, i in turn", 12)
    picture.text(345, 24, "number", 12)
    picture.text(400, 24, "value", 12)
    for p, nonzero in enumerate(order):
        y = 32 + 27 * p
        picture.text(80, y + 18, f"{nonzero[0]} {nonzero[1]} {nonzero[2]}")
        for q, (bit, mode) in enumerate(interleaved(nonzero)):
            picture.cell(145 + 26 * q, y, bit, MODES[mode], 26, 24)
        picture.text(345, y + 18, alto_key(nonzero))
        picture.cell(383, y, nonzero[3], PAPER, CELL, 24, "bold")
    for mode, name in enumerate("ijk"):
        picture.cell(460, 60 + 32 * mode, name, MODES[mode], 26, 24)
        picture.note(496, 77 + 32 * mode, f"bits of {name}")
    picture.note(20, 305, "Neighbours in this order are close to each other in every mode, so one copy serves all modes.")
    picture.note(20, 322, "The library stores the plain indices in this order.")
    picture.save(path)


def blco(path):
    picture = Picture(640, 350, "BLCO: each mode's bits are contiguous, and the upper bits are stored once a block")
    order = sorted(NONZEROS, key=alto_key)
    picture.text(70, 24, "i j k", 12)
    picture.text(190, 24, "block: upper bits", 12)
    picture.text(345, 24, "lower bits, stored", 12)
    picture.text(450, 24, "value", 12)
    blocks = {}
    for nonzero in order:
        blocks.setdefault(tuple(index >> 1 for index in nonzero[:3]), []).append(nonzero)
    y = 34
    for upper, own in blocks.items():
        for q, bit in enumerate(upper):
            picture.cell(151 + 26 * q, y + 13.5 * (len(own) - 1), bit, MODES[q], 26, 24)
        for nonzero in own:
            picture.text(70, y + 18, f"{nonzero[0]} {nonzero[1]} {nonzero[2]}")
            for q in range(3):
                picture.cell(306 + 26 * q, y, nonzero[q] & 1, MODES[q], 26, 24)
            picture.cell(433, y, nonzero[3], PAPER, CELL, 24, "bold")
            y += 27
        picture.line(30, y + 1, 490, y + 1, GREY, 1, "3 3")
        y += 6
    for mode, name in enumerate("ijk"):
        picture.cell(510, 60 + 32 * mode, name, MODES[mode], 26, 24)
        picture.note(546, 77 + 32 * mode, f"bits of {name}")
    picture.note(20, y + 20, "In the library a nonzero has one word of 64 bits. A shift and a mask give each index.")
    picture.height = int(y + 34)
    picture.save(path)


def all_pictures():
    return {"coo": coo, "coo-permuted": permuted, "sorted": sorted_copies, "csf": csf, "b-csf": b_csf, "hb-csf": hb_csf,
            "f-coo": f_coo, "alto": alto, "blco": blco}


def draw_all(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in all_pictures().items():
        draw(folder / f"{name}.svg")


if __name__ == "__main__":
    draw_all(Path(sys.argv[1]))
