# SPDX-License-Identifier: BSD-3-Clause
"""polyad cpd against loops in Python that know nothing of the library."""
import gzip
import json
import lzma
import math
import os
import pty
import random
import re
import subprocess
import threading
import time
import unittest
import zipfile

from tool import TOOL, ToolTest, random_tensor, tns

MASK = 2**64 - 1
REPORT_KEYS = ["schema", "version", "git", "command", "host", "backend", "input", "format", "options", "seed",
               "iterations", "memory", "result", "exit"]


def uniform(seed, mode, row, column):
    """The random number that the documentation promises for a start's element."""
    z = ((mode + 1) * 0x9E3779B97F4A7C15 + (row + 1) * 0xBF58476D1CE4E5B9 +
         (column + 1) * 0x94D049BB133111EB + seed * 0xD6E8FEB86659FD93) & MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
    return float((z ^ z >> 31) >> 11) * 2.0**-53


def random_start(dims, rank, seed):
    return [[[uniform(seed, n, i, r) for r in range(rank)] for i in range(size)] for n, size in enumerate(dims)]


def solve(G, b):
    """x such that x G = b, for a symmetric G, by Gaussian elimination with pivots."""
    n = len(b)
    M = [row[:] + [b[i]] for i, row in enumerate(G)]
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(M[i][k]))
        M[k], M[p] = M[p], M[k]
        for i in range(k + 1, n):
            f = M[i][k] / M[k][k]
            M[i] = [a - f * c for a, c in zip(M[i], M[k])]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (M[k][n] - math.fsum(M[k][j] * x[j] for j in range(k + 1, n))) / M[k][k]
    return x


def cells(dims):
    if not dims:
        yield ()
        return
    for i in range(dims[0]):
        for rest in cells(dims[1:]):
            yield (i, *rest)


def fit_of(tensor, dims, weights, factors):
    """1 - ||X - M|| / ||X|| over every cell."""
    rest = []
    for at in cells(dims):
        model = math.fsum(w * math.prod(A[i][r] for A, i in zip(factors, at)) for r, w in enumerate(weights))
        rest.append((tensor.get(at, 0.0) - model)**2)
    return 1 - math.sqrt(math.fsum(rest)) / math.sqrt(math.fsum(x * x for x in tensor.values()))


def negligible_change(fit, tolerance):
    """The largest change of a fit that ends a run (docs/tool.md)."""
    left = max(1 - fit, 1e-3)
    return tolerance * left * math.sqrt(abs(1 - left * left))


def als_fits(tensor, dims, factors, iterations, ridge=None):
    """Without a ridge the columns are normalised, which changes nothing."""
    rank = len(factors[0][0])
    fits = []
    for _ in range(iterations):
        for n, size in enumerate(dims):
            others = [m for m in range(len(dims)) if m != n]
            G = [[math.prod(math.fsum(row[a] * row[b] for row in factors[m]) for m in others)
                  for b in range(rank)] for a in range(rank)]
            for r in range(rank):
                G[r][r] += ridge[n] if ridge else 0
            V = [[0.0] * rank for _ in range(size)]
            for at, x in tensor.items():
                for r in range(rank):
                    V[at[n]][r] += x * math.prod(factors[m][at[m]][r] for m in others)
            A = [solve(G, row) for row in V]
            if ridge:
                factors[n], weights = A, [1] * rank
                continue
            weights = [math.sqrt(math.fsum(row[r]**2 for row in A)) for r in range(rank)]
            factors[n] = [[a / w for a, w in zip(row, weights)] for row in A]
        fits.append(fit_of(tensor, dims, weights, factors))
    return fits


def descended(tensor, dims, factors, iterations, bounds, penalties, sweeps):
    """Fits and objectives of coordinate descent over the columns of each row."""
    rank = len(factors[0][0])
    norm = sum(value * value for value in tensor.values())
    fits, objectives = [], []
    for _ in range(iterations):
        for n in range(len(dims)):
            H = [[1.0] * rank for _ in range(rank)]
            for m, factor in enumerate(factors):
                if m != n:
                    for r in range(rank):
                        for s in range(rank):
                            H[r][s] *= sum(row[r] * row[s] for row in factor)
            V = [[0.0] * rank for _ in range(dims[n])]
            for at, value in tensor.items():
                for r in range(rank):
                    V[at[n]][r] += value * math.prod(factors[m][at[m]][r] for m in range(len(dims)) if m != n)
            (low, high), (l1, ridge) = bounds[n], penalties[n]
            for row, v in zip(factors[n], V):
                for _ in range(sweeps):
                    for r in range(rank):
                        curvature = H[r][r] + ridge
                        if curvature == 0 and l1 == 0:
                            continue  # a component that is zero in another mode keeps its column
                        z = v[r] - sum(row[s] * H[s][r] for s in range(rank) if s != r)
                        z = math.copysign(max(abs(z) - l1, 0), z)
                        row[r] = min(max(z / curvature if curvature > 0 else 0, low), high)
        model = sum(math.prod(sum(row[r] * row[s] for row in factor) for factor in factors)
                    for r in range(rank) for s in range(rank))
        inner = sum(value * sum(math.prod(factors[m][at[m]][r] for m in range(len(dims))) for r in range(rank))
                    for at, value in tensor.items())
        squared = norm - 2 * inner + model
        fits.append(1 - math.sqrt(squared / norm))
        objectives.append(squared / 2 + sum(l1 * abs(x) + ridge / 2 * x * x for factor, (l1, ridge) in zip(factors, penalties)
                                            for row in factor for x in row))
    return fits, objectives


