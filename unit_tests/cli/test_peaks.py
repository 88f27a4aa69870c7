# SPDX-License-Identifier: BSD-3-Clause
"""The memory that `estimate` predicts and the most that a run of that format had. Writing the model needs no copy."""
import json
import unittest

from tool import ToolTest

MB = 1_000_000


class Peaks(ToolTest):

    def peak(self, command, *arguments):
        """The most memory that a run had."""
        self.succeed(command, "x.pten", "-q", "--report", "run.json", *arguments)
        memory = json.loads((self.folder / "run.json").read_text())["memory"]
        if memory["device_peak_bytes"] is not None:
            self.skipTest("the formats are in the memory of a device")
        return memory["host_peak_bytes"]

    def expect_near(self, needs, peak):
        self.assertLessEqual(abs(peak - needs), max(0.1 * needs, 20 * MB), f"{needs / MB} MB, peak {peak / MB} MB")

    def check(self, rank, precision):
        """All formats of cpd."""
        self.succeed("estimate", "x.pten", "-r", rank, "--precision", precision, "--report", "estimate.json")
        candidates = json.loads((self.folder / "estimate.json").read_text())["result"]["candidates"]
        self.assertGreater(len(candidates), 0)
        for candidate in candidates:
            with self.subTest(format=candidate["name"], precision=precision):
                peak = self.peak("cpd", "-i", 1, "-r", rank, "--precision", precision, "--format", candidate["name"],
                                 "-o", "model.npz", "--checkpoint", "state.ckpt")
                self.expect_near(candidate["need_bytes"], peak)


class LargeModel(Peaks):
    """The iterations are the peak."""

    def setUp(self):
        super().setUp()
        self.succeed("gen", "uniform", "-d", "500000,300000,40", "-n", 1000000, "-o", "x.pten")

    def test_doubles(self):
        self.check(16, "f64")

    def test_floats(self):
        self.check(16, "f32")


class LargeTensor(Peaks):
    """The build is the peak, or what precedes it: the list and the coordinates, and sums of duplicates."""

    def setUp(self):
        super().setUp()
        self.succeed("gen", "uniform", "-d", "30000,20000,300,40", "-n", 2000000, "-o", "x.pten")

    def test_doubles(self):
        self.check(2, "f64")

    def test_floats(self):
        self.check(10, "f32")


if __name__ == "__main__":
    unittest.main()
