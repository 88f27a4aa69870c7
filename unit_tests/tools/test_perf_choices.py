#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What scripts/perf_choices.py counts as the loss of a choice. Usage: test_perf_choices.py SCRIPTS_FOLDER"""

import math
import sys
import unittest

FIRST_USE = {("sorted", "f32"): 8.0, ("alto", "f32"): 2.0}


def case(chosen, **more):
    times = {"sorted": 0.5, "alto": 0.4, "coo-permuted": 1.0, "streamed-blco": 0.1}
    return {"seed": 1, "rank": 8, "scalar": "f32", "iterations": 10, "chosen": chosen,
            "build": dict.fromkeys(times, 1.0), "mttkrp": times} | more  # fmt: skip


class Losses(unittest.TestCase):
    def test_a_run_is_a_build_and_its_iterations(self):
        ratio, best = perf_choices.loss(case("coo-permuted"), {})
        self.assertEqual(best, "alto")
        self.assertAlmostEqual(ratio, 11 / 5)

    def test_the_first_use_counts_if_it_is_known(self):
        ratio, best = perf_choices.loss(case("sorted"), FIRST_USE)
        self.assertEqual(best, "alto")
        self.assertAlmostEqual(ratio, 14 / 7)

    def test_formats_that_lose_digits_do_not_compete(self):
        ratio, best = perf_choices.loss(case("coo-permuted", lose_digits=["alto"]), {})
        self.assertEqual(best, "sorted")
        self.assertAlmostEqual(ratio, 11 / 6)

    def test_among_such_formats_the_fastest_is_the_best(self):
        names = ["sorted", "alto", "coo-permuted"]
        ratio, best = perf_choices.loss(case("sorted", lose_digits=names), {})
        self.assertEqual(best, "alto")
        self.assertAlmostEqual(ratio, 6 / 5)

    def test_a_choice_without_a_time_is_the_worst(self):
        self.assertEqual(perf_choices.loss(case("csf"), {})[0], math.inf)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    import perf_choices

    unittest.main()
