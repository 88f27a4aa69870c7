# SPDX-License-Identifier: BSD-3-Clause
"""convert, check, compare, gen, mttkrp, the options of reading, and the pages about them."""
import json
import math
import os
import pathlib
import re
import resource
import signal
import struct
import subprocess
import unittest
import zipfile

from tool import TOOL, ToolTest, random_tensor, tns

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "data"
DIALECTS = {
    "frostt": "a.tns",
    "extended-frostt": "b.tns",
    "tensor-toolbox": "c.txt",
    "dims-header": "d.txt",
    "pten": "e.pten",
    "npz": "f.npz"
}


def npy(archive, name):
    """(shape, numbers) of an array of doubles in an npz."""
    with zipfile.ZipFile(archive) as zipped:
        content = zipped.read(name + ".npy")
    start = 10 + struct.unpack("<H", content[8:10])[0]
    header = content[10:start].decode()
    assert "'<f8'" in header and "False" in header, header
    shape = tuple(int(n) for n in re.search(r"\(([^)]*)\)", header)[1].split(",") if n.strip())
    return shape, struct.unpack(f"<{(len(content) - start) // 8}d", content[start:])


class Convert(ToolTest):

    def test_round_trips(self):
        self.write("x.tns", tns(random_tensor((30, 20, 10), 700)))
        before = (self.folder / "x.tns").read_bytes()
        last = "x.tns"
        for dialect, name in DIALECTS.items():
            self.assertIn(dialect, self.succeed("convert", last, name, "--to", dialect).stdout)
            last = name
        self.succeed("convert", last, "back.tns")
        self.assertEqual((self.folder / "back.tns").read_bytes(), before)

    def test_real_data_through_all_dialects(self):
        for source in sorted(DATA.glob("*.tns.xz")):
            with self.subTest(source=source.name):
                self.succeed("convert", source, "first.tns")
                last = "first.tns"
                for dialect, name in DIALECTS.items():
                    self.succeed("convert", last, name, "--to", dialect)
                    last = name
                self.succeed("convert", "e.pten", "packed.pten", "--pack")
                self.succeed("convert", "packed.pten", "back.tns")
                self.assertEqual((self.folder / "back.tns").read_bytes(),
                                 (self.folder / "first.tns").read_bytes())
                self.assertIn("the same", self.succeed("compare", source, last).stdout)

    def test_single_precision(self):
        path = self.write("x.tns", "1 1 0.1\n2 2 0.5\n")
        self.succeed("convert", path, "x.pten", "--precision", "f32")
        self.succeed("convert", "x.pten", "y.tns")
        self.assertEqual((self.folder / "y.tns").read_text(), "1 1 0.10000000149011612\n2 2 0.5\n")
        self.fail_with(2, "convert", path, "z.tns", "--precision", "f32", says="full")

    def test_extents_without_a_place(self):
        path = self.write("x.txt", "2\n5 3\n1 1 1\n2 3 1\n")
        result = self.succeed("convert", path, "x.tns")
        self.assertIn("no place for the extents 5 x 3: x.tns will be read as 2 x 3", result.stderr)

    def test_duplicates_and_zeros(self):
        path = self.write("x.tns", "# c\n1 1 1\n2 2 0\n1 1 2\n2 2 4\n")
        expected = {"keep": "1 1 1\n2 2 0\n1 1 2\n2 2 4\n", "sum": "1 1 3\n2 2 4\n", "last": "1 1 2\n2 2 4\n"}
        for policy, text in expected.items():
            self.succeed("convert", path, "y.tns", "--duplicates", policy)
            self.assertEqual((self.folder / "y.tns").read_text(), text)
        self.succeed("convert", path, "y.tns", "--drop-zeros")
        self.assertEqual((self.folder / "y.tns").read_text(), "1 1 1\n1 1 2\n2 2 4\n")
        self.fail_with(3,
                       "convert",
                       path,
                       "z.tns",
                       "--duplicates",
                       "error",
                       says="x.tns:4:1: repeats the indices of line 2")

    def test_the_index_base_is_kept(self):
        for base in (0, 1):
            self.write("x.tns", f"{base} 3 1.5\n{base + 2} 4 2.5\n")
            last = "x.tns"
            for name in ("a.pten", "b.npz", "c.pten"):
                self.succeed("convert", last, name)
                self.assertIn(f"from {base}", self.succeed("stats", name).stdout)
                self.fail_with(2, "stats", name, "--index-base", 1 - base, says=f"counts from {base}")
                last = name
            self.assertEqual((self.folder / last).read_bytes()[8], 2)
            self.succeed("compare", "x.tns", last)
            for name, lines in (("y.tns", 0), ("y.txt", 4)):  # texts count as the text did of which the file was made
                self.succeed("convert", last, name, *(("--to", "tensor-toolbox") if lines else ()))
                written = (self.folder / name).read_text()
                self.assertEqual(written.splitlines()[lines].split()[:2], [str(base), "3"])
                self.assertIn(f"indices from {base}", self.run_tool("check", name).stdout)
                self.succeed("compare", last, name)
            for other in (0, 1):
                self.succeed("convert", last, "z.tns", "--output-base", other)
                self.assertEqual((self.folder / "z.tns").read_text().split()[:2], [str(other), str(3 - base + other)])
        # What a text cannot show is said.
        self.write("x.tns", "3 4 1\n5 2 2\n")
        result = self.succeed("convert", "x.tns", "y.tns", "--index-base", 0)
        self.assertIn("y.tns counts from 0, but has no index 0", result.stderr)
        self.assertEqual((self.folder / "y.tns").read_text(), (self.folder / "x.tns").read_text())
        result = self.succeed("convert", "x.tns", "y.mtx", "--index-base", 0)
        self.assertIn("matrix-market always counts from 1", result.stderr)
        self.assertIn("\n4 5 1\n", (self.folder / "y.mtx").read_text())
        self.succeed("gen", "uniform", "-d", "5,4", "-n", 6, "-o", "g.pten")  # counts from nothing
        self.assertEqual((self.folder / "g.pten").read_bytes()[8], 1)

    def test_names_go_to_pten_and_next_to_models_in_text(self):
        self.write("x.csv", "user,item,rating\n" + "".join(f"u{k % 4},\"i, {k % 3}\",{1 + k % 5}\n" for k in range(12)))
        self.succeed("convert", "x.csv", "x.pten")
        self.assertIn("mode 1      item: 3 labels", self.succeed("stats", "x.pten").stdout)
        self.succeed("convert", "x.pten", "x.npz")
        self.succeed("compare", "x.pten", "x.csv")
        self.succeed("cpd", "x.pten", "-r", 1, "-i", 2, "-o", "m.ktns")
        self.assertTrue((self.folder / "m.ktns.labels").exists())
        self.succeed("compare", "m.ktns", "x.npz")
        # Entries in another order have other numbers, and the same names.
        lines = (self.folder / "x.csv").read_text().splitlines()
        self.write("y.csv", "\n".join([lines[0], *reversed(lines[1:])]) + "\n")
        by_name = self.succeed("compare", "m.ktns", "y.csv").stdout.splitlines()
        self.assertEqual(by_name[1:], self.succeed("compare", "m.ktns", "x.csv").stdout.splitlines()[1:])
        (self.folder / "m.ktns.labels").rename(self.folder / "other")
        self.fail_with(3, "compare", "m.ktns", "x.npz", output=None, says="m.ktns.labels: is missing")
        self.succeed("cpd", "y.csv", "-r", 1, "-i", 2, "-o", "n.ktns")
        (self.folder / "n.ktns.labels").rename(self.folder / "m.ktns.labels")
        self.fail_with(3, "compare", "m.ktns", "x.npz", output=None, says="has the labels of another model")

    def test_wrong_names(self):
        path = self.write("x.tns", "1 1 1\n")
        self.fail_with(2, "convert", path, "x.bin", says="--to")
        self.fail_with(2, "convert", path, "x.tns", says="overwrite")
        self.fail_with(2, "convert", path, "y", "--to", "splatt-binary", says="splatt-binary")
        self.fail_with(6, "convert", path, "nowhere/x.pten", says="cannot be written")
        self.fail_with(3, "convert", self.write("bad.tns", "1 x 1\n"), "y.pten", says="bad.tns:1:3: ")

    def test_file_size_limit_keeps_the_old_file(self):
        # As a full disk does, a limit on the size of files stops a write in the middle.
        path = self.write("x.tns", tns(random_tensor((300, 200, 100), 5000)))
        self.write("x.pten", "precious")
        self.write("x.npz", "precious")

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        for name in ("x.pten", "x.npz"):
            result = self.run_tool("convert", path, name, preexec_fn=limit)
            self.assertEqual(result.returncode, 6, result.stderr)
            self.assertIn(f"{name}: cannot be written", result.stderr)
            self.assertEqual((self.folder / name).read_text(), "precious")
        self.assertEqual(len(list(self.folder.iterdir())), 3)

    def test_full_disk_keeps_the_old_file(self):
        # A disk of 64 KiB in a namespace of its own, which needs root or user namespaces.
        (self.folder / "disk").mkdir()
        mount = "mount -t tmpfs -o size=64k tmpfs disk || exit 99\n"
        alone = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
        try:
            able = subprocess.run([*alone, mount], cwd=self.folder, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            able = False
        if not able:
            self.skipTest("no disk can be mounted here")
        self.write("x.tns", tns(random_tensor((300, 200, 100), 5000)))
        for name in ("x.pten", "x.npz", "x.tns"):
            with self.subTest(name=name):
                script = mount + ('echo precious >"disk/$1"; "$0" convert x.tns "disk/$1"; code=$?; '
                                  'cat "disk/$1"; ls -A disk | wc -l; exit $code')
                result = subprocess.run([*alone, script, TOOL, name],
                                        cwd=self.folder, capture_output=True, text=True, check=False)
                self.assertEqual(result.returncode, 6, result.stderr)
                self.assertIn(f"disk/{name}: cannot be written: No space left on device", result.stderr)
                self.assertEqual(result.stdout.split(), ["precious", "1"])


class Check(ToolTest):

    def test_clean(self):
        text = self.succeed("check", self.write("x.tns", "1 1 2\n4 3 1\n")).stdout
        self.assertRegex(text, r"(?m)^ +0 +4 +1 +4 +2$")
        self.assertRegex(text, r"(?m)^ +1 +3 +1 +3 +1$")

    def test_findings(self):
        path = self.write("x.tns", "0 1 2\n4 3 nan\n0 1 3\n2 2 0\n1 1 -inf\n1 2 1\n1 2 -1\n")
        result = self.run_tool("check", path, "--fix", "y.tns", "--report", "r.json")
        self.assertEqual(result.returncode, 8, result.stderr)
        self.assertIn("duplicates  2, the first on line 3 repeats line 1", result.stdout)
        self.assertIn("zeros       1", result.stdout)
        self.assertIn("1 NaN, 1 infinite", result.stdout)
        self.assertIn("indices from 0", result.stdout)
        report = json.loads((self.folder / "r.json").read_text())
        self.assertEqual(report["exit"], 8)
        facts = report["result"]
        self.assertEqual([facts[k] for k in ("findings", "duplicates", "zeros", "nan", "infinite")],
                         [5, 2, 1, 1, 1])
        self.assertEqual(facts["files"], ["y.tns"])
        self.assertEqual((self.folder / "y.tns").read_text(), "0 1 5\n")  # in the numbers of x.tns

    def test_binary(self):
        self.write("x.tns", "1 1 2\n1 1 3\n")
        self.succeed("convert", "x.tns", "x.pten")
        result = self.run_tool("check", "x.pten")
        self.assertEqual(result.returncode, 8)
        self.assertIn("duplicates  1, the first is nonzero 2, which repeats nonzero 1", result.stdout)

    def test_nothing_left(self):
        self.fail_with(3, "check", self.write("x.tns", "1 1 nan\n"), "--fix", "y.tns", says="no nonzeros")


class Compare(ToolTest):

    def model(self, name, weights, *factors):
        rank = len(weights)
        text = f"ktensor\n{len(factors)}\n" + " ".join(
            str(len(f)) for f in factors) + f"\n{rank}\n" + " ".join(map(str, weights)) + "\n"
        for factor in factors:
            text += f"matrix\n2\n{len(factor)} {rank}\n" + "".join(
                " ".join(map(str, row)) + "\n" for row in factor)
        return self.write(name, text)

    def score(self, code, a, b, *options):
        result = self.run_tool("compare", a, b, "--report", "r.json", *options)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads((self.folder / "r.json").read_text())["result"]

    def test_permutation_sign_and_scale(self):
        a = self.model("a.ktns", [2, 3], [[1, 0], [1, 1], [0, 2]], [[1, 1], [0, -1]])
        # Components swapped; one factor of each negated, scales moved between columns and weights.
        b = self.model("b.ktns", [-1.5, 1], [[0, 2], [2, 2], [4, 0]], [[-1, -1], [1, 0]])
        result = self.score(0, a, b)
        self.assertAlmostEqual(result["factor_match_score"], 1, places=12)
        self.assertAlmostEqual(result["weighted_score"], 1, places=12)

    def test_a_hand_made_score(self):
        a = self.model("a.ktns", [1, 1], [[1, 0], [0, 1]], [[1, 0], [0, 1]])
        b = self.model("b.ktns", [2], [[3], [4]], [[0], [1]])
        # The second component matches: 0.8 x 1 over the larger rank 2; the norms are 1 and 10.
        result = self.score(8, a, b)
        self.assertAlmostEqual(result["factor_match_score"], 0.4, places=12)
        self.assertAlmostEqual(result["weighted_score"], 0.04, places=12)
        self.assertEqual(self.score(0, b, a, "--at-least", 0.3), {**result, "at_least": 0.3})

    def test_best_permutation_is_not_the_greedy_one(self):
        # a1: 0.6 with b1, 0.5 with b2; a2: 0.56 with b1, 0 with b2.
        a = self.model("a.ktns", [1, 1], [[1, 0], [0, 0.7], [0, 0], [0, math.sqrt(0.51)]])
        b = self.model("b.ktns", [1, 1], [[0.6, 0.5], [0.8, 0], [0, math.sqrt(0.75)], [0, 0]])
        self.assertAlmostEqual(self.score(8, a, b)["factor_match_score"], (0.5 + 0.56) / 2, places=12)

    def test_fit_of_a_model(self):
        self.model("m.ktns", [2], [[1], [2]], [[1], [0]])
        tensor = self.write("x.tns", "1 1 2\n2 1 3\n2 1 2\n1 2 0\n")
        want = 1 - 1 / math.sqrt(4 + 25)
        self.assertAlmostEqual(self.score(0, "m.ktns", tensor)["fit"], want, places=12)
        self.assertAlmostEqual(self.score(8, tensor, "m.ktns", "--at-least", 0.99)["fit"], want, places=12)

    def test_tensors(self):
        a = self.write("a.tns", "1 1 2\n2 2 3\n1 2 1\n")
        same = self.write("b.tns", "2\n2 2\n2 2 3\n1 2 1\n1 1 2\n")
        other = self.write("c.tns", "1 1 2\n2 2 3.5\n2 1 1\n")
        self.assertTrue(self.score(0, a, same)["same"])
        result = self.score(8, a, other)
        self.assertEqual([result[k] for k in ("in_a_alone", "in_b_alone", "different", "largest_difference")],
                         [1, 1, 1, 0.5])
        # Files that differ in the sign of a zero do not have the same bits.
        zeros = [self.write(name, f"1 1 {zero}\n2 2 3\n") for name, zero in (("plus.tns", "0"), ("minus.tns", "-0"))]
        result = self.score(8, *zeros)
        self.assertEqual((result["different"], result["largest_difference"]), (1, 0))
        self.fail_with(3, "compare", "nowhere", a, says="no such file")
        self.model("m.ktns", [2], [[1], [2]], [[1], [0]])
        self.fail_with(3, "compare", "m.ktns", self.write("d.tns", "5 5 5 1\n"), says="5 x 5 x 5")


class Gen(ToolTest):

    def test_kinds(self):
        for kind in ("uniform", "power-law", "ratings"):
            given = self.report_of("gen", kind, "-d", "200,100,50", "-n", 5000, "-o", "x.pten")
            nnz = given["result"]["nnz"]
            self.assertTrue(4950 <= nnz <= 5100, nnz)
            again = self.report_of("stats", "x.pten")
            self.assertEqual(again["input"]["dims"], [200, 100, 50])
            self.assertEqual((again["input"]["nnz"], again["input"]["duplicates"]), (nnz, 0))
            self.succeed("gen", kind, "-d", "200,100,50", "-n", 5000, "-o", "y.pten", "-t", 1)
            self.assertEqual((self.folder / "x.pten").read_bytes(), (self.folder / "y.pten").read_bytes())
            self.succeed("gen", kind, "-d", "200,100,50", "-n", 5000, "-o", "y.pten", "--seed", 1)
            self.assertNotEqual((self.folder / "x.pten").read_bytes(), (self.folder / "y.pten").read_bytes())
            if kind == "ratings":
                values = again["result"]["values"]
                self.assertTrue(0.5 <= values["min"] < values["max"] <= 5)
                self.succeed("convert", "x.pten", "x.tns")
                halves = {line.split()[-1] for line in (self.folder / "x.tns").read_text().splitlines()}
                self.assertLessEqual(halves, {"0.5", "1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5"})
                self.assertGreaterEqual(len(halves), 5)

    def test_low_rank_is_what_its_model_says(self):
        self.succeed("gen", "low-rank", "-d", "40,30,20", "-r", 3, "-o", "x.pten", "--model", "m.ktns")
        text = self.succeed("compare", "m.ktns", "x.pten", "--at-least", 0.9999999).stdout
        self.assertIn("rank 3", text)

    def test_wrong(self):
        self.fail_with(2, "gen", "uniform", "-d", "4,3", "-o", "x.pten", says="-n")
        self.fail_with(2, "gen", "low-rank", "-d", "4,3", "-r", 5, "-o", "x.pten", says="do not fit")
        self.fail_with(2, "gen", "uniform", "-d", "4,-3", "-n", 3, "-o", "x.pten", says="-3")
        self.fail_with(2, "gen", "other", "-d", "4,3", "-n", 3, "-o", "x.pten")


class Mttkrp(ToolTest):

    def test_against_loops(self):
        dims, rank = (6, 5, 4), 2
        tensor = random_tensor(dims, 40)
        self.write("x.tns", tns(tensor))
        self.succeed("cpd", "x.tns", "-r", rank, "-i", 2, "-o", "m.npz")
        factors = [npy(self.folder / "m.npz", f"factor_{n}")[1] for n in range(3)]
        for mode in range(3):
            self.succeed("mttkrp", "x.tns", "--mode", mode, "--factors", "m.npz", "-o", "v.npz")
            shape, product = npy(self.folder / "v.npz", "mttkrp")
            self.assertEqual(shape, (dims[mode], rank))
            for i in range(dims[mode]):
                for r in range(rank):
                    terms = [
                        x * math.prod(factors[n][at[n] * rank + r]
                                      for n in range(3)
                                      if n != mode)
                        for at, x in tensor.items()
                        if at[mode] == i
                    ]
                    # Few terms, each rounded thrice: 2^-53 (3 + 40) of the sum of their sizes is ample.
                    self.assertLessEqual(abs(product[i * rank + r] - math.fsum(terms)),
                                         5e-15 * math.fsum(map(abs, terms)))

    def test_wrong(self):
        self.write("x.tns", "1 1 1\n2 2 1\n")
        self.succeed("cpd", "x.tns", "-r", 1, "-i", 1, "-o", "m.npz")
        self.fail_with(2, "mttkrp", "x.tns", "--mode", 2, "--factors", "m.npz", "-o", "v.npz", says="--mode 2 of 2 modes")
        self.fail_with(2, "mttkrp", "x.tns", "--mode", 0, "--factors", "m.npz", "-o", "v.txt", says=".npz")
        self.fail_with(3,
                       "mttkrp",
                       self.write("y.tns", "3 3 1\n"),
                       "--mode",
                       0,
                       "--factors",
                       "m.npz",
                       "-o",
                       "v.npz",
                       says="3 x 3")


class Reading(ToolTest):

    def test_duplicates_of_cpd(self):
        path = self.write("x.tns", "1 1 1 1\n2 2 2 2\n1 1 1 3\n")
        for policy, norm in (("sum", 20), ("last", 13)):
            report = self.report_of("cpd", path, "-r", 1, "-i", 1, "--duplicates", policy)
            self.assertEqual((report["input"]["nnz"], report["input"]["duplicates"]), (2, 1))
        self.fail_with(3,
                       "cpd",
                       path,
                       "-r",
                       1,
                       "--duplicates",
                       "error",
                       says="x.tns:3:1: repeats the indices of line 1")

    def test_dialect_is_reported(self):
        path = self.write("x.mtx", "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 2\n3 2 1\n")
        report = self.report_of("stats", path)
        self.assertEqual((report["input"]["dialect"], report["input"]["nnz"], report["input"]["dims"]),
                         ("matrix-market", 3, [3, 3]))

    def test_stdin(self):
        result = subprocess.run([TOOL, "check", "-"],
                                input="1 1 1\n2 1 2\n",
                                capture_output=True,
                                text=True,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("2 x 1, 2 nonzeros", result.stdout)


class OwnInput(ToolTest):
    """An output takes the place of its own input only with --force, and then when it is whole."""

    def test_refused(self):
        path = self.write("x.tns", "1 1 1 2.5\n2 2 2 0\n1 1 1 1\n")
        before = path.read_bytes()
        (self.folder / "link.tns").symlink_to("x.tns")
        os.link(path, self.folder / "hard.tns")
        for output in ("x.tns", "./x.tns", "link.tns", "hard.tns"):
            self.fail_with(2, "convert", "x.tns", output, says=("would overwrite", "--force"))
            self.fail_with(2, "check", "x.tns", "--fix", output, says=("would overwrite", "--force"))
        for command in (("cpd", "x.tns", "-r", 1, "--checkpoint", "x.tns"), ("fast-tucker", "x.tns", "--resume", "c", "-o", "x.tns")):
            self.fail_with(2, *command, says="would overwrite", output=None)
        self.succeed("cpd", "x.tns", "-r", 1, "-i", 1, "-o", "m.npz")
        self.fail_with(2, "cpd", "x.tns", "-r", 1, "--init", "m.npz", "-o", "m.npz", says="would overwrite", output=None)
        self.assertEqual(path.read_bytes(), before)

    def test_with_force(self):
        path = self.write("x.tns", "1 1 1 2.5\n2 2 2 0\n1 1 1 1\n")
        path.chmod(0o640)
        self.run_tool("check", "x.tns", "--fix", "x.tns", "--force")
        self.assertEqual(path.read_text().split(), ["1", "1", "1", "3.5"])
        self.assertEqual(path.stat().st_mode & 0o7777, 0o640)
        self.succeed("convert", "x.tns", "x.tns", "--to", "extended-frostt", "--force")
        self.assertIn("3.5", path.read_text())
        self.assertEqual([p.name for p in self.folder.iterdir()], ["x.tns"])


class Pages(ToolTest):

    def commands(self):
        text = self.succeed("--help").stdout
        return re.findall(r"(?m)^  ([a-z][a-z-]*) ", text[text.index("Subcommands:"):])

    def test_help_fits_a_screen_and_shows_an_example(self):
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 8)
        for command in commands:
            with self.subTest(command=command):
                lines = self.succeed(command, "--help").stdout.splitlines()
                self.assertLessEqual(max(map(len, lines)), 100)
                self.assertLessEqual(len(lines), 80 if command == "fast-tucker" else 60)  # which has 48 options
                if command != "info":
                    self.assertTrue(any("Example: polyad " + command in line for line in lines))

    def test_man_page_and_completion_know_every_command_and_option(self):
        man = self.succeed("--man").stdout.replace("\\-", "-")
        script = self.succeed("--completion", "bash").stdout
        for command in self.commands():
            self.assertIn(f".SS {command}\n", man)
            options = re.findall(r"(?m)^  (?:-\w,)?(--[\w-]+)", self.succeed(command, "--help").stdout)
            known = re.search(rf"(?m)^ +{command}\) options='([^']*)'", script)[1].split()
            self.assertLessEqual(set(options), set(known))
            for option in options:
                self.assertIn(option, man)
        # Options that the help leaves out to stay short have names, too.
        self.assertIn(".B --delimiter NAME\n", man)
        self.assertEqual(re.findall(r"(?m)^\.B +(?!-|[A-Z]|polyad )\S*|^\.B  .*", man), [])

    def test_bash_completes(self):
        script = self.succeed("--completion", "bash").stdout
        self.write("complete.sh",
                   script + 'COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _polyad; echo "${COMPREPLY[*]}"\n')

        def complete(*words):
            return subprocess.run(["bash", "complete.sh", "polyad", *words],
                                  cwd=self.folder,
                                  capture_output=True,
                                  text=True,
                                  check=True).stdout.split()

        self.assertEqual(complete("conv"), ["convert"])
        self.assertEqual(complete("convert", "--prec"), ["--precision"])
        self.assertEqual(complete("convert", "--precision", ""), ["f32", "f64"])
        self.assertEqual(complete("cpd", "x.tns", "--duplicates", "la"), ["last"])


if __name__ == "__main__":
    unittest.main()
