# SPDX-License-Identifier: BSD-3-Clause
"""The memory that `estimate` predicts for cpd, and that tucker and fast-tucker expect at their start, next to the most that the
runs had. Writing models and checkpoints needs no copy."""
import json
import operator
import random
import resource
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

    def expect_expected(self, command, *arguments):
        """The memory that a run expects at its start."""
        with self.subTest(command=command, arguments=arguments):
            peak   = self.peak(command, *arguments)
            memory = json.loads((self.folder / "run.json").read_text())["memory"]
            self.expect_near(memory["expected_peak_bytes"], peak)

    def expect_near(self, needs, peak):
        self.assertLessEqual(abs(peak - needs), max(0.1 * needs, 20 * MB), f"{needs / MB} MB, peak {peak / MB} MB")

    def check(self, rank, precision, only=()):
        """All formats of cpd, or some."""
        self.succeed("estimate", "x.pten", "-r", rank, "--precision", precision, "--report", "estimate.json")
        candidates = json.loads((self.folder / "estimate.json").read_text())["result"]["candidates"]
        self.assertGreater(len(candidates), 0)
        for candidate in candidates:
            if only and candidate["name"] not in only:
                continue
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
        self.check(16, "f32", ("sorted", "alto"))

    def test_tucker(self):
        # Uniform tensors have no leading vectors, and searching them takes minutes.
        made = ("gen", "power-law", "-d", "500000,300000,40", "-n", 1000000, "-o", "x.pten")
        self.succeed(*made)
        for precision, ranks in (("f32", "8,8,8"), ("f64", "8,8,8"), ("f64", "2,2,2")):
            self.expect_expected("tucker", "-i", 1, "--ranks", ranks, "--precision", precision, "-o", "model.npz")
        self.succeed(*made, "--skew", 2)
        self.expect_expected("tucker", "-i", 1, "--ranks", "4,4,4", "--init", "hosvd", "-o", "model.npz")

    def test_completion(self):
        files = ("-i", 1, "-o", "model.npz", "--checkpoint", "state.ckpt")
        for precision in ("f32", "f64"):
            self.expect_expected("fast-tucker", "-r", 16, "--shrink", 5, "--precision", precision, *files)
        # With core steps, sets that are divided, and the best epoch.
        self.expect_expected("fast-tucker", "-r", 16, "-j", 8, "--shrink", 5, "--split", 0.1, "--validate", 0.1,
                             "--patience", 2, *files)
        self.expect_expected("fast-tucker", "-r", 8, "--optimizer", "adam", *files)
        self.expect_expected("fast-tucker", "-r", 8, "--optimizer", "sgd", "--lr", 1e-4, *files)
        self.expect_expected("fast-tucker", "-r", 8, *files)  # searches

    def test_resumed_completion(self):
        run = ("fast-tucker", "-r", 16, "--shrink", 5)
        self.peak(*run, "-i", 1, "--checkpoint", "state.ckpt")
        self.expect_expected(*run, "-i", 2, "--resume", "state.ckpt", "-o", "model.npz")


class LargeTensor(Peaks):
    """The build is the peak, or what precedes it: the list and the coordinates, and sums of duplicates."""

    def setUp(self):
        super().setUp()
        self.succeed("gen", "uniform", "-d", "30000,20000,300,40", "-n", 2000000, "-o", "x.pten")

    def test_doubles(self):
        self.check(2, "f64", ("sorted", "alto"))

    def test_floats(self):
        self.check(10, "f32")

    def test_tucker(self):
        self.expect_expected("tucker", "-i", 1, "--ranks", "2,2,2,2", "--precision", "f32", "-o", "model.npz")
        self.expect_expected("tucker", "-i", 1, "--ranks", "8,8,8,8", "-o", "model.npz")

    def test_completion(self):
        for optimizer in (("als",), ("sgd", "--lr", 1e-4)):
            self.expect_expected("fast-tucker", "-i", 1, "-r", 8, "--optimizer", *optimizer, "--reg", 5, "-o", "model.npz",
                                 "--checkpoint", "state.ckpt")
        self.expect_expected("fast-tucker", "-i", 1, "-r", 8, "--precision", "f32", "-o", "model.npz")  # searches


class Search(Peaks):
    """A search that chooses the rank: the values are of rank 40, so that each rank that it tries is better than the one before."""

    def setUp(self):
        super().setUp()
        generator = random.Random(1)
        draw      = lambda: [generator.gauss(0, 1) for _ in range(40)]
        columns   = [draw() for _ in range(200)]
        lines     = []
        for i in range(1200):
            row = draw()
            for j, column in enumerate(columns):
                lines.append(f"{250 * i + 249} {j} {sum(map(operator.mul, row, column)):.6f}\n")
        self.write("x.tns", "".join(lines))
        self.succeed("convert", "x.tns", "--index-base", 0, "x.pten")

    def test_search(self):
        run = ("fast-tucker", "-i", 1, "-o", "model.npz")
        self.expect_expected(*run)
        report = json.loads((self.folder / "run.json").read_text())
        self.assertEqual(report["result"]["rank"], 32)
        self.assertEqual(report["result"]["choice"]["most_rank"], 32)
        # With less memory it tries no rank for which there is too little, and still ends.
        limit = int(0.8 * report["memory"]["expected_peak_bytes"])
        found = self.run_tool("fast-tucker", "x.pten", "-i", 1, "-t", 2, "-o", "model.npz", "--report", "less.json",
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)))
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertIn("polyad: the search tries no R above 16: for 32 it would need ", found.stderr)
        less = json.loads((self.folder / "less.json").read_text())
        self.assertEqual(less["result"]["rank"], 16)
        self.assertEqual(less["result"]["choice"]["most_rank"], 16)
        self.expect_near(less["memory"]["expected_peak_bytes"], less["memory"]["host_peak_bytes"])


if __name__ == "__main__":
    unittest.main()
