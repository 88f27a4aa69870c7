# SPDX-License-Identifier: BSD-3-Clause
"""cpd, tucker and fast-tucker --checkpoint and --resume: the same bits as a run that never stopped, and nothing but its own run."""

import re
import signal
import struct
import unittest
import zipfile

from tool import TOOL, ToolTest, random_tensor, tns


class Checkpoint(ToolTest):

    def setUp(self):
        super().setUp()
        self.tensor = self.write("x.tns", tns(random_tensor((30, 20, 10), 900)))

    def cpd(self, *options, rank=4):
        return self.report_of("cpd", self.tensor, "-r", rank, "--tol", 0, "--deterministic", *options)

    def content(self, name):
        return (self.folder / name).read_bytes()

    def test_the_same_bits(self):
        # 25 components are more than a mode has rows: singular matrices, and their count continues.
        for rank, *options in ((4,), (4, "--precision", "f32"), (25,), (4, "--ridge=0.3", "--ridge=1:2"),
                               (4, "--ridge=0.3", "--precision", "f32"), (4, "--nonnegative", "--inner", 2),
                               (4, "--nonnegative=0,1", "--lower=2:-0.5", "--precision", "f32"),
                               (4, "--l1=0.5", "--nonnegative", "--ridge=1:2")):
            with self.subTest(rank=rank, options=options):
                whole = self.cpd("-i",
                                 11,
                                 "-o",
                                 "whole.npz",
                                 "--checkpoint",
                                 "whole.ckpt",
                                 *options,
                                 rank=rank)
                self.cpd("-i", 4, "--checkpoint", "part.ckpt", *options, rank=rank)
                rest = self.cpd("-i",
                                11,
                                "-o",
                                "rest.npz",
                                "--resume",
                                "part.ckpt",
                                "--checkpoint",
                                "rest.ckpt",
                                *options,
                                rank=rank)
                self.assertEqual(self.content("rest.npz"), self.content("whole.npz"))
                self.assertEqual(self.content("rest.ckpt"), self.content("whole.ckpt"))
                self.assertEqual([step["iteration"] for step in rest["iterations"]], list(range(5, 12)))
                self.assertEqual([(step["fit"], step["delta"]) for step in rest["iterations"]],
                                 [(step["fit"], step["delta"]) for step in whole["iterations"]][4:])
                self.assertEqual(rest["result"]["gram_fallbacks"], whole["result"]["gram_fallbacks"])

    def test_a_run_that_was_done(self):
        self.cpd("-i", 5, "-o", "whole.npz", "--checkpoint", "c")
        report = self.cpd("-i", 5, "-o", "again.npz", "--resume", "c")
        self.assertEqual(report["iterations"], [])
        self.assertEqual(self.content("again.npz"), self.content("whole.npz"))

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start([
                TOOL, "cpd", self.tensor, "-r", "4", "-i", "100000000", "--tol", "0", "--deterministic",
                "--checkpoint", "c", "--checkpoint-every", "1000000000"
            ])
            self.assertFalse((self.folder / "c").exists())
            process.send_signal(number)
            stderr = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, 128 + number)
            last = int(re.search(r"interrupted after iteration (\d+)$", stderr.strip())[1])
            report = self.cpd("-i", last + 1, "--resume", "c")
            self.assertEqual([step["iteration"] for step in report["iterations"]], [last + 1])
            (self.folder / "c").unlink()

    def test_every(self):
        # A checkpoint of iteration 6 stays behind when the write of the next one fails.
        self.cpd("-i", 6, "--checkpoint", "six")
        self.cpd("-i", 6, "--checkpoint", "c", "--checkpoint-every", 2)
        self.assertEqual(self.content("c"), self.content("six"))

    def test_another_run_is_refused(self):
        self.cpd("-i", 2, "--checkpoint", "c")
        for options, says in ((("-r", 5), "rank 4, not 5"), (("-r", 4, "--precision", "f32"),
                                                             "precision f64, not f32"),
                              (("-r", 4, "--format", "csf"), "the format sorted, not csf")):
            self.refused(self.tensor, *options, says=says)
        self.refused(self.tensor, "-r", 4, "--ridge=1", says="the ridge none, not 1, 1, 1")
        self.refused(self.tensor, "-r", 4, "--seed", 7, says="a checkpoint of seed 0, not 7")
        self.refused(self.write("y.tns", tns(random_tensor((30, 20, 10), 900, seed=2))),
                     "-r",
                     4,
                     says="another tensor")
        self.refused(self.write("y.tns", tns(random_tensor((30, 20, 11), 900))),
                     "-r",
                     4,
                     says="another tensor")
        self.cpd("-i", 2, "--checkpoint", "c", "--ridge=1", "--ridge=2:0.5")
        self.refused(self.tensor, "-r", 4, says="the ridge 1, 1, 0.5, not none")
        self.refused(self.tensor, "-r", 4, "--ridge=1", says="the ridge 1, 1, 0.5, not 1, 1, 1")
        self.cpd("-i", 3, "--resume", "c", "--ridge=0:1", "--ridge=1:1", "--ridge=2:0.5")
        self.cpd("-i", 2, "--checkpoint", "c", "--lower=-9")
        self.cpd("-i", 3, "--resume", "c", "--lower=0:-9", "--lower=-9")
        for other in ((), ("--lower=-9", "--inner", 2), ("--lower=-9", "--l1=1"), ("--ridge=1",)):
            self.refused(self.tensor, "-r", 4, *other, says="a checkpoint of other constraints")
        content = bytearray(self.content("c"))
        content[100] ^= 1
        self.write("c", bytes(content))
        self.refused(self.tensor, "-r", 4, says="checksum")
        self.fail_with(2, "cpd", self.tensor, "-r", 4, "--resume", "c", "--init", "nvecs", says="--init")
        self.fail_with(2,
                       "cpd",
                       self.tensor,
                       "-r",
                       4,
                       "--checkpoint",
                       "c",
                       "--restarts",
                       2,
                       says="--restarts")
        self.fail_with(6, "cpd", self.tensor, "-r", 4, "--checkpoint", "nowhere/c", says="nowhere/c")

    def refused(self, tensor, *options, says):
        result = self.run_tool("cpd", tensor, *options, "--resume", "c", "-o", "m.npz")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")


