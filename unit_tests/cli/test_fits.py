# SPDX-License-Identifier: BSD-3-Clause
"""Fits of cpd, tucker and compare against sums over all cells, and the reasons why runs stop."""
import itertools
import json
import math
import random
import struct
import unittest
from fractions import Fraction

from test_cpd import read_ktns
from tool import ToolTest


class Fits(ToolTest):
    def write_exact(self, name, dims, scale, seed):
        """All cells of a model of rank 2."""
        generator = random.Random(seed)
        factors = [[[generator.uniform(0.5, 1.5) for _ in range(2)] for _ in range(d)] for d in dims]
        lines = []
        for at in itertools.product(*(range(d) for d in dims)):
            value = sum(math.prod(factors[n][i][r] for n, i in enumerate(at)) for r in range(2))
            lines.append(" ".join(str(i + 1) for i in at) + f" {value * scale!r}\n")
        return self.write(name, "".join(lines))

    def exact_fit(self, tensor, model, as_stored=float):
        """1 - ||X - M|| / ||X|| over all cells, in fractions of integers: no number is rounded before the end."""
        values = {tuple(map(int, line.split()[:-1])): Fraction(as_stored(float(line.split()[-1])))
                  for line in tensor.read_text().splitlines()}
        _, weights, factors = read_ktns(model)
        weights = [Fraction(weight) for weight in weights]
        factors = [[[Fraction(entry) for entry in row] for row in factor] for factor in factors]
        residual = norm = Fraction(0)
        for at in itertools.product(*(range(1, len(factor) + 1) for factor in factors)):
            m = sum(weight * math.prod(factors[n][i - 1][r] for n, i in enumerate(at)) for r, weight in enumerate(weights))
            residual += (values.get(at, 0) - m) ** 2
            norm += values.get(at, 0) ** 2
        return 1 - math.sqrt(residual / norm)

    def test_the_fit_is_that_of_the_saved_model(self):
        for precision, scales, error in (("f32", (1e-30, 1, 1e30), 1e-6), ("f64", (1e-300, 1e-170, 1, 1e300), 1e-12)):
            for scale in scales:
                path = self.write_exact("exact.tns", (6, 5, 4), scale, 3)
                report = self.report_of("cpd", path, "-r", 2, "-i", 12, "--tol", 0, "--precision", precision, "-o", "m.ktns")
                result = report["result"]
                as_stored = (lambda x: struct.unpack("f", struct.pack("f", x))[0]) if precision == "f32" else float
                exact = self.exact_fit(path, self.folder / "m.ktns", as_stored)
                with self.subTest(precision=precision, scale=scale, exact=exact):
                    self.assertAlmostEqual(result["fit"], exact, delta=error)
                    self.assertLess(result["fit_error"], error)
                    compared = self.report_of("compare", "m.ktns", path)["result"]["fit"]
                    exact = self.exact_fit(path, self.folder / "m.ktns")
                    self.assertAlmostEqual(compared, exact, delta=1e-12)

    def test_values_whose_squares_underflow(self):
        generator = random.Random(9)
        places = generator.sample(range(7 * 6 * 5), 60)
        fits, norms = {}, {}
        for scale in (1, 1e-170, 1e170):
            path = self.write("scaled.tns", "".join(f"{p // 30 + 1} {p // 5 % 6 + 1} {p % 5 + 1} {(1 + p % 9) * scale!r}\n"
                                                     for p in places))
            result = self.report_of("cpd", path, "-r", 2, "-i", 20, "--tol", 0)["result"]
            self.assertIsNone(result["defect"])
            fits[scale] = result["fit"]
            norms[scale] = self.report_of("stats", path)["result"]["norm"] / scale
        for scale in (1e-170, 1e170):
            self.assertAlmostEqual(fits[scale], fits[1], delta=1e-9)
            self.assertAlmostEqual(norms[scale], norms[1], delta=1e-9)

    def test_rounding_hides_the_change(self):
        path = self.write_exact("exact.tns", (12, 11, 10), 1, 5)
        run = self.run_tool("cpd", path, "-r", 2, "-i", 500, "--tol", 1e-9, "--precision", "f32", "--seed", 5, "--report", "r.json")
        self.assertRegex(run.stdout, r"(?m)^fit .*\(rounding hides the change\)$")
        result = json.loads((self.folder / "r.json").read_text())["result"]
        self.assertFalse(result["converged"])
        self.assertLess(result["fit_error"], 1e-6)

    def test_a_model_that_explains_little_does_not_stop_at_once(self):
        self.succeed("gen", "uniform", "-d", "1000,1000,1000", "-n", 20000, "--seed", 1, "-o", "random.pten")
        fit = self.report_of("cpd", "random.pten", "-r", 16)["result"]["fit"]
        self.assertGreater(fit, 1.3e-3)  # 1.47e-3 after 120 iterations; 8.7e-5 after two

    def test_degenerate(self):
        path = self.write("degenerate.tns", "1 1 2 1\n1 2 1 1\n2 1 1 1\n")
        run = self.run_tool("cpd", path, "-r", 2, "-i", 2000, "--report", "r.json")
        self.assertIn("polyad: warning: two components grow and cancel each other: the tensor has no best model of rank 2",
                      run.stderr)
        result = json.loads((self.folder / "r.json").read_text())["result"]
        self.assertEqual(result["defect"], "two components grow and cancel each other")
        self.assertGreater(result["fit"], 0.98)
        # With a rank that suffices, the same tensor has a model without such components.
        self.assertIsNone(self.report_of("cpd", path, "-r", 3, "-i", 2000)["result"]["defect"])


if __name__ == "__main__":
    unittest.main()
