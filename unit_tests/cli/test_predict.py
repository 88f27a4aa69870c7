# SPDX-License-Identifier: BSD-3-Clause
"""polyad predict with CP and Tucker models, against loops in Python that know nothing of the library."""
import itertools
import math
import random
import unittest

from test_products import read_npz
from tool import ToolTest, random_tensor, tns

DIMS = (7, 5, 6)


def cp_value(path, at):
    arrays = read_npz(path)
    factors = [arrays[f"factor_{n}"] for n in range(len(at))]
    weights = arrays["weights"][1]
    columns = len(weights)
    return sum(weights[r] * math.prod(numbers[i * columns + r] for i, (_, numbers) in zip(at, factors))
               for r in range(columns))


def tucker_value(path, at):
    arrays = read_npz(path)
    shape, core = arrays["core"]
    factors = [arrays[f"factor_{n}"][1] for n in range(len(at))]
    return sum(g * math.prod(U[i * J + j] for i, j, J, U in zip(at, js, shape, factors))
               for js, g in zip(itertools.product(*map(range, shape)), core))


class Predict(ToolTest):
    def setUp(self):
        super().setUp()
        self.tensor = random_tensor(DIMS, 60)
        self.file = self.write("x.tns", tns(self.tensor))
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 9, "--precision", "f64", "-o", "cp.npz")
        self.succeed("tucker", "x.tns", "-r", "2,3,4", "-i", 5, "--precision", "f64", "-o", "t.npz")

    def lines(self, name):
        return [line.split() for line in (self.folder / name).read_text().splitlines() if line[0] != "#"]

    def test_values_residuals_and_errors(self):
        places = [(at, value) for at, value in self.tensor.items()][:40] + [((6, 4, 5), 0.25)] * 2
        random.Random(1).shuffle(places)
        file = self.write("places.tns", "".join(" ".join(str(i + 1) for i in at) + f" {value!r}\n" for at, value in places))
        for model, value_of, says in (("cp.npz", cp_value, "CP of rank 3"), ("t.npz", tucker_value, "core of 2 x 3 x 4")):
            with self.subTest(model=model):
                expected = [value_of(self.folder / model, at) for at, _ in places]
                report = self.report_of("predict", model, file, "-o", "p.tns", "--residuals", "left.tns")
                for line, left, (at, value), m in zip(self.lines("p.tns"), self.lines("left.tns"), places, expected):
                    self.assertEqual(line[:3], [str(i + 1) for i in at])
                    self.assertEqual(left[:3], line[:3])
                    self.assertAlmostEqual(float(line[3]), m, places=12)
                    self.assertAlmostEqual(float(left[3]), value - m, places=12)
                errors = [value - m for (_, value), m in zip(places, expected)]
                result = report["result"]
                self.assertAlmostEqual(result["rmse"]["test"], math.sqrt(sum(e * e for e in errors) / len(errors)), places=12)
                self.assertAlmostEqual(result["mae"]["test"], sum(map(abs, errors)) / len(errors), places=12)
                self.assertEqual(result["entries"]["test"], len(places))
                self.assertEqual([name.split("/")[-1] for name in result["files"]], ["p.tns", "left.tns"])
                printed = self.succeed("predict", model, file, "-o", "p.csv").stdout
                self.assertIn(says, printed)
                self.assertIn(f"RMSE {result['rmse']['test']:.4f} MAE {result['mae']['test']:.4f}", printed)
                header, *rows = (self.folder / "p.csv").read_text().splitlines()
                self.assertEqual(header, "mode_0,mode_1,mode_2,model,value,residual")
                for row, (_, value), m in zip(rows, places, expected):
                    numbers = [float(x) for x in row.split(",")[3:]]
                    for number, wanted in zip(numbers, (m, value, value - m)):
                        self.assertAlmostEqual(number, wanted, places=12)
                self.succeed("predict", model, file, "-o", "c.tns", "--clip", "-0.01,0.02")
                for line, m in zip(self.lines("c.tns"), expected):
                    self.assertAlmostEqual(float(line[3]), min(max(m, -0.01), 0.02), places=12)

    def test_places_without_values_and_none(self):
        self.write("at.tns", "7 5 6\n1 1 1\n")
        for model, value_of in (("cp.npz", cp_value), ("t.npz", tucker_value)):
            report = self.report_of("predict", model, "at.tns", "-o", "p.tsv")
            self.assertNotIn("rmse", report["result"])
            header, *rows = (self.folder / "p.tsv").read_text().splitlines()
            self.assertEqual(header.split("\t"), ["mode_0", "mode_1", "mode_2", "model"])
            for row, at in zip(rows, ((6, 4, 5), (0, 0, 0))):
                self.assertAlmostEqual(float(row.split("\t")[3]), value_of(self.folder / model, at), places=12)
            self.fail_with(2, "predict", model, "at.tns", "-o", "q.tns", "--residuals", "r.tns", says="takes entries with values",
                           output="r.tns")

    def test_text_models_and_models_from_stdin(self):
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 9, "--precision", "f64", "-o", "cp.ktns")
        self.succeed("predict", "cp.npz", "x.tns", "-o", "a.tns")
        self.succeed("predict", "cp.ktns", "x.tns", "--index-base", 1, "-o", "b.tns")
        self.succeed("predict", "cp.ktns", "x.tns", "-o", "c.tns")  # the last row of a mode shows the base
        self.assertEqual((self.folder / "c.tns").read_bytes(), (self.folder / "b.tns").read_bytes())
        with open(self.folder / "cp.npz", "rb") as model:
            self.assertEqual(self.run_tool("predict", "-", "x.tns", "-o", "c.tns", stdin=model).returncode, 0)
        for a, b, c in zip(self.lines("a.tns"), self.lines("b.tns"), self.lines("c.tns")):
            self.assertEqual(a, c)
            self.assertAlmostEqual(float(a[3]), float(b[3]), places=12)

    def test_models_that_do_not_say_their_base(self):
        """predict and project go by the entries, if these show whether they count from 0 or from 1."""
        self.succeed("cpd", "x.tns", "-r", 3, "-i", 9, "--precision", "f64", "-o", "cp.ktns")
        self.write("first.tns", "0 0 0 1\n3 2 1 2\n")  # an index 0
        self.write("as_first.tns", "1 1 1 1\n4 3 2 2\n")
        self.write("last.tns", "7 1 1 1\n4 3 2 2\n")  # the last of 7 rows
        self.write("as_last.tns", "6 0 0 1\n3 2 1 2\n")

        def predicted(entries, *options):
            self.succeed("predict", "cp.ktns", entries, *options, "-o", "p.tns")
            return [float(line[3]) for line in self.lines("p.tns")]

        def projected(entries, *options):
            self.succeed("project", "cp.ktns", entries, "--mode", 2, *options, "-o", "p.npz")
            return read_npz(self.folder / "p.npz")["factor_2"]

        for result_of in (predicted, projected):
            self.assertEqual(result_of("first.tns"), result_of("as_first.tns", "--index-base", 1))
            self.assertEqual(result_of("last.tns"), result_of("as_last.tns"))
            self.assertNotEqual(result_of("last.tns"), result_of("first.tns"))
        for name in (self.folder / "p.tns", self.folder / "p.npz"):
            name.unlink()
        for command in (("predict", "cp.ktns", "as_first.tns"), ("project", "cp.ktns", "as_first.tns", "--mode", 2)):
            self.fail_with(2, *command, "-o", "p.npz", output="p.npz",
                           says="cp.ktns: the model does not say whether its rows count from 0 or from 1; say it with --index-base")

    def test_unknown_rows(self):
        self.write("out.tns", "1 1 1 2\n8 5 6 3\n1 1 2 4\n")
        for model in ("cp.npz", "t.npz"):
            for options in ((), ("--cold-start", "refuse")):
                self.fail_with(3, "predict", model, "out.tns", *options, "-o", "p.tns", output="p.tns",
                               says=("out.tns:2", "entry 2 has row 8 of mode 0", "has 7 rows, which count from 1", "--cold-start zero"))
            self.fail_with(2, "predict", model, "out.tns", "--cold-start", "bias", "-o", "p.tns", says="has no biases", output="p.tns")
            result = self.succeed("predict", model, "out.tns", "--cold-start", "zero", "-o", "p.csv", "--residuals", "r.tns")
            self.assertIn("1 entries have a row that the model does not have", result.stderr)
            rows = (self.folder / "p.csv").read_text().splitlines()[1:]
            self.assertEqual(rows[1], "8,5,6,0,3,3")
            self.assertNotEqual(float(rows[0].split(",")[3]), 0)
            self.assertEqual(float(self.lines("r.tns")[1][3]), 3)

    def test_names(self):
        self.write("t.csv", "user,item,count\nann,pen,1\nbob,cup,2\nann,cup,3\ncat,pen,4\n")
        self.succeed("cpd", "t.csv", "-r", 2, "-i", 20, "--precision", "f64", "-o", "m.npz")
        self.write("ask.csv", "item,user,count\ncup,cat,7\npen,ann,1\n")
        self.succeed("predict", "m.npz", "ask.csv", "-o", "p.csv")
        header, *rows = [row.split(",") for row in (self.folder / "p.csv").read_text().splitlines()]
        self.assertEqual(header, ["user", "item", "model", "value", "residual"])
        self.assertEqual([row[:2] for row in rows], [["cat", "cup"], ["ann", "pen"]])
        self.assertAlmostEqual(float(rows[1][2]), 1, places=6)
        self.assertEqual(float(rows[0][3]), 7)
        self.write("new.csv", "user,item,count\ndan,pen,1\n")
        refused = self.run_tool("predict", "m.npz", "new.csv", "-o", "q.csv")
        self.assertEqual(refused.returncode, 3)
        self.assertIn("entry 1 has row dan of mode 0 (user), which the model does not have; --cold-start zero", refused.stderr)
        self.assertFalse((self.folder / "q.csv").exists())
        self.succeed("predict", "m.npz", "new.csv", "--cold-start", "zero", "-o", "q.csv")
        self.assertEqual((self.folder / "q.csv").read_text().splitlines()[1], "dan,pen,0,1,1")

    def test_compact_models(self):
        """A long mode stores only the rows that occur: the value in the others is 0."""
        lines = "".join(f"{1 + 40000 * i} {1 + 300 * (i % 50)} {1 + i % 3} {1 + i % 7}\n" for i in range(50))
        self.write("long.tns", lines + "2000000 20000 3 1\n")
        self.succeed("cpd", "long.tns", "-r", 2, "-i", 3, "--precision", "f64", "-o", "m.npz")
        self.assertIn("rows_0", read_npz(self.folder / "m.npz"))
        self.write("at.tns", "1 1 1 5\n2 1 1 6\n40001 301 2 1\n")
        self.succeed("predict", "m.npz", "at.tns", "-o", "p.tns")
        arrays, values = read_npz(self.folder / "m.npz"), [float(line[3]) for line in self.lines("p.tns")]
        rows = [arrays[f"rows_{n}"][1] if f"rows_{n}" in arrays else None for n in range(3)]
        for at, value in zip(((0, 0, 0), None, (40000, 300, 1)), values):
            stored = at and tuple(i if listed is None else listed.index(i) for i, listed in zip(at, rows))
            self.assertAlmostEqual(value, cp_value(self.folder / "m.npz", stored) if at else 0, places=12)

    def test_numbers_that_are_none_and_large_ones(self):
        text = "ktensor\n2\n2 2\n1\n{}\nmatrix\n2\n2 1\n1\n{}\nmatrix\n2\n2 1\n1\n1\n"
        self.write("big.ktns", text.format("1e200", "1e200"))
        self.write("at.tns", "1 1 1\n2 2 1\n")
        self.fail_with(5, "predict", "big.ktns", "at.tns", "--index-base", 1, "-o", "p.tns", output="p.tns",
                       says=("at.tns", "the model's value of entry 2 is not a finite number"))
        self.write("large.ktns", text.format("1e200", "2"))
        report = self.report_of("predict", "large.ktns", "at.tns", "--index-base", 1, "-o", "p.tns")
        self.assertAlmostEqual(report["result"]["rmse"]["test"] / 1e200, math.sqrt(2.5), places=12)

    def test_refused(self):
        self.fail_with(3, "predict", "x.tns", "x.tns", "-o", "p.tns", output="p.tns")
        self.fail_with(3, "predict", "cp.npz", self.write("flat.tns", "1 1\n1 2\n2 1\n"), "-o", "p.tns", says="modes", output="p.tns")
        self.fail_with(2, "predict", "cp.npz", "x.tns", "-o", "p.tns", "--residuals", "p.tns", says="p.tns", output="p.tns")
        self.fail_with(2, "predict", "cp.npz", "x.tns", "-o", "p.tns", "--residuals", "x.tns", says="x.tns", output="p.tns")


if __name__ == "__main__":
    unittest.main()
