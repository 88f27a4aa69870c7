# SPDX-License-Identifier: BSD-3-Clause
"""The memory that `estimate` predicts and the most that a run of that format had. Writing the model needs no copy."""
import json
import unittest

from tool import ToolTest

MB = 1_000_000


class Peaks(ToolTest):

    def setUp(self):
        super().setUp()
        self.succeed("gen", "uniform", "-d", "500000,300000,40", "-n", 1000000, "-o", "x.pten")

    def peak(self, command, *arguments):
        """The most memory that a run had."""
        self.succeed(command, "x.pten", "-i", 1, "-q", "--report", "run.json", *arguments)
        memory = json.loads((self.folder / "run.json").read_text())["memory"]
        if memory["device_peak_bytes"] is not None:
            self.skipTest("the formats are in the memory of a device")
        return memory["host_peak_bytes"]

    def check(self, precision):
        self.succeed("estimate", "x.pten", "-r", 16, "--precision", precision, "--report", "estimate.json")
        candidates = json.loads((self.folder / "estimate.json").read_text())["result"]["candidates"]
        self.assertGreater(len(candidates), 0)
        for candidate in candidates:
            with self.subTest(format=candidate["name"], precision=precision):
                peak = self.peak("cpd", "-r", 16, "--precision", precision, "--format", candidate["name"],
                                 "-o", "model.npz", "--checkpoint", "state.ckpt")
                needs = candidate["need_bytes"]
                self.assertLessEqual(abs(peak - needs), max(0.1 * needs, 20 * MB), f"{needs / MB} MB, peak {peak / MB} MB")

    def test_doubles(self):
        self.check("f64")

    def test_floats(self):
        self.check("f32")


if __name__ == "__main__":
    unittest.main()