def read_ktns(path):
    words = path.read_text().partition("#")[0].split()
    assert words.pop(0) == "ktensor"
    order = int(words.pop(0))
    dims = [int(words.pop(0)) for _ in range(order)]
    rank = int(words.pop(0))
    weights = [float(words.pop(0)) for _ in range(rank)]
    factors = []
    for size in dims:
        assert words[:4] == ["matrix", "2", str(size), str(rank)], words[:4]
        numbers = [float(word) for word in words[4:4 + size * rank]]
        factors.append([numbers[i:i + rank] for i in range(0, size * rank, rank)])
        del words[:4 + size * rank]
    assert not words
    return dims, weights, factors


class Cpd(ToolTest):
    DIMS = (7, 5, 4)
    RANK = 3

    def setUp(self):
        super().setUp()
        self.tensor = random_tensor(self.DIMS, 60)
        self.path = self.write("x.tns", tns(self.tensor))

    def fits(self, *options, path=None):
        report = self.report_of("cpd", path or self.path, "-r", self.RANK, "--tol", 0, *options)
        return [step["fit"] for step in report["iterations"]]

    def assert_close(self, got, want, tolerance=1e-10):
        self.assertEqual(len(got), len(want))
        for a, b in zip(got, want):
            self.assertAlmostEqual(a, b, delta=tolerance)

    def test_fits_are_those_of_plain_loops(self):
        for seed in (0, 1, 2**64 - 1):
            want = als_fits(self.tensor, self.DIMS, random_start(self.DIMS, self.RANK, seed), 6)
            self.assert_close(self.fits("-i", 6, "--seed", seed), want)
            self.assert_close(self.fits("-i", 6, "--seed", seed, "--precision", "f32"), want, 1e-3)

    def test_ridge_is_that_of_plain_loops(self):
        for options, ridge in ((("--ridge=0.5",), (0.5, 0.5, 0.5)), (("--ridge", 2, "--ridge", "1:0.25"), (2, 0.25, 2)),
                               (("--ridge=0:1", "--ridge=2:3", "--ridge=1:2e-1"), (1, 0.2, 3))):
            with self.subTest(options=options):
                want = als_fits(self.tensor, self.DIMS, random_start(self.DIMS, self.RANK, 5), 6, ridge)
                self.assert_close(self.fits("-i", 6, "--seed", 5, *options), want)
                self.assert_close(self.fits("-i", 6, "--seed", 5, "--precision", "f32", *options), want, 1e-3)
                self.assertGreater(abs(self.fits("-i", 6, "--seed", 5)[-1] - want[-1]), 1e-4)
        plain = self.report_of("cpd", self.path, "-r", 3, "-i", 6, "--tol", 0, "--deterministic", "-o", "a.npz")
        zero = self.report_of("cpd", self.path, "-r", 3, "-i", 6, "--tol", 0, "--deterministic", "-o", "b.npz", "--ridge=0")
        self.assertEqual((self.folder / "a.npz").read_bytes(), (self.folder / "b.npz").read_bytes())
        self.assertEqual((plain["options"]["ridge"], zero["options"]["ridge"]), ("", "0"))

    def test_a_ridge_continues_from_its_model(self):
        ridge = ("-r", 3, "--ridge=0.1", "--tol", 0)
        model = self.report_of("cpd", self.path, *ridge, "-i", 5000, "-o", "m.npz")
        again = self.report_of("cpd", self.path, *ridge, "-i", 1, "--init", "m.npz")
        self.assertAlmostEqual(again["result"]["fit"], model["result"]["fit"], delta=1e-8)

    def test_ridges_that_cannot_be(self):
        for options, says in ((("--ridge=-1",), "'-1'"), (("--ridge=x",), "'x'"), (("--ridge=inf",), "'inf'"),
                              (("--ridge=nan",), "'nan'"), (("--ridge=1:",), "'1:'"), (("--ridge=:1",), "':1'"),
                              (("--ridge=-1:1",), "'-1:1'"), (("--ridge=1:2:3",), "'1:2'"),
                              (("--ridge=99999999999:1",), "'99999999999:1'"), (("--ridge=1", "--ridge=2"), "twice"),
                              (("--ridge=1:1", "--ridge=1:2"), "twice for mode 1"), (("--ridge=3:1",), "modes 0 to 2"),
                              (("--ridge=2:1",), "mode 0 without a penalty"), (("--ridge=1", "--ridge=1:0"), "mode 1 without")):
            with self.subTest(options=options):
                self.fail_with(2, "cpd", self.path, "-r", 2, *options, says=says)

    def test_constraints_are_those_of_plain_loops(self):
        infinite = math.inf
        for options, bounds, penalties, sweeps in (
                (("--nonnegative",), [(0, infinite)] * 3, [(0, 0)] * 3, 1),
                (("--nonnegative=0,2", "--inner", 3, "--lower=1:-9"), [(0, infinite), (-9, infinite), (0, infinite)], [(0, 0)] * 3, 3),
                (("--nonnegative", "--l1=0.25", "--l1=1:0.5", "--ridge=2:1"), [(0, infinite)] * 3,
                 [(0.25, 0), (0.5, 0), (0.25, 1)], 1),
                (("--lower=0:-0.25", "--upper=0:0.5", "--lower=1:-1", "--upper=1:1", "--l1=2:1"),
                 [(-0.25, 0.5), (-1, 1), (-infinite, infinite)], [(0, 0), (0, 0), (1, 0)], 1)):
            with self.subTest(options=options):
                dims, _, factors = read_ktns(self.write_start(bounds))
                want, objectives = descended(self.tensor, dims, factors, 6, bounds, penalties, sweeps)
                report = self.report_of("cpd", self.path, "-r", 3, "-i", 6, "--tol", 0, "--init", "given.ktns", *options)
                free = any(bound == (-infinite, infinite) and penalty == (0, 0) for bound, penalty in zip(bounds, penalties))
                self.assert_close([step["fit"] for step in report["iterations"]], want, 1e-9)
                if not free:
                    self.assertAlmostEqual(report["result"]["objective"], objectives[-1], delta=1e-8 * objectives[-1])
                self.assertGreaterEqual(report["result"]["kkt_violation"], 0)
                self.assertEqual(len(report["result"]["zeros"]), 3)

    def test_exact_rows_are_the_limit_of_many_sweeps(self):
        self.write_start([(0, math.inf)] * 3)
        arguments = ("cpd", self.path, "-r", 3, "-i", 5, "--tol", 0, "--init", "given.ktns", "--nonnegative", "--inner")
        exact, many = self.report_of(*arguments, "exact"), self.report_of(*arguments, 3000)
        self.assertEqual(exact["options"]["inner"], "exact")
        self.assertEqual(many["options"]["inner"], 3000)
        self.assert_close([step["fit"] for step in exact["iterations"]], [step["fit"] for step in many["iterations"]], 1e-8)
        for inner in ("0", "-1", "x", "1.5", "2147483647", "exactly"):
            with self.subTest(inner=inner):
                self.fail_with(2, "cpd", self.path, "-r", 2, "--nonnegative", "--inner", inner, says=f"'{inner}'")

    def test_bounds_at_the_ends_of_the_range(self):
        cells = [(i, j, k, (1 + i) * (2 + j) + 5 * (i == k)) for i in range(3) for j in range(3) for k in range(2)]

        def tensor_of(exponent):
            lines = [f"{i + 1} {j + 1} {k + 1} {x}e{exponent}\n" for i, j, k, x in cells]
            return self.write(f"of{exponent}.tns", "".join(lines))

        arguments = ("-r", 1, "-i", 20, "--tol", 0, "--nonnegative")
        usual = self.report_of("cpd", tensor_of(0), *arguments)["result"]["fit"]
        self.assertLess(usual, 0.99)
        for exponent in (-300, 300):
            with self.subTest(exponent=exponent):
                result = self.report_of("cpd", tensor_of(exponent), *arguments)["result"]
                self.assertAlmostEqual(result["fit"], usual, delta=1e-4)
                self.assertEqual(result["objective"] is None, exponent > 0)
        self.assertIn("objective beyond the range of doubles", self.succeed("cpd", tensor_of(300), *arguments).stdout)

    def test_fixed_modes_stay_as_they_are(self):
        self.write_start([(0, math.inf)] * 3)
        _, _, given = read_ktns(self.folder / "given.ktns")
        for options in ((), ("--nonnegative",), ("--nonnegative", "--inner", "exact"), ("--restarts", 3)):
            with self.subTest(options=options):
                self.succeed("cpd", self.path, "-r", 3, "-i", 6, "--init", "given.ktns", "--fix", "0,2", *options, "-o", "m.ktns")
                _, _, factors = read_ktns(self.folder / "m.ktns")
                self.assertEqual(factors[0], given[0])
                self.assertEqual(factors[2], given[2])
                self.assertNotEqual(factors[1], given[1])
        self.succeed("cpd", self.path, "-r", 3, "-i", 3, "--init", "given.ktns", "--fix", 1, "--checkpoint", "c")
        resumed = self.report_of("cpd", self.path, "-r", 3, "-i", 6, "--fix", 1, "--resume", "c")
        straight = self.report_of("cpd", self.path, "-r", 3, "-i", 6, "--init", "given.ktns", "--fix", 1)
        self.assertAlmostEqual(resumed["result"]["fit"], straight["result"]["fit"], delta=1e-12)
        self.fail_with(3, "cpd", self.path, "-r", 3, "-i", 6, "--resume", "c", says="mode 1: fixed")
        for options, says in ((("--fix", 0), "--init MODEL"), (("--fix", 0, "--init", "nvecs"), "--init MODEL"),
                              (("--fix", "0,1,2", "--init", "given.ktns"), "all 3 modes are fixed"),
                              (("--fix", "1,1", "--init", "given.ktns"), "mode 1 twice"),
                              (("--fix", 3, "--init", "given.ktns"), "modes 0 to 2"), (("--fix", "x", "--init", "given.ktns"), "'x'")):
            with self.subTest(options=options):
                self.fail_with(2, "cpd", self.path, "-r", 3, *options, says=says)

    def write_start(self, bounds):
        """A random start within the bounds, as a model file with weights of 1."""
        lines = ["ktensor", "3", " ".join(map(str, self.DIMS)), "3", "1 1 1"]
        for n, (size, (low, high)) in enumerate(zip(self.DIMS, bounds)):
            lines += ["matrix", "2", f"{size} 3"]
            first = 0 if math.isinf(low) else low
            width = 1 if math.isinf(high) else high - low
            lines += [" ".join(repr(first + width * uniform(5, n, i, r)) for r in range(3)) for i in range(size)]
        return self.folder / self.write("given.ktns", "\n".join(lines) + "\n")

    def test_random_starts_of_constraints_are_scaled(self):
        report = self.report_of("cpd", self.path, "-r", 3, "-i", 0, "--nonnegative")
        self.assertGreater(report["result"]["fit"], 0)  # <X, M> / |M|^2 times M is never worse than 0
        many = self.report_of("cpd", self.path, "-r", 3, "-i", 4, "--nonnegative", "--restarts", 3)
        self.assertEqual(len(many["result"]["restarts"]), 3)
        self.succeed("cpd", self.path, "-r", 2, "-i", 3, "--nonnegative", "--init", "nvecs")
        stopped = self.report_of("cpd", self.path, "-r", 2, "-i", 100000, "--tol", 0, "--nonnegative", "--kkt-tol", "1e-6")
        self.assertLess(stopped["result"]["kkt_violation"], 1e-6)
        self.assertEqual(stopped["result"]["reason"], "converged")

    def test_negative_values_are_warned_of(self):
        for power in (-170, 170, 0):
            path = self.write("signed.tns", f"1 1 1 3e{power}\n2 2 2 -4e{power}\n")
            result = self.succeed("cpd", path, "-r", 1, "-i", 2, "--nonnegative")
            self.assertIn("negative values have 64 % of the tensor's squared norm", result.stderr)
        self.assertRegex(result.stdout, r"(?m)^bounds +objective .*, KKT violation .*, zeros .* %, .* %, .* % of")
        result = self.succeed("cpd", path, "-r", 1, "-i", 2, "--nonnegative=0,1")
        self.assertNotIn("negative values", result.stderr)

    def test_constraints_that_cannot_be(self):
        for options, says in ((("--nonnegative=3",), "modes 0 to 2"), (("--nonnegative=x",), "'x'"),
                              (("--nonnegative=1,1",), "mode 1 twice"), (("--nonnegative=-1",), "'-1'"),
                              (("--lower=1", "--upper=0"), "no number is between"),
                              (("--nonnegative", "--upper=-1"), "no number is between"), (("--l1=-1",), "'-1'"),
                              (("--l1=0:1",), "mode 1 without a penalty"), (("--lower=nan",), "'nan'"),
                              (("--upper=inf",), "'inf'"), (("--inner", 0), "0"), (("--kkt-tol", -1), "-1"),
                              (("--inner", 2), "--inner is for"), (("--inner=exact", "--ridge=1"), "--inner is for"),
                              (("--kkt-tol=0.1",), "--kkt-tol is for"),
                              (("--l1=1", "--l1=2"), "twice for all modes")):
            with self.subTest(options=options):
                self.fail_with(2, "cpd", self.path, "-r", 2, *options, says=says)
        self.write_start([(-1, 1)] * 3)
        self.fail_with(2, "cpd", self.path, "-r", 3, "--init", "given.ktns", "--nonnegative=0", says="violates the bounds")

    def test_every_format(self):
        want = als_fits(self.tensor, self.DIMS, random_start(self.DIMS, self.RANK, 0), 4)
        line = re.search(r"^formats +(.*)$", self.succeed("info").stdout, re.MULTILINE)
        formats = line[1].split(", ")
        self.assertGreaterEqual(len(formats), 3)
        for name in formats:
            with self.subTest(format=name):
                self.assert_close(self.fits("-i", 4, "--format", name), want)

    def test_a_tensor_larger_than_the_device(self):
        path = self.write("larger.tns", tns(random_tensor((200, 150, 100), 120000, seed=5)))
        common = ("cpd", path, "-r", 3, "-i", 3, "--tol", 0)
        want = self.report_of(*common, "--format", "sorted")
        self.assertNotIn("chosen_because", want["format"])
        needed = 120000 * 30
        for budget in (needed // 3, needed // 4):  # less than the coordinates take
            report = self.report_of(*common, "--device-memory", budget)
            self.assertEqual(report["format"]["name"], "streamed-blco")
            self.assertRegex(report["format"]["chosen_because"], r"the fastest, needs .* free; no other in-memory format fits")
            self.assertLessEqual(report["memory"]["device_peak_bytes"], budget)
            self.assertEqual(report["options"]["device_memory"], budget)
            self.assert_close([it["fit"] for it in report["iterations"]],
                              [it["fit"] for it in want["iterations"]], 1e-10)
        result = self.succeed(*common, "--device-memory", needed // 3)
        self.assertRegex(result.stdout, r"(?m)^format +streamed-blco because .* the fastest, needs ")
        result = self.succeed(*common, "--format", "streamed-blco", "--restarts", 2, "--device-memory", "1G")
        self.assertNotIn("because", result.stdout)
        for arguments, code, says in (
                (("--device-memory", 0), 4, ("a model of rank 3 needs", "only 0 bytes are free")),
                (("--device-memory", needed // 3, "--format", "sorted"), 4, ("needs", "are free")),
                (("--device-memory", needed // 3, "--init", "nvecs"), 2, ("--init nvecs needs the tensor",)),
                (("--device-memory", "much"), 2, ("--device-memory",)),
                (("--device-memory", -1), 2, ("--device-memory",))):
            with self.subTest(arguments=arguments):
                self.fail_with(code, *common, *arguments, says=says)

    def test_64_bit_indices(self):
        # By stats, whose memory does not grow with the extents: factors of so many rows are out of reach here.
        path = self.write("far.tns", "1 1 2\n4294967297 2 3\n4294967297 1 4\n")
        report = self.report_of("stats", path)
        self.assertEqual(report["input"]["dims"], [2**32 + 1, 2])
        self.assertEqual(report["input"]["empty_slices"], [2**32 - 1, 0])
        self.assertEqual([s["nonempty"] for s in report["result"]["slices"]], [2, 2])

    def test_seed_and_threads(self):
        first = self.fits("-i", 5, "-t", 1)
        self.assertEqual(first, self.fits("-i", 5, "-t", 1))
        self.assert_close(self.fits("-i", 5, "-t", 3), first)
        self.assertNotEqual(first, self.fits("-i", 5, "-t", 1, "--seed", 1))

    def test_packed_and_zero_based(self):
        want = self.fits("-i", 2, "-t", 1)
        text = tns(self.tensor, base=0)
        for name, packed in (("x.xz", lzma.compress(text.encode())), ("x.gz", gzip.compress(text.encode())),
                             ("x.text", text)):
            self.assertEqual(self.fits("-i", 2, "-t", 1, path=self.write(name, packed)), want)

    def test_standard_input(self):
        result = self.run_tool("cpd", "-", "-r", 2, input=tns(self.tensor))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_duplicates_are_summed(self):
        at, value = next(iter(self.tensor.items()))
        split = tns(self.tensor).split("\n", 1)[1]
        where = " ".join(str(i + 1) for i in at)
        parts = "".join(f"{where} {part!r}\n" for part in (value - 1, 0.75, 0.25))
        path = self.write("split.tns", split + parts)
        report = self.report_of("cpd", path, "-r", self.RANK, "-i", 3, "--tol", 0)
        self.assertEqual(report["input"]["duplicates"], 2)
        self.assertEqual(report["input"]["nnz"], len(self.tensor))
        self.assert_close([step["fit"] for step in report["iterations"]], self.fits("-i", 3))
        self.assertIn("2 duplicates summed", self.succeed("cpd", path, "-r", 2).stdout)

    def test_model_has_the_fit_that_is_reported(self):
        for name in ("model.ktns", "model.txt"):
            report = self.report_of("cpd", self.path, "-r", self.RANK, "-i", 4, "-o", name)
            dims, weights, factors = read_ktns(self.folder / name)
            self.assertEqual(dims, list(self.DIMS))
            self.assertEqual(weights, report["result"]["weights"])
            self.assertEqual(weights, sorted(weights, reverse=True))
            self.assertAlmostEqual(fit_of(self.tensor, self.DIMS, weights, factors), report["result"]["fit"],
                                   delta=1e-10)
            self.assertEqual(report["result"]["files"], [name])

    def test_no_iterations(self):
        """The model is the start, and its fit is reported."""
        for options in ((), ("--seed", 5), ("--init", "nvecs"), ("--format", "csf")):
            with self.subTest(options=options):
                report = self.report_of("cpd", self.path, "-r", self.RANK, "-i", 0, "-o", "start.ktns", *options)
                dims, weights, factors = read_ktns(self.folder / "start.ktns")
                self.assertEqual(report["iterations"], [])
                self.assertEqual(report["result"]["reason"], "iteration limit")
                self.assertAlmostEqual(fit_of(self.tensor, self.DIMS, weights, factors), report["result"]["fit"],
                                       delta=1e-10)
        # A start that was fitted before has the fit of that run.
        fitted = self.report_of("cpd", self.path, "-r", self.RANK, "-i", 5, "-o", "fitted.ktns")
        again = self.report_of("cpd", self.path, "-r", self.RANK, "-i", 0, "--init", "fitted.ktns")
        self.assertAlmostEqual(fitted["result"]["fit"], again["result"]["fit"], delta=1e-10)

    def test_only_an_iteration_measures_the_kkt_violation(self):
        options = ("cpd", self.path, "-r", 2, "--nonnegative", "-i")
        start = self.report_of(*options, 0)["result"]
        self.assertIsNone(start["kkt_violation"])
        self.assertEqual(len(start["zeros"]), 3)
        self.assertNotIn("KKT", self.succeed(*options, 0).stdout)
        self.assertGreater(self.report_of(*options, 1, "--checkpoint", "c")["result"]["kkt_violation"], 0)
        self.assertIn("KKT", self.succeed(*options, 1).stdout)
        self.assertIsNone(self.report_of(*options, 1, "--resume", "c")["result"]["kkt_violation"])

    def test_components_that_nearly_vanish_come_back(self):
        """The best entry of such a component may be beyond the range of a float."""
        self.write("two.tns", "2 3 1 1 35.36742401123047\n1 5 2 3 6.347825527191162\n6 1 1 4 0\n")
        for precision in ("f32", "f64"):
            for seed in range(40):
                with self.subTest(precision=precision, seed=seed):
                    self.succeed("cpd", "two.tns", "-r", 6, "-i", 14, "--tol", 0, "--nonnegative", "--seed", seed, "--precision",
                                 precision, "--format", "sorted", "-t", 1)

    def test_npz(self):
        for precision, number in (("f64", b"'<f8'"), ("f32", b"'<f4'")):
            self.succeed("cpd", self.path, "-r", 2, "-o", "model.npz", "--precision", precision)
            with zipfile.ZipFile(self.folder / "model.npz") as archive:
                self.assertIsNone(archive.testzip())
                self.assertEqual(sorted(archive.namelist()),
                                 ["factor_0.npy", "factor_1.npy", "factor_2.npy", "index_base.npy", "weights.npy"])
                self.assertIn(number, archive.read("factor_1.npy"))
                self.assertIn(b"(5, 2)", archive.read("factor_1.npy"))

    def test_goes_on_from_a_model(self):
        whole = self.fits("-i", 6)
        for name in ("half.ktns", "half.npz"):
            self.fits("-i", 3, "-o", name)
            self.assert_close(self.fits("-i", 3, "--init", name), whole[3:])

    def test_singular_vectors_as_start(self):
        # For a tensor of rank R with orthogonal factors they are the solution, as exactly as they are found.
        tensor = {(r, (r + 1) % 3, r): float(3 - r) for r in range(3)}
        path = self.write("orthogonal.tns", tns(tensor))
        report = self.report_of("cpd", path, "-r", 3, "-i", 1, "--init", "nvecs")
        self.assertAlmostEqual(report["result"]["fit"], 1, delta=1e-4)
        for weight, want in zip(report["result"]["weights"], (3, 2, 1)):
            self.assertAlmostEqual(weight, want, delta=1e-3)
        self.assertLess(self.report_of("cpd", path, "-r", 3, "-i", 1)["result"]["fit"], 0.99)

    def test_restarts(self):
        path = self.write("t.tns", tns(random_tensor((9, 8, 7), 150)))
        once = self.report_of("cpd", path, "-r", 3, "-i", 30, "--seed", 4)
        many = self.report_of("cpd", path, "-r", 3, "-i", 30, "--seed", 4, "--restarts", 5)
        starts = many["result"]["restarts"]
        self.assertEqual([s["seed"] for s in starts], [4, 5, 6, 7, 8])
        self.assertAlmostEqual(starts[0]["fit"], once["result"]["fit"], delta=1e-7)
        best = starts[many["result"]["best_restart"]]
        self.assertEqual(best["fit"], max(s["fit"] for s in starts))
        self.assertEqual(many["result"]["fit"], best["fit"])
        self.assertEqual(len(many["iterations"]), best["iterations"])
        self.assertNotIn("restarts", once["result"])
        # The time is that of all starts.
        self.assertAlmostEqual(best["seconds"], sum(it["seconds"] for it in many["iterations"]), delta=1e-9)
        self.assertGreaterEqual(many["result"]["restarts_s"], max(s["seconds"] for s in starts))
        self.assertRegex(self.succeed("cpd", path, "-r", 3, "--restarts", 2).stdout, r"to build, .* for all starts\n")
        self.fail_with(2, "cpd", path, "-r", 3, "--restarts", 2, "--init", "nvecs")

    def test_deterministic(self):
        path = self.write("t.tns", tns(random_tensor((40, 30, 20), 9000)))
        models = []
        for threads in (1, 2, 4, 1):
            self.succeed("cpd", path, "-r", 5, "-i", 4, "--tol", 0, "--deterministic", "-t", threads, "-o", "m.ktns")
            models.append((self.folder / "m.ktns").read_bytes())
        self.assertEqual(len(set(models)), 1)
        self.fail_with(2, "cpd", path, "-r", 5, "--deterministic", "--format", "coo-tiny-vec")

    def test_a_model_that_says_nothing(self):
        # Four components in two rows are never independent.
        flat = self.write("flat.tns", "1 1 3\n2 2 2\n")
        result = self.succeed("cpd", flat, "-r", 4, "--report", "r.json")
        self.assertRegex(result.stdout, r"(?m)^fit .*\(stalled\)$")
        self.assertRegex(result.stderr, r"(?m)^polyad: warning: every update took the pseudo-inverse: the 4 components "
                                        r"were never independent\. Try a smaller rank, another --seed, or --init nvecs$")
        report = json.loads((self.folder / "r.json").read_text())["result"]
        self.assertEqual((report["converged"], report["reason"], report["defect"]),
                         (False, "stalled", "every update took the pseudo-inverse"))
        self.assertEqual(self.report_of("cpd", flat, "-r", 4, "-i", 1)["result"]["reason"], "iteration limit")
        ones = self.write("ones.tns", "1 1 1 1\n2 3 2 1\n")
        result = self.succeed("cpd", ones, "-r", 1, "--precision", "f32", "--ridge=1e6", "--report", "r.json")
        self.assertRegex(result.stderr, r"(?m)^polyad: warning: the model is zero\. Try --precision f64, another --seed")
        report = json.loads((self.folder / "r.json").read_text())["result"]
        self.assertEqual((report["converged"], report["reason"], report["defect"]),
                         (False, "stalled", "the model is zero"))
        self.assertNotIn("warning", self.succeed("cpd", self.path, "-r", 2, "-i", 4).stderr)

    def test_floats_hold_many_long_modes(self):
        generator = random.Random(5)
        lines = "".join(" ".join(str(generator.randrange(10**5) + 1) for _ in range(12)) + f" {1 + k % 7}\n"
                        for k in range(500))
        path = self.write("long.tns", lines)
        fits = {}
        for precision in ("f32", "f64"):
            result = self.report_of("cpd", path, "-r", 4, "-i", 5, "--tol", 0, "--precision", precision)["result"]
            self.assertEqual(result["gram_fallbacks"], 0)
            self.assertTrue(all(weight > 0 for weight in result["weights"]))
            fits[precision] = result["fit"]
        self.assertGreater(fits["f64"], 0)
        self.assertAlmostEqual((1 - fits["f32"])**2, (1 - fits["f64"])**2, delta=2e-6 + 12e-6)

    def test_stops(self):
        converged = self.report_of("cpd", self.path, "-r", 2, "-i", 500, "--tol", 1e-3)
        self.assertTrue(converged["result"]["converged"])
        self.assertEqual(converged["result"]["reason"], "converged")
        steps = converged["iterations"]
        self.assertLessEqual(abs(steps[-1]["delta"]), negligible_change(steps[-1]["fit"], 1e-3))
        self.assertTrue(all(abs(step["delta"]) > negligible_change(step["fit"], 1e-3) for step in steps[1:-1]))
        for before, after in zip(steps, steps[1:]):
            self.assertAlmostEqual(after["fit"] - before["fit"], after["delta"], delta=1e-15)
        start = time.monotonic()
        limited = self.report_of("cpd", self.path, "-r", 2, "-i", 100000000, "--tol", 0, "--time-limit", 0.2)
        self.assertEqual(limited["result"]["reason"], "time limit")
        self.assertGreaterEqual(time.monotonic() - start, 0.2)
        exhausted = self.report_of("cpd", self.path, "-r", 2, "-i", 3, "--tol", 0)
        self.assertEqual(exhausted["result"]["reason"], "iteration limit")
        self.assertFalse(exhausted["result"]["converged"])

    def test_report(self):
        path = self.write("gaps.tns", tns(self.tensor) + "9 5 4 1\n")
        report = self.report_of("cpd", path, "-r", 2, "-i", 3, "--seed", 7, "-o", "m.ktns", "--phases", "--format",
                                "sorted")
        self.assertEqual(list(report), REPORT_KEYS)
        self.assertEqual(report["schema"], 1)
        self.assertEqual(report["exit"], 0)
        self.assertEqual(report["seed"], 7)
        self.assertIn(str(path), report["command"])
        self.assertEqual(sorted(report["backend"]), ["concurrency", "device", "name"])
        expected = {"path": str(path), "dialect": "frostt", "base": 1, "dims": [9, 5, 4],
                    "nnz": len(self.tensor) + 1, "duplicates": 0, "empty_slices": [1, 0, 0],
                    "stored_rows": []}
        self.assertEqual({key: report["input"][key] for key in expected}, expected)
        self.assertEqual(sorted(report["input"]), sorted([*expected, "read_s"]))
        self.assertEqual(report["format"]["name"], "sorted")
        # A copy per mode, rounded up to packs of four nonzeros; and lists of rows to be zeroed, the empty slice
        # among them, all 9 + 5 + 4 rows at most.
        nonzeros = -(-(len(self.tensor) + 1) // 4) * 4
        lists = report["format"]["bytes"] - 3 * nonzeros * (8 + 3 * 4)
        self.assertIn(lists, range(4, 4 * 18 + 1, 4))
        self.assertGreater(report["format"]["build_s"], 0)
        self.assertEqual([step["iteration"] for step in report["iterations"]], [1, 2, 3])
        for step in report["iterations"]:
            self.assertEqual(sorted(step), ["delta", "fit", "iteration", "phases", "seconds"])
            self.assertIn("mttkrp", step["phases"])
            self.assertLessEqual(sum(step["phases"].values()), step["seconds"] * 1.01)
        self.assertEqual(sorted(report["memory"]), ["device_peak_bytes", "expected_peak_bytes", "host_peak_bytes"])
        self.assertGreater(report["memory"]["host_peak_bytes"], 2**20)
        self.assertEqual(sorted(report["result"]),
                         ["converged", "defect", "files", "fit", "fit_error", "gram_fallbacks", "objective", "reason",
                          "weights"])
        self.assertIsNone(report["result"]["defect"])
        self.assertAlmostEqual(report["result"]["fit"], report["iterations"][-1]["fit"], delta=1e-12)

    def test_report_lists_the_options(self):
        names = re.findall(r"(?m)^  (?:-\w,)?--([\w-]+)", self.succeed("cpd", "--help").stdout)
        wanted = {name.replace("-", "_") for name in names}
        # These have a place of their own in the report, or none; the limit says its unit. Unset memory is left out.
        wanted -= {"help", "report", "verbose", "quiet", "seed", "device_memory", "time_limit"}
        wanted |= {"time_limit_s"}
        report = self.report_of("cpd", self.path, "-r", 2, "-i", 1, "--seed", 7, "--drop-zeros", "-o", "m.npz", "--max-memory",
                                "1G")
        options = report["options"]
        self.assertEqual(set(options), wanted)
        self.assertEqual(report["seed"], 7)
        for name, value in (("rank", 2), ("tol", 1e-4), ("time_limit_s", None), ("format", "auto"), ("threads", 0),
                            ("drop_zeros", True), ("max_memory", 2**30), ("deterministic", False), ("output", "m.npz"),
                            ("resume", "")):
            self.assertEqual(options[name], value, name)
        self.assertIs(type(options["rank"]), int)

    def test_streams(self):
        result = self.succeed("cpd", self.path, "-r", 2, "-i", 4, "--tol", 0, "-o", self.folder / "m.npz")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2)  # the first and the last: they are less than ten seconds apart
        for i, line in zip((1, 4), lines):
            self.assertRegex(line, rf"\Aiteration {i} of 4: fit -?\d\.\d{{9}}, change [-+]\d\.\d{{3}}e[-+]\d\d, "
                                   rf"\S+ \w+ per iteration" + (", at most .* left" if i < 4 else r"\Z"))
        self.assertNotIn("\r", result.stderr)
        self.assertNotIn("iteration 1", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^fit +-?\d\.\d{9} after 4 iterations \(iteration limit\)$")

    def on_terminal(self, *options):
        """What a terminal on stderr receives."""
        reader, terminal = pty.openpty()
        seen = []

        def read():
            try:
                while chunk := os.read(reader, 4096):
                    seen.append(chunk)
            except OSError:  # the terminal's other end is closed
                pass

        thread = threading.Thread(target=read)
        thread.start()
        process = subprocess.run([TOOL, "cpd", self.path, "-r", "2", "-o", self.folder / "m.npz", *options], stderr=terminal,
                                 stdout=subprocess.PIPE, timeout=120)
        os.close(terminal)
        thread.join()
        os.close(reader)
        self.assertEqual(process.returncode, 0)
        return b"".join(seen).decode()

    def test_terminal(self):
        last = len(self.report_of("cpd", self.path, "-r", 2, "-i", 500, "--tol", 1e-3)["iterations"])
        for options, end in ((("-i", "30", "--tol", "0"), "iteration 30 of 30"),
                             (("-i", "500", "--tol", "1e-3"), f"iteration {last} of 500")):
            text = self.on_terminal(*options)
            self.assertEqual(text.count("\n"), 1)
            self.assertTrue(text.endswith("\n"))
            lines = text.split("\r")
            self.assertTrue(lines[1].startswith("iteration 1 of "))
            self.assertTrue(all(line.endswith("\x1b[K") for line in lines[1:-1] if line.strip()))
            self.assertIn(end, text)

    def test_zeros_only(self):
        path = self.write("zeros.tns", "1 1 1 0\n2 2 2 0\n")
        for options in ((), ("--ridge=1",), ("--init", "nvecs"), ("--duplicates", "error")):
            self.fail_with(5, "cpd", path, "-r", 2, "-i", 2, *options, says="a tensor of zeros has no fit")


if __name__ == "__main__":
    unittest.main()
