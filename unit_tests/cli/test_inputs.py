# SPDX-License-Identifier: BSD-3-Clause
"""Inputs from pipes, which can be read once, and inputs that change while they are read."""
import gzip
import os
import pathlib
import subprocess
import threading
import unittest

from tool import TOOL, ToolTest

# The options of commands() that name further inputs.
INPUT_OPTIONS = ("--matrix", "--matrices", "--factors")


class Pipes(ToolTest):

    def setUp(self):
        super().setUp()
        self.make_inputs()

    def run_with_pipes(self, arguments, piped, **keywords):
        """Runs with some arguments replaced by pipes of these files' contents."""
        arguments = list(map(str, arguments))
        readers = []
        for k in piped:
            reader, writer = os.pipe()
            content = (self.folder / arguments[k]).read_bytes()
            threading.Thread(target=feed, args=(writer, content), daemon=True).start()
            arguments[k] = f"/dev/fd/{reader}"
            readers.append(reader)
        try:
            return subprocess.run([TOOL, *arguments], cwd=self.folder, pass_fds=readers, capture_output=True, timeout=300,
                                  check=False, **keywords)
        finally:
            for reader in readers:
                os.close(reader)

    def inputs_of(self, arguments):
        return [k for k, a in enumerate(arguments) if str(a)[:2] in ("x.", "mo", "u.", "le") and
                (k == 1 or k == 2 or arguments[k - 1] in INPUT_OPTIONS)]

    def test_every_command_reads_every_input_once(self):
        for arguments, files, status in self.commands():
            inputs = self.inputs_of(arguments)
            if not inputs or "--store" in arguments:
                continue
            fixed = ("-t", 1, "--deterministic") if arguments[0] in ("cpd", "fast-tucker") else ("-t", 1)
            arguments = (*arguments, *fixed)
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_tool(*arguments).returncode, status)
                wanted = {name: (self.folder / name).read_bytes() for name in files if not name.endswith("json")}
                for name in files:
                    (self.folder / name).unlink()
                for piped in [[k] for k in inputs] + [inputs]:
                    result = self.run_with_pipes(arguments, piped)
                    self.assertEqual(result.returncode, status, result.stderr)
                    for name, content in wanted.items():
                        self.assertEqual((self.folder / name).read_bytes(), content)

    def test_compare_sees_all_of_a_pipe(self):
        self.succeed("gen", "uniform", "-d", "300,200,100", "-n", 120000, "-o", "big.tns")
        self.succeed("convert", "big.tns", "big.pten")
        self.succeed("convert", "big.tns", "big.npz")
        self.write("big.gz", gzip.compress((self.folder / "big.tns").read_bytes(), 1))
        for a in ("big.tns", "big.gz", "big.pten", "big.npz"):
            for piped in ([1], [2], [1, 2]):
                result = self.run_with_pipes(("compare", a, "big.tns"), piped)
                self.assertEqual(result.returncode, 0, result.stderr)
                text = result.stdout.decode()
                self.assertEqual(text.count("nonzeros"), 2)
                self.assertIn("the tensors are the same", text)
                self.assertEqual(len(set(text.splitlines()[0].replace("tensors", "").split(";"))) , 2 if ";" in text else 1)
        # Leading blanks and comments do not make a tensor a model, nor the other way round.
        self.write("m.ktns", b"\n" * 50 + self.model_text())
        for piped in ([1], [2], [1, 2]):
            result = self.run_with_pipes(("compare", "m.ktns", "model.npz"), piped)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(b"factor match", result.stdout)

    def model_text(self):
        result = subprocess.run([TOOL, "cpd", "x.tns", "-r", "2", "-i", "2", "-o", "-"], cwd=self.folder, capture_output=True,
                                check=True)
        return result.stdout

    def test_starts_and_checkpoints(self):
        cpd = ("cpd", "x.tns", "-r", 2, "-i", 4, "--tol", 0, "-t", 1, "--deterministic", "-o", "o.npz")
        train = ("fast-tucker", "x.tns", "-r", 2, "--shrink", 5, "-i", 4, "-t", 1, "--deterministic", "-o", "o.npz")
        self.write("m.ktns", self.model_text())
        for arguments in ((*cpd, "--init", "model.npz"), (*cpd, "--init", "m.ktns"), (*cpd, "--resume", "c.ckpt"),
                          (*train, "--resume", "l.ckpt"), (*train, "--test", "x.tns")):
            with self.subTest(arguments=arguments):
                self.succeed(*arguments)
                wanted = (self.folder / "o.npz").read_bytes()
                for piped in ([len(arguments) - 1], [1, len(arguments) - 1]):
                    result = self.run_with_pipes(arguments, piped)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual((self.folder / "o.npz").read_bytes(), wanted)
        self.write("q", "1 1\n2 *\n")
        for arguments in (("recommend", "learned.npz", "--mode", 1, "--for-file", "q"),
                          ("recommend", "learned.npz", "--mode", 1, "--for", "1,*", "--seen", "x.tns")):
            wanted = self.succeed(*arguments).stdout
            result = self.run_with_pipes(arguments, [1, len(arguments) - 1])
            self.assertEqual(result.stdout.decode(), wanted)

    def test_dash_is_stdin(self):
        for arguments, k in ((("compare", "x.tns", "-"), "x.tns"), (("compare", "-", "x.tns"), "x.tns"),
                             (("cpd", "x.tns", "-r", 2, "--init", "-"), "model.npz"),
                             (("mttkrp", "x.tns", "--mode", 0, "--factors", "-", "-o", "o.npz"), "model.npz"),
                             (("predict", "-", "x.tns", "-o", "o.tns"), "learned.npz"),
                             (("stats", "-"), "x.tns"), (("fast-tucker", "x.tns", "--test", "-", "--shrink", 5), "x.tns")):
            with self.subTest(arguments=arguments):
                content = (self.folder / k).read_bytes()
                result = subprocess.run([TOOL, *map(str, arguments)], cwd=self.folder, input=content, capture_output=True,
                                        check=False)
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_one_pipe_for_two_inputs_is_refused(self):
        for arguments in (("compare", "-", "-"), ("compare", "-", "/dev/stdin"), ("fast-tucker", "-", "--test", "-"),
                          ("cpd", "-", "-r", 2, "--init", "-"), ("predict", "-", "-", "-o", "o.tns")):
            result = self.run_tool(*arguments, stdin=subprocess.PIPE)
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("read only once", result.stderr)


