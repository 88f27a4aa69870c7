# SPDX-License-Identifier: BSD-3-Clause
"""polyad ttm, ttmc and tucker against loops in Python that know nothing of the library."""
import ast
import io
import itertools
import math
import random
import struct
import unittest
import zipfile

from tool import ToolTest, random_tensor, tns

DIMS = (7, 5, 6)


def npy(rows):
    header = str({"descr": "<f8", "fortran_order": False, "shape": (len(rows), len(rows[0]) if rows else 0)}).encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    numbers = [x for row in rows for x in row]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(numbers)}d", *numbers)


def npz(arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, rows in arrays.items():
            archive.writestr(name + ".npy", npy(rows))
    return file.getvalue()


def read_npz(path):
    """{name: (shape, numbers)}"""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            length = struct.unpack("<H", content[8:10])[0]
            header = ast.literal_eval(content[10:10 + length].decode())
            kind = {"<f8": "d", "<f4": "f", "<i8": "q"}[header["descr"]]
            count = math.prod(header["shape"])
            arrays[name[:-4]] = header["shape"], struct.unpack(f"<{count}{kind}", content[10 + length:])
    return arrays


def random_matrix(rows, columns, seed):
    generator = random.Random(seed)
    return [[generator.uniform(-1, 1) for _ in range(columns)] for _ in range(rows)]


class Products(ToolTest):
    def setUp(self):
        super().setUp()
        self.tensor = random_tensor(DIMS, 60)
        self.file = self.write("x.tns", tns(self.tensor))
        self.matrices = [random_matrix(rows, columns, rows) for rows, columns in zip(DIMS, (2, 3, 4))]

    def test_project(self):
        """The new rows satisfy the conditions of their minimum: no entry's change improves it."""
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 9, "--nonnegative", "-o", "m.npz")
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 9, "-o", "free.npz")
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 9, "--lower=-0.25", "--upper=0.5", "-o", "box.ktns")
        dims = (DIMS[0], DIMS[1] + 3, DIMS[2])
        entries = random_tensor(dims, 70, 5)
        self.write("new.tns", tns(entries))
        for model, low, high in (("m.npz", 0, math.inf), ("free.npz", -math.inf, math.inf), ("box.ktns", -0.25, 0.5)):
            with self.subTest(model=model):
                report = self.report_of("project", model, "new.tns", "--mode", 1, "-o", "p.npz")
                arrays = read_npz(self.folder / "p.npz")
                weights, factors = arrays["weights"][1], [arrays[f"factor_{n}"] for n in range(3)]
                rows = max(i[1] for i in entries) + 1
                self.assertEqual(factors[1][0], (rows, 3))
                self.assertEqual("constraints" in arrays, model != "free.npz")
                row = lambda n, i: factors[n][1][3 * i:3 * i + 3]
                gram = [[[math.fsum(a * b for a, b in zip(f[1][r::3], f[1][s::3])) for s in range(3)] for r in range(3)]
                        for f in factors]
                V = [[0.0] * 3 for _ in range(rows)]
                for (i, j, k), value in entries.items():
                    for r in range(3):
                        V[j][r] += value * row(0, i)[r] * row(2, k)[r] * weights[r]
                size = max(abs(v) for of_row in V for v in of_row)
                for j in range(rows):
                    for r in range(3):
                        entry = row(1, j)[r]
                        gradient = V[j][r] - sum(row(1, j)[s] * weights[s] * weights[r] * gram[0][r][s] * gram[2][r][s] for s in range(3))
                        self.assertTrue(low <= entry <= high)
                        if entry < high:
                            self.assertLess(gradient, 1e-9 * size)
                        if entry > low:
                            self.assertGreater(gradient, -1e-9 * size)
                self.assertAlmostEqual(report["result"]["fit"], self.report_of("compare", "p.npz", "new.tns")["result"]["fit"], delta=1e-9)

    def test_what_does_not_fit_is_not_projected(self):
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 2, "-o", "m.npz")
        self.write("wide.tns", f"1 1 {DIMS[2] + 1} 1\n")
        self.write("flat.tns", "1 1 1\n")
        for code, options, says in ((3, ("wide.tns", "--mode", 0), "only mode 0"), (3, ("flat.tns", "--mode", 0), "has 2 modes"),
                                    (2, ("x.tns", "--mode", 3), "of 3 modes, which count from 0"), (2, ("x.tns",), "--mode")):
            with self.subTest(options=options):
                self.fail_with(code, "project", "m.npz", *options, "-o", "p.npz", says=says)
        self.fail_with(2, "project", "m.npz", "x.tns", "--mode", 0, "-o", "p.tns", says=".npz")

    def test_ttm_counts_as_its_input(self):
        """The rows of the other modes keep their numbers in the product's text."""
        matrix = self.write("u.npz", npz({"matrix": [[1.0, 1.0] for _ in range(3)]}))
        for base in (0, 1):
            tensor = self.write("b.tns", f"{base} {base + 3} 1.5\n{base + 2} {base + 1} 2.5\n")
            self.succeed("ttm", tensor, "--mode", 0, "--matrix", matrix, "-o", "y.tns")
            rows = {line.split()[1] for line in (self.folder / "y.tns").read_text().splitlines()}
            self.assertEqual(rows, {str(base + 1), str(base + 3)})

    def test_ttm(self):
        for mode in (1, 2, 3):
            U = self.matrices[mode - 1]
            matrix = self.write("u.npz", npz({"matrix": U}))
            for precision, tolerance in (("f64", 1e-14), ("f32", 1e-5)):
                output = self.folder / "y.tns"
                report = self.report_of("ttm", self.file, "--mode", mode - 1, "--matrix", matrix, "-o", output,
                                        "--precision", precision)
                expected = {}
                for at, value in self.tensor.items():
                    for r, u in enumerate(U[at[mode - 1]]):
                        cell = at[:mode - 1] + (r,) + at[mode:]
                        expected[cell] = expected.get(cell, 0) + value * u
                found = {}
                for line in output.read_text().splitlines():
                    if line.startswith("#") or not line.strip():
                        continue
                    *at, value = line.split()
                    found[tuple(int(i) - 1 for i in at)] = float(value)
                self.assertEqual(found.keys(), expected.keys())
                for cell, value in expected.items():
                    self.assertLess(abs(found[cell] - value), tolerance * len(self.tensor))
                dims = list(DIMS)
                dims[mode - 1] = len(U[0])
                self.assertEqual(report["result"], {"dims": " x ".join(map(str, dims)), "values": len(expected),
                                                    "files": [str(output)]})
                output.unlink()

    def test_ttmc(self):
        matrices = self.write("u.npz", npz({f"factor_{n}": U for n, U in enumerate(self.matrices)}))
        output = self.folder / "y.npz"
        for mode in (1, 2, 3):
            report = self.report_of("ttmc", self.file, "--mode", mode - 1, "--matrices", matrices, "-o", output)
            a, b = (U for n, U in enumerate(self.matrices) if n != mode - 1)
            width = len(a[0]) * len(b[0])
            expected = [[0.0] * width for _ in range(DIMS[mode - 1])]
            for at, value in self.tensor.items():
                i, j = at[:mode - 1] + at[mode:]
                for c, (u, v) in enumerate(itertools.product(a[i], b[j])):
                    expected[at[mode - 1]][c] += value * u * v
            shape, found = read_npz(output)["matrix"]
            self.assertEqual(shape, (DIMS[mode - 1], width))
            for x, y in zip(found, (x for row in expected for x in row)):
                self.assertLess(abs(x - y), 1e-13)
            self.assertEqual(report["format"]["name"], "f-coo")

    def test_tucker(self):
        output = self.folder / "model.npz"
        report = self.report_of("tucker", self.file, "-r", "2,3,2", "-i", "30", "--tol", "0", "-o", output)
        arrays = read_npz(output)
        self.assertEqual({name: shape for name, (shape, _) in arrays.items()},
                         {"core": (2, 3, 2), "factor_0": (7, 2), "factor_1": (5, 3), "factor_2": (6, 2),
                          "index_base": (1,)})
        core = arrays["core"][1]
        U = [arrays[f"factor_{n}"][1] for n in range(3)]
        ranks = (2, 3, 2)
        residual = norm = 0.0
        for at in itertools.product(*map(range, DIMS)):
            model = sum(core[(r[0] * 3 + r[1]) * 2 + r[2]] * math.prod(U[n][at[n] * ranks[n] + r[n]] for n in range(3))
                        for r in itertools.product(*map(range, ranks)))
            value = self.tensor.get(at, 0.0)
            residual += (value - model) ** 2
            norm += value ** 2
        self.assertLess(abs(report["result"]["fit"] - (1 - math.sqrt(residual / norm))), 1e-10)
        self.assertEqual(report["result"]["reason"], "iteration limit")
        fits = [step["fit"] for step in report["iterations"]]
        self.assertEqual(len(fits), 30)
        self.assertGreater(fits[-1], fits[0])
        self.assertEqual(report["result"]["files"], [str(output)])
        # ttmc takes the factors as they are.
        self.succeed("ttmc", self.file, "--mode", 0, "--matrices", output, "-o", self.folder / "y.npz")

    def test_bad_input(self):
        good = self.write("u.npz", npz({"matrix": self.matrices[0]}))
        rows = self.write("rows.npz", npz({"matrix": self.matrices[1]}))
        empty = self.write("empty.npz", npz({"matrix": [[] for _ in range(7)]}))
        other = self.write("other.npz", npz({"A": self.matrices[0]}))
        out = self.folder / "y.tns"
        ttm = lambda matrix, *more: ("ttm", self.file, "--matrix", matrix, "-o", out, "--mode", *(more or (0,)))
        self.fail_with(3, *ttm(rows), says="the matrix of mode 0 has 5 rows, not 7")
        self.fail_with(3, *ttm(empty), says="empty.npz")
        self.fail_with(3, *ttm(other), says="matrix")
        self.fail_with(2, *ttm(good, 3), says="--mode 3 of 3 modes, which count from 0")
        self.fail_with(2, *ttm(good, -1))
        for mode, advice in ((1, "write --mode 0"), (3, "write --mode 2"), (0, "write --mode N"), ("x", "write --mode N")):
            self.fail_with(2, "ttm", self.file, "--matrix", good, "-o", out, "-m", mode, says=advice)
        self.fail_with(2, "ttm", self.file, "--matrix", good, "--mode", 0, "-o", self.folder / "y.what", says="y.what")
        self.fail_with(2, "ttm", self.file, "--matrix", good, "--mode", 0, "-o", self.file, says="overwrite")
        large = [[1e300] for _ in range(7)]
        huge = self.write("huge.npz", npz({"matrix": large, **{f"factor_{n}": [[1e300]] * len(U) for n, U in
                                                              enumerate(self.matrices)}}))
        tall = self.write("tall.tns", "".join(f"{i} 1 1 1e300\n" for i in range(1, 8)))
        for command in (ttm(huge), ("ttmc", self.file, "--matrices", huge, "--mode", 0, "-o", self.folder / "z.npz")):
            command = [tall if word == self.file and command[0] == "ttm" else word for word in command]
            self.fail_with(5, *command, says="the product holds numbers that are not finite")
        two = self.write("two.npz", npz({"factor_0": self.matrices[0], "factor_1": self.matrices[1]}))
        ttmc = lambda mode: ("ttmc", self.file, "--matrices", two, "--mode", mode, "-o", self.folder / "y.npz")
        self.fail_with(3, *ttmc(0), says="holds no array 'factor_2', of mode 2")
        self.succeed(*ttmc(2))
        wide = self.write("wide.npz", npz({"factor_0": self.matrices[0], "factor_1": random_matrix(5, 400000, 1),
                                           "factor_2": random_matrix(6, 400000, 2)}))
        self.fail_with(4, "ttmc", self.file, "--matrices", wide, "--mode", 0, "-o", self.folder / "z.npz",
                       says="the output of SpTTMc on mode 0, 7 rows of 400000 x 400000 columns, needs 8960000000000 bytes")
        tucker = lambda ranks: ("tucker", self.file, "-r", ranks, "-o", self.folder / "m.npz")
        self.fail_with(2, *tucker("2,2"), says="2 ranks for a tensor of order 3")
        self.fail_with(2, *tucker("2,2,0"), says="rank 0 of mode 2")
        self.fail_with(2, *tucker("2,2,5"), says="exceeds the product of the others")
        self.fail_with(2, *tucker("2,x,2"))
        self.fail_with(2, "tucker", self.file, "-r", "1,1,1", "-o", self.folder / "m.ktns", says=".npz")


if __name__ == "__main__":
    unittest.main()
