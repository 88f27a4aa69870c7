#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Words that distributed CP-ALS sends: predict_scaling.py [-r RANK] [--ranks 4,64,1024] [--dims I1,I2,...].

For each shape and number of ranks: the grid that sends least, and what a rank sends in an iteration, on the average.
The formula is the one of docs/distributed.md, which include/polyad/distributed/cp_als.hpp and a test hold: for the rows
2 R (P / p_n - 1) I_n elements of mode n, for the Gram matrices 2 (P - 1) (N R^2 + 1), of all ranks together.
It says nothing of times."""

import argparse
import math

# FROSTT's tensors (frostt.io).
SHAPES = {
    "amazon": (4821207, 1774269, 1805187),
    "patents": (46, 239172, 239172),
    "reddit": (8211298, 176962, 8116559),
    "delicious": (532924, 17262471, 2480308, 1443),
    "nell-1": (2902330, 2143368, 25495389),
}


def grids(modes, ranks):
    """All (p_0, ..., p_{modes - 1}) whose product is ranks."""
    if modes == 1:
        yield (ranks,)
        return
    for p in range(1, ranks + 1):
        if ranks % p == 0:
            for rest in grids(modes - 1, ranks // p):
                yield (p, *rest)


def words_of_grid(dims, grid):
    """Elements that all ranks together send for the rows, divided by R."""
    ranks = math.prod(grid)
    return sum(2 * (ranks // p - 1) * rows for rows, p in zip(dims, grid))


def cheapest_grid(dims, ranks):
    def rows_of_a_rank(grid):
        return sum(rows / p for rows, p in zip(dims, grid))

    return min(grids(len(dims), ranks), key=lambda grid: (words_of_grid(dims, grid), rows_of_a_rank(grid), grid))


def gram_words(modes, ranks, rank):
    return 2 * (ranks - 1) * (modes * rank**2 + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-r", "--rank", type=int, default=32, help="R (32)")
    parser.add_argument("--ranks", default="4,64,1024", help="numbers of ranks, separated by commas")
    parser.add_argument("--dims", help="another shape, I_1,I_2,...")
    options = parser.parse_args()
    shapes = {options.dims: tuple(map(int, options.dims.split(",")))} if options.dims else SHAPES
    print(f"| tensor | ranks | grid | millions of elements that a rank sends in an iteration, R = {options.rank} | all-reduce of whole factors |")
    print("| --- | --- | --- | --- | --- |")
    for name, dims in shapes.items():
        for ranks in map(int, options.ranks.split(",")):
            grid = cheapest_grid(dims, ranks)
            grams = gram_words(len(dims), ranks, options.rank)
            sent = (words_of_grid(dims, grid) * options.rank + grams) / ranks / 1e6
            # Each rank has nonzeros of all rows: an all-reduce of each mode's MTTKRP.
            whole = (2 * (ranks - 1) * sum(dims) * options.rank + grams) / ranks / 1e6
            print(f"| {name} | {ranks:,} | {' x '.join(map(str, grid))} | {sent:,.1f} | {whole:,.1f} |")


if __name__ == "__main__":
    main()
