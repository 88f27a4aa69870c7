# SPDX-License-Identifier: BSD-3-Clause
"""Where outputs go: stdout as -, descriptors, pipes, links, protected files and long names."""
import json
import os
import pathlib
import signal
import stat
import subprocess
import time
import unittest
import zipfile

from tool import TOOL, ToolTest


class Outputs(ToolTest):

    def setUp(self):
        super().setUp()
        self.make_inputs()

    def start_tool(self, *arguments, **keywords):
        process = subprocess.Popen([TOOL, *map(str, arguments)], cwd=self.folder, **keywords)
        self.addCleanup(process.kill)
        return process

    def output_of(self, *arguments, **keywords):
        """stdout of a run that succeeds, and stderr."""
        result = subprocess.run([TOOL, *map(str, arguments)], cwd=self.folder, capture_output=True, check=False, timeout=300,
                                **keywords)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout, result.stderr.decode()

    def test_stdout_carries_data_only(self):
        """What goes to - is what goes to a file. The results are on stderr."""
        names = {"cpd": "f.ktns", "convert": "f.tns", "check": "f.tns", "gen": "f.tns", "predict": "f.tns", "ttm": "f.tns",
                 "recommend": "f.txt", "project": "f.ktns"}
        for arguments, _, status in self.commands():
            arguments = [str(a) for a in arguments]
            at = [k for k, a in enumerate(arguments) if a.startswith("o.") and arguments[k - 1] in ("-o", "--fix", "-v", "x.tns")]
            if not at or "--restarts" in arguments:
                continue
            k = at[0]
            # Later outputs stay files.
            name = names.get(arguments[0], "f.npz" if arguments[k].endswith("npz") else "f.txt")
            if arguments[:2] == ["project", "learned.npz"]:  # is always an archive
                name = "f.npz"
            deterministic = ["--deterministic"] if arguments[0] in ("cpd", "fast-tucker") else ["-t", "1"]
            with self.subTest(arguments=arguments):
                self.succeed(*arguments[:k], name, *arguments[k + 1:], *deterministic)
                wanted = (self.folder / name).read_bytes()
                for dash in ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
                    data, log = self.output_of(*arguments[:k], dash, *arguments[k + 1:], *deterministic)
                    self.assertEqual(data, wanted)
                    if arguments[0] not in ("recommend", "similar"):
                        self.assertIn("wrote", log)
        self.assertFalse((self.folder / "-").exists())

    def test_reports_on_stdout(self):
        for arguments, files, status in self.commands():
            if "--report" in arguments:
                continue
            with self.subTest(arguments=arguments):
                data, _ = self.output_of(*arguments, "--report", "-")
                self.assertEqual(json.loads(data)["exit"], status)
                for name in files:
                    self.assertTrue((self.folder / name).exists())
        data, _ = self.output_of("stats", "x.tns", "--report", "-")
        self.assertEqual(json.loads(data)["input"]["nnz"], json.loads(self.output_of("stats", "x.tns", "--report", "-")[0])["input"]["nnz"])
        self.assertFalse((self.folder / "-").exists())

    def test_two_outputs_on_stdout_are_refused(self):
        for arguments in (("cpd", "x.tns", "-r", 2, "-o", "-", "--report", "-"), ("convert", "x.tns", "-", "--report", "-"),
                          ("gen", "low-rank", "-d", "9,9", "-r", 2, "-o", "-", "--model", "-"),
                          ("gen", "low-rank", "-d", "9,9", "-r", 2, "-o", "-", "--model", "/dev/fd/1"),
                          ("check", "x.tns", "--fix", "-", "--report", "/dev/stdout"),
                          ("recommend", "learned.npz", "--mode", 1, "--for", "1,*", "--report", "-"),
                          ("similar", "learned.npz", "--mode", 1, "--index", 1, "--report", "-"),
                          ("similar", "learned.npz", "--mode", 1, "--index", 1, "--report", "-", "-o", "-"),
                          ("cpd", "x.tns", "-r", 2, "--checkpoint", "-"), ("fast-tucker", "x.tns", "--checkpoint", "-"),
                          ("tucker", "x.tns", "-r", "2,2,2", "-o", "-", "--report", "-")):
            with self.subTest(arguments=arguments):
                result = self.run_tool(*arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
                self.assertEqual(result.stdout, "")

    def test_an_open_file_keeps_what_it_has(self):
        wanted = (self.folder / "x.tns").read_bytes()
        for output in ("-", "/dev/stdout", "/dev/fd/1"):
            with open(self.folder / "log", "wb") as log:
                log.write(b"before\n")
            with open(self.folder / "log", "ab") as log:
                before = os.fstat(log.fileno()).st_ino
                subprocess.run([TOOL, "convert", "x.tns", output, "--to", "frostt"], cwd=self.folder, stdout=log,
                               stderr=subprocess.PIPE, check=True)
            self.assertEqual((self.folder / "log").read_bytes(), b"before\n" + wanted)
            self.assertEqual((self.folder / "log").stat().st_ino, before)
        # Any descriptor, at its position; and the one of another process.
        with open(self.folder / "log", "wb") as log:
            log.write(b"1234")
            log.flush()
            os.set_inheritable(log.fileno(), True)
            self.succeed_with_descriptor(log.fileno(), "convert", "x.tns", f"/dev/fd/{log.fileno()}")
            log.seek(0, os.SEEK_END)
            self.succeed("convert", "x.tns", f"/proc/{os.getpid()}/fd/{log.fileno()}", "--to", "frostt")
        self.assertEqual((self.folder / "log").read_bytes(), b"1234" + wanted + wanted)

    def succeed_with_descriptor(self, number, *arguments):
        subprocess.run([TOOL, *arguments], cwd=self.folder, pass_fds=[number], capture_output=True, check=True)

    def test_a_fifo_gets_the_data_once(self):
        os.mkfifo(self.folder / "f.npz")
        os.mkfifo(self.folder / "f.tns")
        for name, arguments in (("f.tns", ("convert", "x.tns", "f.tns")), ("f.npz", ("cpd", "x.tns", "-r", 2, "-o", "f.npz")),
                                ("f.tns", ("stats", "x.tns", "--report", "f.tns"))):
            process = self.start_tool(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            data = (self.folder / name).read_bytes()
            self.assertEqual(process.wait(timeout=60), 0)
            self.assertTrue(stat.S_ISFIFO((self.folder / name).stat().st_mode))
            if arguments[0] == "convert":
                self.assertEqual(data, (self.folder / "x.tns").read_bytes())
            elif arguments[0] == "stats":
                self.assertEqual(json.loads(data)["exit"], 0)
            else:
                self.write("read.npz", data)
                with zipfile.ZipFile(self.folder / "read.npz") as archive:
                    self.assertIsNone(archive.testzip())

    def test_a_fifo_without_a_reader_ends_with_a_signal(self):
        os.mkfifo(self.folder / "f.npz")
        os.mkfifo(self.folder / "f.tns")
        for arguments in (("convert", "x.tns", "f.tns"), ("cpd", "x.tns", "-r", 2, "-i", 2, "-o", "f.npz"),
                          ("tucker", "x.tns", "-r", "2,2,2", "-i", 1, "-o", "f.npz"), ("stats", "x.tns", "--report", "f.tns"),
                          ("mttkrp", "x.tns", "--mode", 0, "--factors", "model.npz", "-o", "f.npz")):
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                with self.subTest(arguments=arguments, number=number):
                    process = self.start_tool(*arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                              preexec_fn=default_signals)
                    with self.assertRaises(subprocess.TimeoutExpired):
                        process.wait(timeout=1.5)
                    process.send_signal(number)
                    self.assertEqual(process.wait(timeout=30), 128 + number, process.stderr.read())
                    process.stderr.close()

    def test_a_fifo_whose_reader_leaves(self):
        os.mkfifo(self.folder / "f.tns")
        self.succeed("gen", "uniform", "-d", "300,200,100", "-n", 100000, "-o", "big.pten")
        process = self.start_tool("convert", "big.pten", "f.tns", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(self.folder / "f.tns", "rb") as reader:
            reader.read(1000)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGPIPE)
        process.stderr.close()
        # One that stops reading does not keep a signal off.
        process = self.start_tool("convert", "big.pten", "f.tns", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with open(self.folder / "f.tns", "rb") as reader:
            reader.read(1000)
            time.sleep(1)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=30), 128 + signal.SIGTERM)
        process.stderr.close()

    def test_links_are_followed(self):
        target = self.folder / "elsewhere"
        target.mkdir()
        os.symlink("elsewhere/real.tns", self.folder / "one.tns")
        os.symlink("one.tns", self.folder / "two.tns")
        for _ in range(2):  # dangling at first
            self.succeed("convert", "x.tns", "two.tns")
            self.assertTrue((self.folder / "one.tns").is_symlink() and (self.folder / "two.tns").is_symlink())
            self.assertEqual((target / "real.tns").read_bytes(), (self.folder / "x.tns").read_bytes())
            self.assertEqual([p.name for p in target.iterdir()], ["real.tns"])
        os.symlink("nowhere/real.tns", self.folder / "three.tns")
        os.symlink("loop.tns", self.folder / "loop.tns")
        for name in ("three.tns", "loop.tns"):
            self.fail_with(6, "convert", "x.tns", name, says=f"{name}: cannot be written")

    def test_protected_files_are_refused(self):
        path = self.write("old.tns", "precious")
        path.chmod(0o444)
        self.fail_with(6, "convert", "x.tns", "old.tns", says="old.tns: cannot be written: Permission denied")
        os.symlink("old.tns", self.folder / "link.tns")
        self.fail_with(6, "convert", "x.tns", "link.tns", says="link.tns: cannot be written: Permission denied")
        self.assertEqual(path.read_text(), "precious")
        path.chmod(0o644)

    def test_names_of_any_length(self):
        for length in (240, 247, 248, 249, 254, 255):
            name = "n" * (length - 4) + ".tns"
            self.succeed("convert", "x.tns", name)
            self.assertEqual((self.folder / name).read_bytes(), (self.folder / "x.tns").read_bytes())
            (self.folder / name).unlink()
        self.fail_with(6, "convert", "x.tns", "n" * 252 + ".tns", says="File name too long")

    def test_a_choice_is_not_stored_beside_stdin(self):
        with open(self.folder / "x.tns", "rb") as tensor:
            result = self.run_tool("tune", "-", "-r", 2, "--store", stdin=tensor)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertFalse(pathlib.Path("/dev/stdin.tune.json").exists())

    def test_a_model_is_written_before_data_that_fail(self):
        with open("/dev/full", "wb") as full:
            result = self.run_tool("gen", "low-rank", "-d", "20,10,9", "-r", 2, "-o", "-", "--model", "m.ktns", stdout=full)
            self.assertEqual(result.returncode, 6)
            self.assertIn("/dev/stdout: cannot be written: No space left on device", result.stderr)
            self.assertTrue((self.folder / "m.ktns").exists())
            result = self.run_tool("cpd", "x.tns", "-r", 2, "-o", "m.npz", "--report", "-", stdout=full)
            self.assertEqual(result.returncode, 6)
            self.assertTrue((self.folder / "m.npz").exists())


def default_signals():
    """A shell's background job ignores SIGINT."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


if __name__ == "__main__":
    unittest.main()