class TuckerCheckpoint(ToolTest):
    """The same of tucker."""

    def setUp(self):
        super().setUp()
        self.tensor = self.write("x.tns", tns(random_tensor((30, 20, 10), 900)))

    def tucker(self, *options, ranks="3,4,2"):
        return self.report_of("tucker", self.tensor, "-r", ranks, "--tol", 0, *options)

    def content(self, name):
        return (self.folder / name).read_bytes()

    def test_the_same_bits(self):
        for options in ((), ("--precision", "f32"), ("--seed", 3)):
            with self.subTest(options=options):
                whole = self.tucker("-i", 7, "-o", "whole.npz", "--checkpoint", "whole.ckpt", *options)
                self.tucker("-i", 3, "--checkpoint", "part.ckpt", *options)
                rest = self.tucker("-i", 7, "-o", "rest.npz", "--resume", "part.ckpt", "--checkpoint", "rest.ckpt",
                                   *options)
                self.assertEqual(self.content("rest.npz"), self.content("whole.npz"))
                self.assertEqual(self.content("rest.ckpt"), self.content("whole.ckpt"))
                self.assertEqual([(step["iteration"], step["fit"], step["delta"]) for step in rest["iterations"]],
                                 [(step["iteration"], step["fit"], step["delta"]) for step in whole["iterations"]][3:])
                # A run that was done.
                again = self.tucker("-i", 7, "-o", "again.npz", "--resume", "rest.ckpt", *options)
                self.assertEqual(again["iterations"], [])
                self.assertEqual(self.content("again.npz"), self.content("whole.npz"))

    def test_interrupted(self):
        process = self.start([
            TOOL, "tucker", self.tensor, "-r", "3,4,2", "-i", "100000000", "--tol", "0", "--checkpoint", "c",
            "--checkpoint-every", "1000000000"
        ])
        process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertIn("wrote    c\n", stdout)
        last = int(re.search(r"interrupted after iteration (\d+)$", stderr.strip())[1])
        report = self.tucker("-i", last + 1, "--resume", "c")
        self.assertEqual([step["iteration"] for step in report["iterations"]], [last + 1])

    def test_another_run_is_refused(self):
        self.tucker("-i", 4, "--checkpoint", "four")
        self.tucker("-i", 4, "--checkpoint", "c", "--checkpoint-every", 2)
        self.assertEqual(self.content("c"), self.content("four"))
        self.refused(self.tensor, "-r", "3,4,3", says="the ranks 3 x 4 x 2, not 3 x 4 x 3")
        self.refused(self.tensor, "-r", "3,4,2", "--seed", 7, says="a checkpoint of seed 0, not 7")
        self.refused(self.tensor, "-r", "3,4,2", "--precision", "f32", says="precision f64, not f32")
        other = self.write("y.tns", tns(random_tensor((30, 20, 10), 900, seed=2)))
        self.refused(other, "-r", "3,4,2", says="another tensor")
        self.fail_with(2, "tucker", self.tensor, "-r", "3,4,2", "--resume", "c", "--init", "hosvd", says="--init")
        self.fail_with(6, "tucker", self.tensor, "-r", "3,4,2", "--checkpoint", "nowhere/c", says="nowhere/c")
        content = bytearray(self.content("c"))
        content[100] ^= 1
        self.write("c", bytes(content))
        self.refused(self.tensor, "-r", "3,4,2", says="checksum")
        self.succeed("cpd", self.tensor, "-r", 2, "-i", 1, "--checkpoint", "c")
        self.refused(self.tensor, "-r", "3,4,2", says="another command")

    def refused(self, tensor, *options, says):
        result = self.run_tool("tucker", tensor, *options, "--resume", "c", "-o", "m.npz")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")