class Changes(ToolTest):

    def test_a_file_that_shrinks(self):
        """It is cut short while it is read: sometimes early, sometimes late, sometimes too late."""
        self.succeed("gen", "uniform", "-d", "3000,2000,1000", "-n", 600000, "-o", "big.tns")
        whole = (self.folder / "big.tns").read_bytes()
        self.succeed("convert", "big.tns", "big.pten")
        self.succeed("convert", "big.tns", "big.npz")
        self.succeed("convert", "big.tns", "packed.pten", "--pack")
        self.write("big.gz", gzip.compress(whole, 1))
        caught = 0
        for name in ("big.tns", "big.pten", "big.npz", "packed.pten", "big.gz"):
            content = (self.folder / name).read_bytes()
            for delay in (0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12):
                path = self.write("y", content)
                process = subprocess.Popen([TOOL, "check", "y", "-t", "2"], cwd=self.folder, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE)
                self.addCleanup(process.kill)
                try:
                    process.wait(timeout=delay)
                except subprocess.TimeoutExpired:
                    pass
                os.truncate(path, len(content) // 3)
                stderr = process.communicate(timeout=60)[1].decode()
                self.assertIn(process.returncode, (0, 3, 8), (name, delay, stderr))
                if process.returncode == 3:
                    caught += 1
                    self.assertRegex(stderr, r"\Apolyad: y[^\n]*\n\Z")
        self.assertGreater(caught, 0)


def feed(writer, content):
    with os.fdopen(writer, "wb") as pipe:
        try:
            pipe.write(content)
        except BrokenPipeError:
            pass


if __name__ == "__main__":
    unittest.main()
