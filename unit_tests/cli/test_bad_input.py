# SPDX-License-Identifier: BSD-3-Clause
"""What cannot be done is refused: one line on stderr, the documented exit code, no model."""
import gzip
import lzma
import unittest

from tool import ToolTest, random_tensor, tns

USAGE, INPUT, MEMORY, NUMERICAL, WRITE = 2, 3, 4, 5, 6
GOOD = "1 1 1 0.5\n2 2 2 1.5\n3 1 2 -1\n"


class BadFiles(ToolTest):
    def refused(self, content, *says, options=()):
        path = self.write("bad.tns", content)
        self.fail_with(INPUT, "cpd", path, "-r", 2, *options, says=(str(path), *says))
        self.fail_with(INPUT, "stats", path, *options, says=(str(path), *says))

    def test_missing(self):
        self.fail_with(INPUT, "cpd", "nowhere.tns", "-r", 2, says=("nowhere.tns", "no such file"))
        self.fail_with(INPUT, "stats", "nowhere.tns", says=("nowhere.tns", "no such file"))

    def test_folder(self):
        self.fail_with(INPUT, "cpd", self.folder, "-r", 2, says="is a directory")

    def test_empty(self):
        self.refused("", "no nonzeros")

    def test_comments_only(self):
        self.refused("# nothing\n\n# at all\n", "no nonzeros")

    def test_too_few_numbers(self):
        self.refused(GOOD + "1 2 3\n", ":4:")

    def test_too_many_numbers(self):
        self.refused(GOOD + "1 2 3 4 5\n", ":4:")

    def test_letter(self):
        self.refused("1 1 1 0.5\n1 x 1 0.5\n", ":2:3: ", "'x'")

    def test_letter_in_value(self):
        self.refused("1 1 1 0.5\n1 2 1 0.5y\n", ":2:7: ")

    def test_index_zero_under_base_one(self):
        self.refused("1 1 1 0.5\n2 0 1 0.5\n", ":2:3: ", options=("--index-base", 1))

    def test_index_beyond_64_bits(self):
        self.refused("1 1 1 0.5\n1 18446744073709551617 1 0.5\n", ":2:3: ")

    def test_negative_index(self):
        self.refused("1 1 1 0.5\n1 -1 1 0.5\n", ":2:3: ")

    def test_values_that_are_no_numbers(self):
        for value in ("nan", "NaN", "inf", "-inf", "Infinity", "1e999"):
            with self.subTest(value=value):
                self.refused(f"1 1 1 0.5\n2 1 1 {value}\n", ":2:7: ")

    def test_truncated_xz(self):
        packed = lzma.compress(tns(random_tensor((40, 30, 20), 2000)).encode())
        self.refused(packed[:len(packed) // 2], "xz")

    def test_truncated_gzip(self):
        packed = gzip.compress(tns(random_tensor((40, 30, 20), 2000)).encode())
        self.refused(packed[:len(packed) // 2], "gzip")

    def test_one_mode(self):
        path = self.write("vector.tns", "1 0.5\n2 1.5\n")
        self.fail_with(INPUT, "cpd", path, "-r", 2, says="one mode")

    def test_seventeen_modes(self):
        self.refused("1 " * 17 + "0.5\n", ":1:")


class BadOptions(ToolTest):
    def setUp(self):
        super().setUp()
        self.tensor = self.write("good.tns", GOOD)

    def refused(self, *options, says=()):
        self.fail_with(USAGE, "cpd", self.tensor, *options, says=says)

    def test_ranks(self):
        self.refused("-r", 0, says="rank must be at least 1")
        for rank in ("-1", "two", "1.5", "99999999999999999999999"):
            with self.subTest(rank=rank):
                self.refused("-r", rank, says="--rank")
        self.fail_with(USAGE, "cpd", self.tensor, says="--rank")

    def test_unknown_format(self):
        self.refused("-r", 2, "--format", "coo-imaginary",
                     says=("'coo-imaginary'", "coo-scratch", "coo-tiny-vec", "coo-permuted"))

    def test_numbers_out_of_range(self):
        for option, value in (("-i", -1), ("-i", -3), ("-i", "nan"), ("-i", 1.5), ("--tol", -1), ("--tol", "nan"), ("--tol", "-nan"),
                              ("--tol", "inf"), ("--tol", "-1e-300"), ("--time-limit", -1),
                              ("--time-limit", 0), ("--time-limit", "nan"), ("-t", 0), ("-t", -2),
                              ("-t", 100000), ("--seed", -1), ("--seed", "x"), ("--index-base", 2),
                              ("--index-base", -1), ("--precision", "f16")):
            with self.subTest(option=option, value=value):
                self.refused("-r", 2, option, value)

    def test_unknown_words(self):
        self.refused("-r", 2, "--frobnicate", says="--frobnicate")
        self.fail_with(USAGE, "frobnicate")
        self.fail_with(USAGE, "stats")
        result = self.run_tool()
        self.assertEqual(result.returncode, USAGE)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")

    def test_ending_of_the_model(self):
        self.fail_with(USAGE, "cpd", self.tensor, "-r", 2, output="model.mat", says=(".ktns", ".npz"))

    def test_inputs_are_not_overwritten(self):
        before = self.write("tensor.txt", GOOD).read_bytes()
        self.fail_with(USAGE, "cpd", "tensor.txt", "-r", 2, output="./tensor.txt", says="overwrite")
        self.assertEqual((self.folder / "tensor.txt").read_bytes(), before)
        result = self.run_tool("stats", "tensor.txt", "--report", self.folder / "tensor.txt")
        self.assertEqual(result.returncode, USAGE)
        self.assertEqual((self.folder / "tensor.txt").read_bytes(), before)

    def test_one_name_for_two_outputs(self):
        result = self.run_tool("cpd", self.tensor, "-r", 2, "-o", "a.txt", "--report", "./a.txt")
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertFalse((self.folder / "a.txt").exists())


class BadStarts(ToolTest):
    def setUp(self):
        super().setUp()
        self.tensor = self.write("good.tns", GOOD)
        self.succeed("cpd", self.tensor, "-r", 2, "-i", 1, "-o", "start.ktns")

    def refused(self, start, rank, *says):
        self.fail_with(INPUT, "cpd", self.tensor, "-r", rank, "--init", start, says=(start, *says))

    def test_missing(self):
        self.refused("nowhere.ktns", 2, "no such file")

    def test_other_rank(self):
        self.refused("start.ktns", 3, "rank 2")

    def test_other_extents(self):
        self.tensor = self.write("other.tns", GOOD + "7 1 1 1\n")
        self.refused("start.ktns", 2, "3 x 2 x 2", "7 x 2 x 2")

    def test_damaged(self):
        text = (self.folder / "start.ktns").read_text()
        self.write("start.ktns", text[:len(text) // 2])
        self.refused("start.ktns", 2)


class BeyondTheMachine(ToolTest):
    def test_product_beyond_memory(self):
        # A model stores only the rows that occur; the product has all rows.
        tensor = self.write("wide.tns", "1 1 1 1\n4000000000 2 2 1\n")
        for precision in ("f32", "f64"):
            self.succeed("cpd", tensor, "-r", 10, "-i", 1, "--precision", precision, "-o", "wide.npz")
            self.fail_with(MEMORY, "mttkrp", tensor, "--mode", 0, "--factors", "wide.npz", "-o", "v.npz", says="bytes")

    def test_rank_above_the_largest(self):
        tensor = self.write("good.tns", GOOD)
        for rank in (4097, 10**7, 10**9, 2**63):
            self.fail_with(USAGE, "cpd", tensor, "-r", rank, says=f"the rank {rank} is above 4096")
        self.fail_with(USAGE, "tucker", tensor, "-r", "4097,1,1", says="the rank 4097 is above 4096")
        self.fail_with(USAGE, "estimate", tensor, "-r", 4097, says="the rank 4097 is above 4096")
        self.fail_with(USAGE, "tune", tensor, "-r", 4097, says="the rank 4097 is above 4096")

    def test_rows_beyond_64_bits(self):
        tensor = self.write("long.tns", "1 1 1 1\n18446744073709551615 18446744073709551615 2 1\n")
        self.succeed("cpd", tensor, "-r", 2, "-i", 1, "-o", "long.npz")
        self.fail_with(MEMORY, "mttkrp", tensor, "--mode", 1, "--factors", "long.npz", "-o", "v.npz", says="bytes")

    def test_norm_beyond_the_numbers(self):
        tensor = self.write("large.tns", "1 1 1 1e308\n1 2 1 1e308\n2 2 2 1e308\n")
        self.fail_with(NUMERICAL, "cpd", tensor, "-r", 1, says="not a finite number")
        tensor = self.write("large.tns", "1 1 1 1e200\n2 2 2 1e200\n")  # its square is beyond them
        self.succeed("cpd", tensor, "-r", 1, "-i", 2)
        tensor = self.write("large.tns", "1 1 1 1e100\n2 2 2 1e100\n")
        self.succeed("cpd", tensor, "-r", 1, "-i", 2)
        self.fail_with(USAGE, "cpd", tensor, "-r", 1, "--precision", "f32",
                       says="nonzero 1 has the value 1e+100, which does not fit a float")

    def test_failure_leaves_the_previous_model(self):
        tensor = self.write("large.tns", "1 1 1 1e308\n1 2 1 1e308\n2 2 2 1e308\n")
        self.write("model.ktns", "precious")
        self.fail_with(NUMERICAL, "cpd", tensor, "-r", 1)
        self.assertEqual((self.folder / "model.ktns").read_text(), "precious")


class Unwritable(ToolTest):
    def setUp(self):
        super().setUp()
        self.tensor = self.write("good.tns", GOOD)

    def test_model(self):
        self.fail_with(WRITE, "cpd", self.tensor, "-r", 2, output="nowhere/model.ktns",
                       says=("nowhere/model.ktns", "cannot be written"))
        (self.folder / "folder.npz").mkdir()
        self.fail_with(WRITE, "cpd", self.tensor, "-r", 2, output="folder.npz", says="folder.npz")

    def test_report(self):
        for command in (("cpd", self.tensor, "-r", 2, "-o", "model.ktns"), ("stats", self.tensor), ("info",)):
            with self.subTest(command=command[0]):
                result = self.run_tool(*command, "--report", "nowhere/report.json")
                self.assertEqual(result.returncode, WRITE)
                self.assertRegex(result.stderr, r"\Apolyad: nowhere/report.json: [^\n]+\n\Z")
                self.assertFalse((self.folder / "model.ktns").exists())

    def test_stdout(self):
        with open("/dev/full", "w") as full:
            result = self.run_tool("stats", self.tensor, stdout=full)
        self.assertEqual(result.returncode, WRITE)
        self.assertIn("stdout", result.stderr)


class Options(ToolTest):
    """Options that do not go together, or take no such value. Each refusal is reached, by its words."""

    def setUp(self):
        super().setUp()
        self.write("x.tns", GOOD)
        self.write("y.tns", GOOD)

    def refused(self, command, says):
        with self.subTest(command):
            result = self.run_tool(*command.split())
            self.assertEqual(result.returncode, USAGE, result.stderr)
            self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
            self.assertIn(says, result.stderr)
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["x.tns", "y.tns"])

    def test_cpd(self):
        for options, says in (
            ("-r 0", "the rank must be at least 1"),
            ("-r 2 --tol -1", "--tol takes a number of at least 0"),
            ("-r 2 --tol inf", "--tol takes a number of at least 0"),
            ("-r 2 --time-limit 0", "--time-limit takes seconds, more than 0"),
            ("-r 2 --tune --format sorted", "--tune chooses a format: leave --format out"),
            ("-r 2 --tune --resume c", "--resume continues in the checkpoint's format: leave --tune out"),
            ("-r 2 --restarts 2 --init nvecs", "--restarts are random starts: leave --init out"),
            ("-r 2 --restarts 2 --checkpoint c", "--restarts have no checkpoints: run them one by one"),
            ("-r 2 --init nvecs --resume c", "--resume is a start: leave --init out"),
            ("-r 2 -o m.npz --report m.npz", "-o and --report name the same file"),
            ("-r 2 -o m.npz --checkpoint m.npz", "--checkpoint and another output name the same file"),
        ):
            self.refused(f"cpd x.tns {options}", says)

    def test_files(self):
        for command, says in (
            ("convert x.tns z.tns --precision f32", "text holds values in full: --precision f32 is for .pten and .npz"),
            ("convert x.tns z.npz --pack", "--pack is for .pten"),
            ("convert x.tns z.npz --report z.npz", "OUTPUT and --report name the same file"),
            ("check x.tns --fix z.npz --report z.npz", "--fix and --report name the same file"),
            ("compare x.tns y.tns --at-least nan", "--at-least takes a number, not nan"),
            ("gen uniform -d 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1 -n 1 -o z.tns", "a tensor has at most 16 modes"),
            ("gen uniform -d 2,2 -n 1 -o z.tns --model m.npz", "--model is for gen low-rank"),
            ("gen power-law -d 2,2 -n 1 -o z.tns --skew -1", "--skew takes a number of at least 0"),
            ("gen ratings -d 2,2 -n 1 -o z.tns --noise -1", "--noise takes a number of at least 0"),
            ("gen low-rank -d 2,2 -o z.npz --model z.npz", "-o and --model name the same file"),
            ("gen uniform -d 2,2 -n 1 -o z.tns --report z.tns", "--report would overwrite an output"),
            ("ttm x.tns --mode 0 --matrix u.npz -o z.tns --report z.tns", "-o and --report name the same file"),
            ("tune x.tns -r 2 --format auto", "--format takes the name of one format. Leave it out to try all"),
            ("tune - -r 2 --store", "--store keeps the choice next to the tensor, so the tensor must be a file"),
        ):
            self.refused(command, says)

    def test_completion(self):
        for options, says in (
            ("-r 0", "the rank must be at least 1"),
            ("-j 0", "-j takes numbers of at least 1"),
            ("--reg -1", "--reg takes a number of at least 0, not -1"),
            ("--core-reg -1", "--core-reg takes a number of at least 0, not -1"),
            ("--bias-reg inf", "--bias-reg takes a number of at least 0, not inf"),
            ("--time-mode 2 --time-bins 3 --time-reg -1", "--time-reg takes a number of at least 0, not -1"),
            ("--time-bins 3", "--time-bins and --time-reg require --time-mode"),
            ("--time-mode 2 --time-reg 3", "--time-reg requires --time-bins"),
            ("--time-mode 2 --no-biases", "--time-mode is about biases: not with --no-biases"),
            ("--shrink -1", "--shrink takes a number of at least 0, not -1"),
            ("--shrink 1 --reg-per-entry", "--shrink is for als without --reg-per-entry"),
            ("--targets zero,zero,zero --optimizer sgd", "--targets is for als"),
            ("--lr 0 --optimizer sgd", "--lr and --core-lr take numbers above 0"),
            ("--core-lr inf", "--core-lr takes a number of at least 0, not inf"),
            ("--beta1 -1", "--beta1 takes a number of at least 0, not -1"),
            ("-i 0", "-i takes 1 epoch or more, not 0"),
            ("--lr-decay -1", "--lr-decay takes a number of at least 0"),
            ("--split 1", "--split and --validate take shares from 0 to less than 1"),
            ("--validate -0.1", "--split and --validate take shares from 0 to less than 1"),
            ("--split 0.1 --test y.tns", "--split and --test exclude each other"),
            ("--patience -1", "--patience takes a number of at least 0"),
            ("--patience 2", "--patience and --validate need each other"),
            ("--reg-per-entry --optimizer adam", "--reg-per-entry is for als and sgd"),
            ("--no-sharing", "--no-sharing is for sgd"),
            ("--format csf", "--optimizer als needs all entries of a row together"),
            ("--format f-coo --optimizer adam", "--optimizer adam needs a residual sweep"),
            ("--format f-coo --optimizer sgd", "--optimizer sgd does not run on f-coo"),
            ("--clip 5,1", "--clip takes LOWEST,HIGHEST"),
            ("-o m.ktns", "-o: the name of a FastTucker model ends with .npz"),
        ):
            self.refused(f"fast-tucker x.tns {options}", says)
        self.refused("recommend m.npz --mode 1", "give either --for or --for-file")
        self.refused("recommend m.npz --mode 1 --for 1,* --for-file q", "give either --for or --for-file")
        self.refused("similar m.npz --mode 1", "give either --index or --for-file")


class Numbers(ToolTest):
    """Numbers that grow beyond doubles, and options that only change numbers."""

    def test_not_finite(self):
        self.write("x.tns", "1 1 1 1e308\n1 2 1 1e308\n2 2 2 1e308\n")
        self.write("m.ktns", "ktensor\n3\n2 2 2\n1\n10\n" + "matrix\n2\n2 1\n1e200\n1e200\n" * 3)
        self.fail_with(NUMERICAL, "mttkrp", "x.tns", "--mode", 0, "--factors", "m.ktns", "-o", "p.npz", output=None,
                       says="the product holds numbers that are not finite")
        self.fail_with(NUMERICAL, "cpd", "x.tns", "-r", 1, says="the fit is not a finite number")
        self.write("zero.tns", "1 1 1 0\n2 2 2 0\n")
        for command in (("compare", "m.ktns", "zero.tns"), ("tucker", "zero.tns", "-r", "1,1,1"),
                        ("cpd", "zero.tns", "-r", 1), ("cpd", "zero.tns", "-r", 1, "--nonnegative"),
                        ("cpd", "zero.tns", "-r", 1, "-i", 0, "--restarts", 2)):
            self.fail_with(NUMERICAL, *command, output=None, says="a tensor of zeros has no fit")
        self.write("one.ktns", "ktensor\n3\n2 2 2\n1\n10\n" + "matrix\n2\n2 1\n1\n2\n" * 3)
        self.succeed("project", "one.ktns", "zero.tns", "--mode", 0, "-o", "p.npz")  # rows of zeros are exact

    def test_allow_non_finite(self):
        self.write("x.tns", "1 1 1 nan\n2 2 2 -inf\n1 2 1 3\n")
        self.fail_with(INPUT, "convert", "x.tns", "y.tns", output=None, says=":1:7:")
        self.succeed("convert", "x.tns", "y.tns", "--allow-non-finite")
        self.assertEqual((self.folder / "y.tns").read_text().split()[3::4], ["nan", "-inf", "3"])
        self.fail_with(INPUT, "stats", "y.tns", output=None)

    def test_ridges_of_cores_and_biases(self):
        self.write("x.tns", tns(random_tensor((9, 8, 7), 200)))
        plain = self.report_of("fast-tucker", "x.tns", "-r", 2, "--optimizer", "adam", "-i", 3)
        for option, name in (("--core-reg", "core_reg"), ("--bias-reg", "bias_reg")):
            report = self.report_of("fast-tucker", "x.tns", "-r", 2, "--optimizer", "adam", "-i", 3, option, 50)
            self.assertEqual(report["options"][name], 50)
            self.assertNotEqual(report["iterations"], plain["iterations"])

    def test_verbose(self):
        self.write("x.tns", tns(random_tensor((9, 8, 7), 200)))
        self.succeed("cpd", "x.tns", "-r", 2, "-i", 1, "-o", "m.npz")
        for command in (("stats", "x.tns"), ("cpd", "x.tns", "-r", 2, "-i", 1), ("convert", "x.tns", "y.pten"),
                        ("check", "x.tns"), ("compare", "m.npz", "x.tns"), ("tucker", "x.tns", "-r", "2,2,2", "-i", 1),
                        ("mttkrp", "x.tns", "--mode", 0, "--factors", "m.npz", "-o", "p.npz"),
                        ("fast-tucker", "x.tns", "-r", 2, "--shrink", 5, "-i", 1)):
            for option in ("-v", "--verbose"):
                result = self.run_tool(*command, option)
                self.assertIn(result.returncode, (0, 8), result.stderr)
                self.assertRegex(result.stderr, r"(?m)^read x.tns \(frostt, none, base 1\): 200 lines")


if __name__ == "__main__":
    unittest.main()
