#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What distributed CP-ALS sends, and how long an iteration takes:

  predict_scaling.py [-r RANK] [--ranks 4,64,1024] [--dims I1,I2,...]   words
  predict_scaling.py --times [--gpus-per-node 8] [--network 50] [--imbalance 1] [--ranks ...]
  predict_scaling.py --check                                            times against the measured ones

For each shape and number of ranks: the grid that sends least, and what a rank sends in an iteration, on the average.
The formula is the one of docs/distributed.md, which include/polyad/distributed/distribute.hpp and a test hold: for the rows
2 R (P / p_n - 1) I_n elements of mode n, for the Gram matrices 2 (P - 1) (N R^2 + 1), of all ranks together.

Times are of floats and R = 32 on H200s. The MTTKRP, the update and the collectives were measured on one machine with
two GPUs (--check). What lies beyond them is assumed: --network is what a rank sends a second to another machine, in
GB/s, and the time of a small collective grows with the logarithm of the ranks."""

import argparse
import math
import sys

# FROSTT's tensors (frostt.io), and their nonzeros.
SHAPES = {
    "amazon": (4821207, 1774269, 1805187),
    "patents": (46, 239172, 239172),
    "reddit": (8211298, 176962, 8116559),
    "delicious": (532924, 17262471, 2480308, 1443),
    "nell-1": (2902330, 2143368, 25495389),
}
NONZEROS = {"amazon": 1741809018, "patents": 3596640708, "reddit": 4687474081, "delicious": 140126181, "nell-1": 143599552}

# One H200, floats, R = 32, format sorted (docs/distributed.md).
NEAR = 16.1e-12  # seconds a nonzero and mode where a rank's factors fit in the cache: nell2 x 8
FAR = 51.8e-12  # where rows come from memory: delicious x 4
CACHE = 50e6  # bytes, the second level's
ROW = 0.14e-9  # seconds to update a row: delicious
FIXED = 0.08e-3  # the R x R algebra and the fit, a mode
# Two H200s with NVLink and NCCL.
LINK = 0.225e12  # bytes that a rank sends a second
SMALL = 30e-6  # a collective of few elements

# Milliseconds an iteration on one GPU and on two, and the phases of the run on one.
MEASURED = {
    "nell2 x 8": {"dims": (12092, 9184, 28818), "one": 11.718, "two": 6.234},
    "uniform10m x 8": {"dims": (30000, 40000, 50000), "one": 4.918, "two": 2.797},
    "uniform10m x 32": {"dims": (30000, 40000, 50000), "one": 17.800, "two": 9.404},
    "delicious x 4": {"dims": SHAPES["delicious"], "one": 26.446, "two": 15.137},
}
# Published figures, for comparison.
ANCHORS = """GentenMPI: 83 % weak efficiency from 16 to 8,192 ranks.
amazon, R = 32, 1,024 cores: 1.81 s an iteration. reddit, R = 100, 512 cores: 15.7 s."""


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


def exchange_seconds(dims, grid, link):
    """Two collectives for each mode whose rows are shared, and an all-reduce a mode."""
    ranks = math.prod(grid)
    if ranks == 1:
        return 0
    collectives = len(dims) + sum(2 for p in grid if p < ranks)
    sent = words_of_grid(dims, grid) * 32 * 4 / ranks + gram_words(len(dims), ranks, 32) * 8 / ranks
    return collectives * SMALL * math.log2(ranks) + sent / link


def update_seconds(dims, ranks):
    return sum(dims) / ranks * ROW


def iteration_seconds(dims, nonzeros, ranks, options):
    """The seconds of the slowest rank."""
    grid = cheapest_grid(dims, ranks)
    factors = sum(rows / p for rows, p in zip(dims, grid)) * 32 * 4
    rate = NEAR + (FAR - NEAR) * max(0, 1 - CACHE / factors)
    link = LINK if ranks <= options.gpus_per_node else min(LINK, options.network * 1e9)
    imbalance = options.imbalance if ranks > 1 else 1
    mttkrp = len(dims) * nonzeros / ranks * rate * imbalance
    return mttkrp + update_seconds(dims, ranks) + len(dims) * FIXED + exchange_seconds(dims, grid, link)


def print_times(ranks_list, options):
    print("| tensor | ranks | grid | strong: ms an iteration | efficiency | weak: ms, nonzeros times ranks | efficiency |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, dims in SHAPES.items():
        one = iteration_seconds(dims, NONZEROS[name], 1, options)
        for ranks in ranks_list:
            strong = iteration_seconds(dims, NONZEROS[name], ranks, options)
            weak = iteration_seconds(dims, NONZEROS[name] * ranks, ranks, options)
            grid = " x ".join(map(str, cheapest_grid(dims, ranks)))
            print(f"| {name} | {ranks:,} | {grid} | {strong * 1e3:,.2f} | {one / strong / ranks:.0%} | {weak * 1e3:,.1f} | {one / weak:.0%} |")
    print("\n" + ANCHORS)


def check():
    """From the time on one GPU alone: what two take. Whether each is within 15 % of what was measured."""
    print("| tensor | one GPU, ms | two, measured | two, predicted | apart |")
    print("| --- | --- | --- | --- | --- |")
    ended = True
    for name, run in MEASURED.items():
        dims = run["dims"]
        fixed = len(dims) * FIXED
        exchange = exchange_seconds(dims, cheapest_grid(dims, 2), LINK)
        predicted = ((run["one"] / 1e3 - fixed) / 2 + fixed + exchange) * 1e3
        apart = predicted / run["two"] - 1
        ended = ended and abs(apart) <= 0.15
        print(f"| {name} | {run['one']:.2f} | {run['two']:.2f} | {predicted:.2f} | {apart:+.1%} |")
    return 0 if ended else 1


def print_words(shapes, ranks_list, rank):
    print(f"| tensor | ranks | grid | millions of elements that a rank sends in an iteration, R = {rank} | all-reduce of whole factors |")
    print("| --- | --- | --- | --- | --- |")
    for name, dims in shapes.items():
        for ranks in ranks_list:
            grid = cheapest_grid(dims, ranks)
            grams = gram_words(len(dims), ranks, rank)
            sent = (words_of_grid(dims, grid) * rank + grams) / ranks / 1e6
            # Each rank has nonzeros of all rows: an all-reduce of each mode's MTTKRP.
            whole = (2 * (ranks - 1) * sum(dims) * rank + grams) / ranks / 1e6
            print(f"| {name} | {ranks:,} | {' x '.join(map(str, grid))} | {sent:,.1f} | {whole:,.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-r", "--rank", type=int, default=32, help="R of the words (32)")
    parser.add_argument("--ranks", help="numbers of ranks, separated by commas")
    parser.add_argument("--dims", help="another shape, I_1,I_2,...")
    parser.add_argument("--times", action="store_true", help="times instead of words")
    parser.add_argument("--gpus-per-node", type=int, default=8, help="more ranks than these meet over the network (8)")
    parser.add_argument("--network", type=float, default=50, help="GB/s that a rank sends to other machines (50)")
    parser.add_argument("--imbalance", type=float, default=1, help="largest over mean nonzeros of a rank (1)")
    parser.add_argument("--check", action="store_true", help="times of two GPUs against the measured ones")
    options = parser.parse_args()
    if options.check:
        return check()
    if options.times:
        print_times([int(p) for p in (options.ranks or "1,2,8,64,1024,8192").split(",")], options)
        return 0
    shapes = {options.dims: tuple(map(int, options.dims.split(",")))} if options.dims else SHAPES
    print_words(shapes, [int(p) for p in (options.ranks or "4,64,1024").split(",")], options.rank)
    return 0


if __name__ == "__main__":
    sys.exit(main())
