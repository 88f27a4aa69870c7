# SPDX-License-Identifier: BSD-3-Clause
"""Signals end a run after its iteration, and what was asked for is written. None leaves a temporary file."""
import json
import os
import resource
import signal
import subprocess
import time
import unittest

from tool import TOOL, ToolTest, random_tensor, tns

# Those that would end the process, and leave it time.
ENDING = [
    signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE, signal.SIGALRM,
    signal.SIGVTALRM, signal.SIGPROF, signal.SIGXCPU, signal.SIGPWR, signal.SIGPOLL, signal.SIGRTMIN, signal.SIGRTMAX
]
# Those that end it at once.
FATAL = [signal.SIGQUIT, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS]


def default_signals():
    """A shell's background job ignores SIGINT and SIGQUIT, one of nohup SIGHUP. No core files, either."""
    for number in ENDING + FATAL:
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Interrupt(ToolTest):
    def interrupt(self, number, **keywords):
        keywords.setdefault("preexec_fn", default_signals)
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
        # The model is whole: it can be the start of the next run, which continues from its fit.
        again = self.report_of("cpd", "x.tns", "-r", 4, "-i", 1, "--init", "model.ktns")
        self.assertGreaterEqual(again["result"]["fit"], report["result"]["fit"] - 1e-12)

    def test_every_signal(self):
        for number in ENDING:
            with self.subTest(number=number):
                self.interrupt(number)

    def test_a_format_of_many_chunks(self):
        """Its build compared each pair of chunks, and heard no signal in the minutes that this took."""
        self.succeed("gen", "uniform", "-d", "30000,20000,1000", "-n", 400000, "--seed", 3, "-o", "many.pten")
        process = subprocess.Popen([TOOL, "cpd", "many.pten", "-r", "4", "-i", "100000000", "--tol", "0",
                                    "--format", "alto:chunks=200000"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)
        self.addCleanup(process.kill)
        start = time.monotonic()
        while not (line := process.stderr.readline()).startswith("iteration 1 of "):
            self.assertTrue(line, "it ended before its first iteration")
        self.assertLess(time.monotonic() - start, 30)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, stderr)

    def test_what_was_ignored_stays_ignored(self):
        """As by nohup, or in a shell's background job."""
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGPIPE, signal.SIGXCPU, signal.SIGQUIT):
            with self.subTest(number=number):
                self.write("x.tns", tns(random_tensor((300, 200, 100), 20000)))

                def ignore(number=number):
                    default_signals()
                    signal.signal(number, signal.SIG_IGN)

                process = subprocess.Popen([TOOL, "cpd", "x.tns", "-r", "4", "-i", "300", "--tol", "0", "-o", "model.ktns"],
                                           cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                           preexec_fn=ignore, restore_signals=False)
                self.addCleanup(process.kill)
                process.stderr.readline()
                process.send_signal(number)
                _, stderr = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 0, stderr)
                self.assertIn("iteration 300 of 300", stderr)

    def test_signals_that_come_twice_by_themselves(self):
        for number in (signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1):
            self.write("x.tns", tns(random_tensor((300, 200, 100), 20000)))
            process = subprocess.Popen([TOOL, "cpd", "x.tns", "-r", "4", "-i", "100000000", "--tol", "0", "-o", "model.ktns"],
                                       cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       preexec_fn=default_signals)
            self.addCleanup(process.kill)
            process.stderr.readline()
            for _ in range(3):
                process.send_signal(number)
            process.communicate(timeout=120)
            self.assertEqual(process.returncode, 128 + number)
            self.assertTrue((self.folder / "model.ktns").exists())

    def test_processor_time_that_runs_out(self):
        self.write("x.tns", tns(random_tensor((300, 200, 100), 20000)))

        def limit():
            default_signals()
            resource.setrlimit(resource.RLIMIT_CPU, (2, 30))

        result = self.run_tool("cpd", "x.tns", "-r", 4, "-i", 100000000, "--tol", 0, "-o", "model.ktns", "--checkpoint", "c",
                               preexec_fn=limit)
        self.assertEqual(result.returncode, 128 + signal.SIGXCPU)
        self.assertTrue((self.folder / "model.ktns").exists() and (self.folder / "c").exists())
        self.succeed("cpd", "x.tns", "-r", 4, "-i", 3, "--resume", "c")

    def has_begun(self, output):
        """The first temporary file is empty: it only shows that the output can be written, and is gone at once."""
        for name in os.listdir(self.folder):
            if name.startswith("." + output):
                try:
                    return (self.folder / name).stat().st_size > 0
                except FileNotFoundError:
                    pass
        return False

    def meet_temporary_file(self, arguments, output, numbers):
        """Sends signals while the temporary file of an output is there. Returns the status, or nothing if it was late."""
        # AddressSanitizer would handle some of the signals in place of the tool.
        own = ":".join(f"handle_{name}=0" for name in ("abort", "segv", "sigbus", "sigfpe", "sigill", "sigtrap"))
        process = subprocess.Popen([TOOL, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=default_signals,
                                   env={**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":" + own})
        self.addCleanup(process.kill)
        met = False
        while process.poll() is None and not met:
            met = self.has_begun(output)
        for number in numbers:
            process.send_signal(number)
        status = process.wait(timeout=120)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".")], [], (numbers, status))
        return status if met else None

    def test_no_temporary_file_is_left(self):
        self.succeed("gen", "uniform", "-d", "3000,2000,1000", "-n", 1500000, "-o", "big.pten")
        met = 0
        for numbers in [[number] for number in ENDING + FATAL] + [[n, n] for n in ENDING]:
            with self.subTest(numbers=numbers):
                for _ in range(5):
                    status = self.meet_temporary_file(("convert", "big.pten", "out.tns", "-t", 1), "out.tns", numbers)
                    if status is None:
                        continue
                    met += 1
                    number = numbers[0]
                    self.assertIn(status, (-number, 128 + number))
                    if number in ENDING and len(numbers) == 1:
                        self.assertEqual(status, 128 + number)
                    self.assertFalse((self.folder / "out.tns").exists())
                    break
        self.assertGreater(met, len(ENDING))

    def test_a_command_without_iterations_stops(self):
        """It says so, and leaves nothing."""
        self.succeed("gen", "uniform", "-d", "3000,2000,1000", "-n", 1500000, "-o", "big.pten")
        before = set(os.listdir(self.folder))
        for arguments in (("stats", "big.pten"), ("check", "big.pten"), ("convert", "big.pten", "o.tns"),
                          ("compare", "big.pten", "big.pten"), ("estimate", "big.pten", "-r", 8), ("tune", "big.pten", "-r", 8)):
            for number in (signal.SIGTERM, signal.SIGUSR1):
                with self.subTest(arguments=arguments, number=number):
                    process = subprocess.Popen([TOOL, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL,
                                               stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)
                    self.addCleanup(process.kill)
                    while process.poll() is None and not catches(process.pid, number):
                        time.sleep(0.001)
                    process.send_signal(number)
                    _, stderr = process.communicate(timeout=120)
                    self.assertEqual(process.returncode, 128 + number, stderr)
                    self.assertRegex(stderr, r"\Apolyad: interrupted [^\n]*\n\Z")
                    self.assertLessEqual(set(os.listdir(self.folder)), before | {"o.tns"})

    def test_second_signal_ends_at_once(self):
        # The process is blocked in reading, and the first signal lets it continue.
        process = subprocess.Popen([TOOL, "cpd", "/dev/stdin", "-r", "4", "--report", "report.json"],
                                   cwd=self.folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=default_signals)
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
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default_signals)
        self.addCleanup(process.kill)
        process.stdin.write(b"1 1 1 1\n" * 300000)
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(stderr, b"polyad: interrupted while reading the tensor\n")
        self.assertFalse((self.folder / "model.ktns").exists())


def catches(process, number):
    """Whether a process has a handler for the signal."""
    with open(f"/proc/{process}/status", encoding="ascii", errors="replace") as status:
        masks = [line.split()[1] for line in status if line.startswith("SigCgt:")]
    return bool(masks) and int(masks[0], 16) >> (number - 1) & 1 == 1


if __name__ == "__main__":
    unittest.main()
