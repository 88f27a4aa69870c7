# SPDX-License-Identifier: BSD-3-Clause
"""SIGINT and SIGTERM end a run after its iteration, and what was asked for is written."""
import json
import signal
import subprocess
import unittest

from tool import TOOL, ToolTest, random_tensor, tns


class Interrupt(ToolTest):
    def interrupt(self, number, **keywords):
        self.write("x.tns", tns(random_tensor((300, 200, 100), 20000)))
        process = subprocess.Popen([TOOL, "cpd", "x.tns", "-r", "4", "-i", "100000000", "--tol", "0",
                                    "-o", "model.ktns", "--report", "report.json"],
                                   cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   **keywords)
        self.addCleanup(process.kill)
        self.assertRegex(process.stderr.readline(), r"\Aiteration 1 of ")
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 128 + number)
        report = json.loads((self.folder / "report.json").read_text())
        iterations = len(report["iterations"])
        self.assertGreaterEqual(iterations, 1)
        self.assertEqual(report["exit"], 128 + number)
        self.assertEqual(report["result"]["reason"], "interrupted")
        self.assertFalse(report["result"]["converged"])
        self.assertEqual(report["result"]["fit"], report["iterations"][-1]["fit"])
        self.assertTrue(stderr.endswith(f"polyad: interrupted after iteration {iterations}\n"))
        self.assertIn("interrupted", stdout)
        # The model is whole: it can be the next run's start, which goes on from its fit.
        again = self.report_of("cpd", "x.tns", "-r", 4, "-i", 1, "--init", "model.ktns")
        self.assertGreaterEqual(again["result"]["fit"], report["result"]["fit"] - 1e-12)

    def test_sigint(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)

    def test_sigint_where_the_shell_ignored_it(self):
        self.interrupt(signal.SIGINT, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))

    def test_second_signal_ends_at_once(self):
        # Blocked in reading, which the first signal lets go on.
        process = subprocess.Popen([TOOL, "cpd", "/dev/stdin", "-r", "4", "--report", "report.json"],
                                   cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write(b"1 1 1 1\n" * 300000)  # more than a pipe holds: it reads by now
        process.stdin.flush()
        process.send_signal(signal.SIGTERM)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)
        process.stderr.close()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass

    def test_interrupted_while_reading(self):
        process = subprocess.Popen([TOOL, "cpd", "/dev/stdin", "-r", "4", "-o", "model.ktns"], cwd=self.folder,
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stdin.write(b"1 1 1 1\n" * 300000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(stderr, b"polyad: interrupted while reading the tensor\n")
        self.assertFalse((self.folder / "model.ktns").exists())


if __name__ == "__main__":
    unittest.main()
