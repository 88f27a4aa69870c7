# SPDX-License-Identifier: BSD-3-Clause
"""polyad stats against counting in Python."""
import collections
import math
import statistics
import unittest

from tool import ToolTest, random_tensor, tns


def runs(counter):
    return {"nonempty": len(counter), "longest": max(counter.values()),
            "single": sum(count == 1 for count in counter.values())}


class Stats(ToolTest):
    def check(self, dims, nnz):
        tensor = random_tensor([d - 1 for d in dims], nnz)  # so that the last row is empty but for one
        tensor[tuple(d - 1 for d in dims)] = 0.0
        text = tns(tensor)
        report = self.report_of("stats", self.write("x.tns", text + text.split("\n", 1)[0] + "\n"))
        first = next(iter(tensor))
        tensor[first] *= 2
        given, facts = report["input"], report["result"]
        self.assertEqual(given["dims"], list(dims))
        self.assertEqual(given["nnz"], len(tensor))
        self.assertEqual(given["duplicates"], 1)
        self.assertAlmostEqual(facts["density"] * math.prod(dims), len(tensor), places=6)
        self.assertAlmostEqual(facts["norm"], math.sqrt(math.fsum(x * x for x in tensor.values())), places=12)
        self.assertEqual(facts["linear_bits"], sum((d - 1).bit_length() for d in dims))
        self.assertEqual(facts["values"], {"min": min(tensor.values()), "max": max(tensor.values()), "zeros": 1})
        for n, size in enumerate(dims):
            slices = collections.Counter(at[n] for at in tensor)
            fibers = collections.Counter(at[:n] + at[n + 1:] for at in tensor)
            self.assertEqual(given["empty_slices"][n], size - len(slices))
            for found, counter in ((facts["slices"][n], slices), (facts["fibers"][n], fibers)):
                self.assertAlmostEqual(found.pop("deviation"), statistics.pstdev(counter.values()), places=9)
                self.assertEqual(found, runs(counter))

    def test_orders(self):
        self.check((50, 40), 300)
        self.check((30, 7, 5), 400)
        self.check((9, 4, 70, 3, 6), 500)
        self.check((3,) * 16, 200)

    def test_sparse_slices(self):
        self.check((4000, 30, 8), 4200)

    def test_one_mode(self):
        report = self.report_of("stats", self.write("v.tns", "3 1.5\n1 -2\n7 1\n"))
        self.assertEqual(report["input"]["empty_slices"], [4])
        self.assertEqual(report["result"]["slices"], [{"nonempty": 3, "longest": 1, "single": 3, "deviation": 0}])
        self.assertEqual(report["result"]["fibers"], [{"nonempty": 1, "longest": 3, "single": 0, "deviation": 0}])

    def test_text(self):
        text = self.succeed("stats", self.write("x.tns", "1 1 2\n4 1 3\n4 2 -5\n")).stdout
        self.assertIn("4 x 2, 3 nonzeros", text)
        self.assertIn("-5 to 3", text)
        self.assertRegex(text, r"(?m)^ +0 +4 +2 +2 +1 +2 +1\.50 +0\.50$")


if __name__ == "__main__":
    unittest.main()