class CompletionCheckpoint(ToolTest):
    """The same of fast-tucker."""

    def setUp(self):
        super().setUp()
        self.succeed("gen", "ratings", "-d", "60,40,12", "-n", 8000, "-r", 2, "--noise", 0.1, "--seed", 3, "-o", "x.tns")

    def train(self, *options):
        return self.report_of("fast-tucker", "x.tns", "--deterministic", *options)

    def content(self, name):
        return (self.folder / name).read_bytes()

    def test_the_same_bits(self):
        # What is chosen, what is given, every optimizer that is deterministic, drifts, and the best of the epochs.
        for options in ((), ("--precision", "f64", "--shrink", "10,0.05", "-r", 3),
                        ("-j", 2, "-r", 4, "--reg", 2), ("--optimizer", "adam", "-r", 3, "--split", 0.1),
                        ("--optimizer", "adam", "-r", 3, "--lr", 0.05, "--validate", 0.1, "--patience", 3, "--clip",
                         "1,5"), ("--shrink", 3, "-r", 3, "--validate", 0.2, "--patience", 1),
                        ("--time-mode", 2), ("--no-biases", "--shrink", "10", "--targets", "zero,zero,one"),
                        ("--fixed-cores", "-j", 3, "-r", 2, "--shrink", 5)):
            with self.subTest(options=options):
                whole = self.train("-i", 7, "-o", "whole.npz", "--checkpoint", "whole.ckpt", *options)
                self.train("-i", 3, "--checkpoint", "part.ckpt", *options)
                rest = self.train("-i", 7, "-o", "rest.npz", "--resume", "part.ckpt", "--checkpoint", "rest.ckpt",
                                  *options)
                if "choice" in whole["result"] and "--patience" not in options:
                    # With fewer epochs the search may choose otherwise. The run continues with what it chose then.
                    self.assertEqual([step["iteration"] for step in rest["iterations"]], [4, 5, 6, 7])
                    continue
                self.assertEqual(self.content("rest.npz"), self.content("whole.npz"))
                for report in (whole, rest):
                    for step in report.setdefault("iterations", []):
                        step.pop("seconds")
                first = 1 + len(whole["iterations"]) - len(rest["iterations"])
                self.assertEqual(rest["iterations"], whole["iterations"][first - 1:])
                self.assertLessEqual(first, 4)
                for key in ("rank", "columns", "kept_iteration", "rmse", "mae", "biases", "mean", "reason"):
                    self.assertEqual(rest["result"].get(key), whole["result"].get(key), key)
                if rest["iterations"]:  # a run that was done writes no other checkpoint
                    if "choice" not in whole["result"]:  # which keeps its seconds
                        self.assertEqual(self.content("rest.ckpt"), self.content("whole.ckpt"))
                else:
                    self.assertIn("--patience", options)
                    (self.folder / "rest.ckpt").write_bytes(self.content("whole.ckpt"))
                again = self.train("-i", 7, "-o", "again.npz", "--resume", "rest.ckpt", *options)
                self.assertEqual(again.get("iterations", []), [])
                self.assertEqual(self.content("again.npz"), self.content("whole.npz"))

    def test_the_damping_of_biases_that_the_search_chose(self):
        whole = self.train("-i", 7, "-o", "whole.npz", "--checkpoint", "c")
        damping = whole["result"]["choice"]["bias_reg"]
        self.assertNotEqual(damping, 5)
        rest = self.train("-i", 7, "-o", "rest.npz", "--resume", "c")
        self.assertEqual(rest["result"]["choice"]["bias_reg"], damping)
        for name in ("whole.npz", "rest.npz"):
            with zipfile.ZipFile(self.folder / name) as archive:
                self.assertEqual(struct.unpack("<d", archive.read("bias_damping.npy")[-8:]), (damping,))

    def test_any_number_of_threads(self):
        for options in (("--reg", 2, "-j", 3, "-r", 5, "--precision", "f64"), ("--shrink", 5, "-r", 4),
                        ("--optimizer", "adam", "-r", 3, "--precision", "f64")):
            models = set()
            for threads in (1, 2, 3, 7, 16):
                self.train("-i", 3, "-o", "m.npz", "-t", threads, *options)
                models.add(self.content("m.npz"))
            self.assertEqual(len(models), 1, options)

    def test_values_far_from_one(self):
        # They are fitted times a power of two, which the checkpoint's errors are not.
        lines = [line.split() for line in (self.folder / "x.tns").read_text().splitlines() if line[0] != "#"]
        self.write("x.tns", "".join(" ".join(line[:-1]) + f" {float(line[-1]) * 1e12!r}\n" for line in lines))
        options = ("--shrink", 10, "-r", 3, "--validate", 0.1, "--patience", 5)
        whole = self.train("-i", 6, "-o", "whole.npz", *options)
        self.train("-i", 2, "--checkpoint", "c", *options)
        rest = self.train("-i", 6, "-o", "rest.npz", "--resume", "c", *options)
        self.assertEqual(self.content("rest.npz"), self.content("whole.npz"))
        self.assertEqual(rest["result"]["rmse"], whole["result"]["rmse"])

    def test_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = self.start([
                TOOL, "fast-tucker", "x.tns", "--shrink", "10", "-r", "3", "-i", "100000000", "--deterministic",
                "--checkpoint", "c", "--checkpoint-every", "1000000000"
            ])
            self.assertFalse((self.folder / "c").exists())
            process.send_signal(number)
            stdout, stderr = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 128 + number)
            self.assertIn("wrote    c\n", stdout)
            last = int(re.search(r"interrupted after epoch (\d+)$", stderr.strip())[1])
            report = self.train("--shrink", 10, "-r", 3, "-i", last + 1, "--resume", "c")
            self.assertEqual([step["iteration"] for step in report["iterations"]], [last + 1])
            (self.folder / "c").unlink()

    def test_every(self):
        options = ("--shrink", 10, "-r", 2)
        self.train("-i", 4, "--checkpoint", "four", *options)
        self.train("-i", 4, "--checkpoint", "c", "--checkpoint-every", 2, *options)
        self.assertEqual(self.content("c"), self.content("four"))

    def test_another_run_is_refused(self):
        options = ("--shrink", 10, "-r", 2, "-i", 2)
        self.train(*options, "--checkpoint", "c")
        for others, says in ((("--shrink", 10, "-r", 3), "'rank 2', not 'rank 3'"),
                             (("--shrink", 11, "-r", 2), "'shrinkage 10,"), (options[:4] + ("--seed", 1), "seed"),
                             (options[:4] + ("--precision", "f64"), "precision f32, not f64"),
                             (options[:4] + ("--format", "coo-permuted"), "format"),
                             (options[:4] + ("--split", 0.1), "other entries"),
                             (("-r", 2, "--optimizer", "adam"), "'optimizer als', not 'optimizer adam'")):
            with self.subTest(others=others):
                self.refused("x.tns", *others, says=says)
        self.succeed("gen", "ratings", "-d", "60,40,12", "-n", 3000, "-r", 2, "--seed", 4, "-o", "y.tns")
        self.refused("y.tns", *options, says="other entries")
        self.succeed("gen", "ratings", "-d", "60,40,13", "-n", 3000, "-r", 2, "--seed", 3, "-o", "y.tns")
        self.refused("y.tns", *options, says="other entries")
        content = bytearray(self.content("c"))
        content[100] ^= 1
        self.write("c", bytes(content))
        self.refused("x.tns", *options, says="checksum")
        self.succeed("cpd", "x.tns", "-r", 2, "-i", 1, "--checkpoint", "c")
        self.refused("x.tns", *options, says="another command")
        self.fail_with(6, "fast-tucker", "x.tns", *options, "--checkpoint", "nowhere/c", says="nowhere/c")
        self.fail_with(2, "fast-tucker", "x.tns", *options, "--checkpoint", "x.tns", says="would overwrite")
        self.fail_with(2, "fast-tucker", "x.tns", *options, "--checkpoint", "m.npz", "-o", "m.npz", says="same file")

    def refused(self, tensor, *options, says):
        result = self.run_tool("fast-tucker", tensor, "--resume", "c", "-o", "m.npz", *options)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
