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
        for option, value in (("-i", 0), ("-i", -3), ("--tol", -1), ("--tol", "nan"), ("--tol", "inf"),
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
    def test_model_beyond_memory(self):
        tensor = self.write("wide.tns", "1 1 1 1\n4000000000 2 2 1\n")
        for precision in ("f32", "f64"):
            self.fail_with(MEMORY, "cpd", tensor, "-r", 1000, "--precision", precision,
                           says=("rank 1000", "bytes"))

    def test_rank_beyond_memory(self):
        tensor = self.write("good.tns", GOOD)
        for rank in (10**7, 10**9, 2**63):
            self.fail_with(MEMORY, "cpd", tensor, "-r", rank, says=(f"rank {rank}", "bytes"))

    def test_rows_beyond_64_bits(self):
        tensor = self.write("long.tns", "1 1 1 1\n18446744073709551615 18446744073709551615 2 1\n")
        self.fail_with(MEMORY, "cpd", tensor, "-r", 2, says="bytes")

    def test_norm_beyond_the_numbers(self):
        tensor = self.write("large.tns", "1 1 1 1e200\n2 2 2 1e200\n")
        self.fail_with(NUMERICAL, "cpd", tensor, "-r", 1, says="norm")
        tensor = self.write("large.tns", "1 1 1 1e100\n2 2 2 1e100\n")
        self.succeed("cpd", tensor, "-r", 1, "-i", 2)
        self.fail_with(NUMERICAL, "cpd", tensor, "-r", 1, "--precision", "f32", says="norm")

    def test_failure_leaves_the_previous_model(self):
        tensor = self.write("large.tns", "1 1 1 1e200\n2 2 2 1e200\n")
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


if __name__ == "__main__":
    unittest.main()
