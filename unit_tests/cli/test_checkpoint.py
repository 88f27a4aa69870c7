# SPDX-License-Identifier: BSD-3-Clause
"""cpd --checkpoint and --resume: the same bits as a run that never stopped, and nothing but its own run."""

import re
import signal
import subprocess
import unittest

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
        # 25 components are more than a mode has rows: singular matrices, and their count goes on.
        for rank, *options in ((4,), (4, "--precision", "f32"), (25,)):
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
            process = subprocess.Popen([
                TOOL, "cpd", self.tensor, "-r", "4", "-i", "100000000", "--tol", "0", "--deterministic",
                "--checkpoint", "c", "--checkpoint-every", "1000000000"
            ],
                                       cwd=self.folder,
                                       stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE,
                                       text=True)
            self.addCleanup(process.kill)
            for _ in range(3):
                process.stderr.readline()
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
        self.refused(self.write("y.tns", tns(random_tensor((30, 20, 10), 900, seed=2))),
                     "-r",
                     4,
                     says="another tensor")
        self.refused(self.write("y.tns", tns(random_tensor((30, 20, 11), 900))),
                     "-r",
                     4,
                     says="another tensor")
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
        result = self.run_tool("cpd", tensor, *options, "--resume", "c")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(says, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
