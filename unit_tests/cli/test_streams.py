# SPDX-License-Identifier: BSD-3-Clause
"""Standard streams that are closed, full or broken. No log ends a run; data that cannot be written is an error."""
import os
import signal
import subprocess
import unittest
import zipfile

from tool import TOOL, ToolTest


class Streams(ToolTest):

    def setUp(self):
        super().setUp()
        self.make_inputs()
        self.inputs = set(self.folder.iterdir())

    def run_with(self, arguments, closed=(), **streams):
        """The exit status of a run with some descriptors closed, or sent elsewhere."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **streams}
        return subprocess.run([TOOL, *map(str, arguments)],
                              cwd=self.folder,
                              timeout=300,
                              check=False,
                              preexec_fn=lambda: [os.close(number) for number in closed],
                              **streams).returncode

    def expect_files(self, names):
        """The files are there and whole, and no other file is."""
        for name in names:
            path = self.folder / name
            self.assertGreater(path.stat().st_size, 0)
            if path.suffix == ".npz":
                with zipfile.ZipFile(path) as archive:
                    self.assertIsNone(archive.testzip())
            path.unlink()
        self.assertEqual(set(self.folder.iterdir()), self.inputs)

    def broken_pipe(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        return writer

    def test_a_log_that_cannot_be_written_is_lost(self):
        full = open("/dev/full", "wb")
        self.addCleanup(full.close)
        broken = self.broken_pipe()
        for arguments, files, status in self.commands():
            for streams in ({"stderr": full}, {"closed": [2]}, {"stderr": broken}, {"closed": [0, 2]}):
                with self.subTest(arguments=arguments, streams=streams):
                    self.assertEqual(self.run_with(arguments, **streams), status)
                    self.expect_files(files)

    def test_results_that_cannot_be_written_are_an_error_and_files_are_there(self):
        full = open("/dev/full", "wb")
        self.addCleanup(full.close)
        for arguments, files, _ in self.commands():
            for streams in ({"stdout": full}, {"closed": [1]}, {"closed": [0, 1, 2]}, {"stdout": full, "stderr": full}):
                with self.subTest(arguments=arguments, streams=streams):
                    self.assertEqual(self.run_with(arguments, **streams), 6)
                    self.expect_files(files)

    def test_a_reader_that_had_enough(self):
        for arguments, files, _ in self.commands():
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_with(arguments, stdout=self.broken_pipe()), 128 + signal.SIGPIPE)
                self.expect_files(files)
        # As where SIGPIPE is ignored: an error like any other, and told.
        result = subprocess.run([TOOL, "stats", "x.tns"],
                                cwd=self.folder,
                                stdout=self.broken_pipe(),
                                stderr=subprocess.PIPE,
                                restore_signals=False,
                                preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
                                check=False)
        self.assertEqual(result.returncode, 6)
        self.assertIn(b"stdout: Broken pipe", result.stderr)

    def test_help_and_usage(self):
        with open("/dev/full", "wb") as full:
            for arguments in (["--help"], ["cpd", "--help"], ["--man"], ["--completion", "bash"], ["--version"]):
                self.assertEqual(self.run_with(arguments, stdout=full), 6)
                self.assertEqual(self.run_with(arguments, closed=[1]), 6)
                self.assertEqual(self.run_with(arguments, stderr=full), 0)
            self.assertEqual(self.run_with(["cpd"], stderr=full), 2)
            self.assertEqual(self.run_with(["stats", "nowhere.tns"], closed=[0, 1, 2]), 3)

    def test_a_reader_of_the_log_that_stops(self):
        # The pipe of the log fills up. The run waits for it, until a signal.
        process = subprocess.Popen([TOOL, "cpd", "x.tns", "-r", "2", "-i", "100000000", "--tol", "0", "-o", "o.npz"],
                                   cwd=self.folder,
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGTERM)
        process.stderr.close()
        self.expect_files(["o.npz"])


if __name__ == "__main__":
    unittest.main()
