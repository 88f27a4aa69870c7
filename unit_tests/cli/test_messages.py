# SPDX-License-Identifier: BSD-3-Clause
"""What the tool says: names what was typed, shows names of files on one line, and keeps quiet where asked."""
import fcntl
import json
import math
import os
import pty
import random
import re
import struct
import subprocess
import termios
import unittest

from tool import TOOL, ToolTest, random_tensor, tns

USAGE, INPUT, MEMORY, DIFFERENT = 2, 3, 4, 8
COMMANDS = ("cpd stats tucker ttm ttmc convert check compare gen mttkrp predict recommend similar estimate tune info "
            "fast-tucker update").split()


class Words(ToolTest):
    def refusal(self, *arguments):
        result = self.run_tool(*arguments)
        self.assertEqual(result.returncode, USAGE, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
        return result.stderr

    def test_commands_with_typing_errors(self):
        generator = random.Random(1)
        self.assertIn("'cdp'; did you mean cpd?", self.refusal("cdp", "x.tns"))
        for name in COMMANDS:
            for _ in range(4):
                k = generator.randrange(len(name) - 1)
                typed = generator.choice((name[:k] + name[k + 1] + name[k] + name[k + 2:], name[:k] + name[k + 1:],
                                          name[:k] + generator.choice("qz") + name[k:], name.upper()))
                if typed in COMMANDS or typed.startswith("-"):
                    continue
                proposed = re.search(rf"unknown command '{typed}'; did you mean (\S+)\?", self.refusal(typed, "x.tns"))
                self.assertIsNotNone(proposed, typed)
                self.assertIn(proposed[1], COMMANDS)
                if len(name) > 4 and typed != name.upper():
                    self.assertEqual(proposed[1], name)
        self.assertNotIn("did you mean", self.refusal("frobnicate", "x.tns"))

    def test_unknown_options_in_their_order(self):
        text = self.refusal("cpd", "x.tns", "-r", 2, "--zeta", "--alpha", "--mu", 7)
        self.assertIn("--zeta --alpha --mu 7", text)
        self.assertIn("did you mean --iterations?", self.refusal("cpd", "x.tns", "-r", 2, "--iteration", 3, "--b"))
        self.assertIn("--sed=3", self.refusal("cpd", "x.tns", "-r", 2, "--sed=3"))

    def test_at_least_is_for_models(self):
        self.write("a.tns", "1 1 1\n")
        self.write("b.tns", "1 1 2\n")
        self.assertIn("--at-least", self.refusal("compare", "a.tns", "b.tns", "--at-least", 0.5))

    def test_kinds_are_listed(self):
        for option, kinds in (("--nnz", "uniform, power-law and ratings"), ("--skew", "power-law and ratings"),
                              ("--model", "low-rank")):
            kind = "low-rank" if option != "--model" else "ratings"
            nnz = () if kind == "low-rank" else ("-n", 5)
            self.assertIn(f"{option} is for gen {kinds}\n",
                          self.refusal("gen", kind, "-d", "5,5", *nnz, "-o", "x.tns", option, 3))

    def test_compare_names_models_that_it_does_not_take(self):
        self.write("a.tns", "1 1 1\n2 2 2\n1 2 3\n")
        result = self.run_tool("fast-tucker", "a.tns", "-r", 1, "--reg", 1, "-i", 1, "-q", "-o", "m.npz")
        self.assertEqual(result.returncode, 0, result.stderr)
        for pair in (("m.npz", "a.tns"), ("a.tns", "m.npz"), ("m.npz", "m.npz")):
            self.assertIn("m.npz is a model of fast-tucker", self.refusal("compare", *pair))


# For each command: arguments that are complete but for a file, its options with whole numbers (True: they may be
# negative), with other numbers, and with bytes.
NUMBERS = {
    "cpd": (("no.tns", "-r", "2", "--nonnegative"),
            {"-r": False, "-i": True, "--seed": False, "--restarts": False, "--checkpoint-every": False, "-t": False,
             "--grid": False, "--index-base": False, "--inner": False}, ("--tol", "--time-limit", "--kkt-tol"), ("--max-memory", "--device-memory")),
    "tucker": (("no.tns", "-r", "2,2"), {"-r": False, "-i": True, "--seed": False, "-t": False},
               ("--tol", "--time-limit"), ("--max-memory",)),
    "fast-tucker": (("no.tns",), {"-r": False, "-j": False, "-i": True, "--patience": True,
                                  "--time-bins": False, "--seed": False, "--bias-sweeps": False, "--cg-steps": False},
                    ("--split", "--split-time", "--validate", "--lr", "--beta1", "--beta2", "--epsilon", "--core-lr", "--lr-decay", "--reg", "--shrink", "--core-reg",
                     "--bias-reg", "--time-reg", "--time-limit"), ("--max-memory", "--device-memory")),
    "recommend": (("no.npz", "--mode", "1", "--ratings", "no.tns"), {"-n": False, "--index-base": False},
                  ("--reg", "--shrink", "--bias-reg"), ("--max-memory",)),
    "update": (("no.npz", "no.tns", "--train", "no.tns", "-o", "p.npz"), {"-t": False, "--sweeps": False},
               ("--reg", "--shrink", "--bias-reg"), ("--max-memory",)),
    "similar": (("no.npz", "--mode", "1", "--index", "1"), {"-n": False}, (), ()),
    "evaluate": (("no.npz", "no.tns"), {"-k": False, "-t": False}, ("--relevant",), ("--max-memory",)),
    "predict": (("no.npz", "no.tns", "-o", "p.tns"), {"-t": False}, (), ("--max-memory",)),
    "ttm": (("no.tns", "--mode", "0", "--matrix", "no.npz", "-o", "p.tns"), {}, (), ()),
    "ttmc": (("no.tns", "--mode", "0", "--matrices", "no.npz", "-o", "p.npz"), {}, (), ()),
    "mttkrp": (("no.tns", "--mode", "0", "--factors", "no.npz", "-o", "p.npz"), {}, (), ()),
    "gen": (("ratings", "-d", "0,3", "-n", "5", "-o", "p.tns"), {"-n": False, "-r": False, "--seed": False},
            ("--skew", "--noise"), ()),
    "compare": (("no.tns", "no.ktns"), {"-t": False}, ("--at-least",), ("--max-memory",)),
    "estimate": (("no.tns", "-r", "2"), {"-r": False, "-i": True}, (), ("--device-memory",)),
    "tune": (("no.tns", "-r", "2"), {"-r": False, "-i": True}, (), ("--device-memory",)),
    "stats": (("no.tns",), {"-t": False, "--index-base": False}, (), ("--max-memory",)),
}


# What else a run needs so that it uses an option.
ALSO = {
    "fast-tucker": {"--lr": ("--optimizer", "sgd"), "--beta1": ("--optimizer", "adam"), "--beta2": ("--optimizer", "adam"),
                    "--epsilon": ("--optimizer", "adam"), "--core-lr": ("--optimizer", "sgd"), "--lr-decay": ("--optimizer", "sgd"),
                    "--core-reg": ("--optimizer", "adam"), "--cg-steps": ("--implicit=40",)},
    "cpd": {"--checkpoint-every": ("--checkpoint", "c.ckpt")},
}


class Numbers(ToolTest):
    def typed(self, command, option, text):
        arguments = [*NUMBERS[command][0], *ALSO.get(command, {}).get(option, ())]
        if option in arguments:
            at = arguments.index(option)
            del arguments[at:at + 2]
        return self.run_tool(command, *arguments, f"{option}={text}" if option.startswith("--") else option,
                             *([] if option.startswith("--") else [text]))

    def test_every_numeric_option_is_listed(self):
        for command, (_, whole, others, sizes) in NUMBERS.items():
            text = self.run_tool(command, "--help").stdout
            for option in (*whole, *others, *sizes):
                self.assertIn(option, text)
            listed = set(re.findall(r"(--[a-z-]+) (?:N|K|R|X|S|BYTES|MODE|I|J|B|SHARE|R1|P1|J\[|X\[|B\[)(?=[ \[,\n])", text))
            short = {"-r": ("--rank", "--ranks"), "-i": ("--iterations",), "-t": ("--threads",), "-j": ("--factor-columns",),
                     "-n": ("--count", "--nnz"), "-k": ("--count",)}
            known = {name for option in (*whole, *others, *sizes) for name in short.get(option, (option,))}
            self.assertLessEqual(listed - known - {"--threads", "--max-memory", "--for", "--dims", "--checkpoint-every"},
                                 {"--index", "--index-base", "--time-limit", "--mode", "--time-mode", "--user-mode", "--split-mode", "--split-last",
                                  "--split-rows"}, command)

    def test_whole_numbers(self):
        for command, (_, options, _, _) in NUMBERS.items():
            for option, negative in options.items():
                for text in ("-3", "x", "1.5", "1e3", "0x10", " 3", "3 ", "--3", "+-3", "99999999999999999999999", "1_000",
                             "2\n3"):
                    if text.startswith("--") and not option.startswith("--"):
                        continue
                    with self.subTest(command=command, option=option, text=text):
                        result = self.typed(command, option, text)
                        if negative and text == "-3" and result.returncode == INPUT:
                            continue
                        self.assertEqual(result.returncode, USAGE, result.stderr)
                        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
                        self.assertIn(text.replace("\n", "\\x0A"), result.stderr)
                # Decimal, with zeros before it or not.
                for text in ("1", "01", "0001", "+1"):
                    with self.subTest(command=command, option=option, text=text):
                        result = self.typed(command, option, text)
                        self.assertNotIn("whole number", result.stderr)
                        self.assertNotIn("not in", result.stderr)
        report = self.folder / "report.json"
        self.run_tool("cpd", "no.tns", "-r", "010", "-i", "+0017", "--seed", "08", "--report", report)
        options = json.loads(report.read_text())
        self.assertEqual((options["options"]["rank"], options["options"]["iterations"], options["seed"]), (10, 17, 8))

    def test_other_numbers(self):
        for command, (_, _, options, _) in NUMBERS.items():
            for option in options:
                for text in ("-1", "-0.25", "nan", "inf", "2"):
                    with self.subTest(command=command, option=option, text=text):
                        result = self.typed(command, option, text)
                        if result.returncode == USAGE and text != "2":
                            self.assertIn(text, result.stderr)
                for text in ("x", "1,5x", "0x10", "1e", "1e999", "1e-999", "1.5G", "1 5"):
                    with self.subTest(command=command, option=option, text=text):
                        result = self.typed(command, option, text)
                        self.assertEqual(result.returncode, USAGE, result.stderr)
                        self.assertIn(text.split(",")[-1], result.stderr)
        report = self.folder / "report.json"
        self.run_tool("cpd", "no.tns", "-r", "2", "--tol", "+001e-3", "--time-limit", "1e1", "--report", report)
        options = json.loads(report.read_text())["options"]
        self.assertEqual((options["tol"], options["time_limit_s"]), (0.001, 10))

    def test_bytes(self):
        report = self.folder / "report.json"
        for text, count in (("1000", 1000), ("+8G", 8 << 30), ("010k", 10240), ("2MiB", 2 << 20), ("3 tb", 3 << 40),
                            ("18446744073709551615", 2**64 - 1), ("15E", 15 << 60)):
            self.run_tool("stats", "no.tns", "--max-memory", text, "--report", report)
            self.assertEqual(json.loads(report.read_text())["options"]["max_memory"], count, text)
        for command, (_, _, _, options) in NUMBERS.items():
            for option in options:
                for text in ("-1", "-1G", "G", "15X", "1.5", "1.5G", "1GG", "many", "1e3", "16E", "nan", "inf", "", "0x10", "18446744073709551616"):
                    with self.subTest(command=command, option=option, text=text):
                        result = self.typed(command, option, text)
                        self.assertEqual(result.returncode, USAGE, result.stderr)
                        if text:
                            self.assertIn(f"takes bytes such as 8G, not '{text}'", result.stderr)


class FileNames(ToolTest):
    NAMES = ("a\nb.tns", "red\x1b[31m.tns", "tab\there.tns", "back\\slash.tns", "quote'd file.tns", "\x7f.tns",
             "d\u00e9j\u00e0.tns", "\u009b31m.tns")

    def test_names_stay_on_one_line(self):
        for name in self.NAMES:
            with self.subTest(name=name):
                self.write(name, "1 1 1 1.5\n2 2 2 -1\n")
                report = self.folder / "report.json"
                for arguments in (("stats", name), ("convert", name, "copy " + name, "--force"), ("check", name),
                                  ("cpd", name, "-r", 1, "-o", name + ".ktns"), ("compare", name, name),
                                  ("tucker", name, "-r", "1,1,1", "-o", name + ".npz", "-v")):
                    result = self.run_tool(*arguments, "--report", report)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assert_clean(result.stdout + result.stderr)
                    content = json.loads(report.read_text())
                    self.assert_clean(content["command"])
                    if "input" in content:
                        self.assertEqual(content["input"]["path"], name)
                words = subprocess.run(["bash", "-c", "printf '%s\\0' " + content["command"]], capture_output=True, text=True)
                self.assertEqual(words.stdout.split("\0")[2], name)
                self.assertEqual(content["result"]["files"], [name + ".npz"])
                missing = self.run_tool("stats", "no " + name)
                self.assertRegex(missing.stderr, r"\Apolyad: [^\n]+: no such file\n\Z")
                self.assert_clean(missing.stderr)
                ending = self.run_tool("convert", name, name + ".zzz")
                self.assertRegex(ending.stderr, r"\Apolyad: [^\n]+\n\Z")
                self.assert_clean(ending.stderr)
                folder = self.run_tool("convert", name, "no folder/" + name)
                self.assertEqual(folder.returncode, 6)
                self.assert_clean(folder.stderr)
                bad = self.write("bad " + name, "1 1 1 x\n")
                self.assertRegex(self.run_tool("stats", bad.name).stderr, r"\Apolyad: [^\n]+:1:7: [^\n]+\n\Z")

    def assert_clean(self, text):
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        for line in text.splitlines():
            self.assertNotRegex(line, r"^b\.tns")


class Notes(ToolTest):
    def setUp(self):
        super().setUp()
        self.tensor = self.write("t.tns", tns(random_tensor((6, 5, 4), 60)))
        self.runs = {"cpd": ("-r", 2, "-i", 3, "--tol", 0), "tucker": ("-r", "2,2,2", "-i", 3, "--tol", 0),
                     "fast-tucker": ("-r", 2, "-j", 2, "--reg", 1, "-i", 3)}

    def test_a_run_that_keeps_nothing_says_so(self):
        for command, options in self.runs.items():
            with self.subTest(command):
                lost = self.run_tool(command, self.tensor, *options)
                self.assertRegex(lost.stderr, r"\Apolyad: without -o[^\n]* keeps neither its model nor a report\n")
                kept = [("-o", "m.npz"), ("--report", "r.json")] + [("--checkpoint", "c")] * (command != "tucker")
                for output in kept:
                    self.assertNotIn("keeps", self.run_tool(command, self.tensor, *options, *output).stderr)

    def test_quiet(self):
        for command, options in self.runs.items():
            with self.subTest(command):
                loud = self.run_tool(command, self.tensor, *options)
                quiet = self.run_tool(command, self.tensor, *options, "--quiet")
                self.assertIn("iteration ", loud.stderr)
                self.assertEqual((quiet.returncode, quiet.stderr), (0, ""))
                # The results stay.
                first_words = [[line.split()[0] for line in result.stdout.splitlines()] for result in (loud, quiet)]
                self.assertEqual(*first_words)
        self.assertIn("no such file", self.run_tool("cpd", "no.tns", "-r", 2, "-q").stderr)
        self.assertEqual(self.run_tool("cpd", self.tensor, "-r", 2, "-q", "-v").returncode, USAGE)
        ones = self.write("ones.tns", "1 1 1 1\n2 2 2 1\n")
        self.assertIn("warning: the model is zero", self.succeed("cpd", ones, "-r", 1, "--ridge=1e6", "-q").stderr)

    def test_a_log_gets_few_lines(self):
        result = self.run_tool("cpd", self.tensor, "-r", 2, "-i", 2000, "--tol", 0, "--time-limit", 8, "-o", "m.npz")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertRegex(lines[0], r"\Aiteration 1 of 2000: ")
        self.assertRegex(lines[1], r"\Aiteration \d\d+ of 2000: ")
        once = self.run_tool("cpd", self.tensor, "-r", 2, "-i", 1, "-o", "m.npz").stderr.splitlines()
        self.assertEqual(len(once), 1, once)

    def test_a_terminal_gets_one_line(self):
        for columns in (40, 80, 300):
            for command, options in self.runs.items():
                with self.subTest(command, columns=columns):
                    here, there = pty.openpty()
                    fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
                    process = subprocess.Popen([TOOL, command, str(self.tensor), *map(str, options), "-o", "m.npz"],
                                               cwd=self.folder, stdout=subprocess.DEVNULL, stderr=there)
                    os.close(there)
                    text = b""
                    try:
                        while piece := os.read(here, 4096):
                            text += piece
                    except OSError:  # the other end is closed
                        pass
                    self.assertEqual(process.wait(), 0)
                    os.close(here)
                    # One line, begun anew each time, that fits the terminal.
                    self.assertEqual(text.count(b"\n"), 1, text)
                    drawn = [line.replace(b"\x1b[K", b"") for line in text.strip(b"\r\n").split(b"\r") if line]
                    self.assertRegex(drawn[-1], rb"\Aiteration 3 of 3")
                    self.assertLess(max(map(len, drawn)), columns)

    def test_a_finished_run_is_resumed(self):
        self.succeed("cpd", self.tensor, "-r", 2, "-i", 5, "--tol", 0, "--checkpoint", "c.bin")
        self.assertIn("after 5 iterations", self.succeed("cpd", self.tensor, "-r", 2, "-i", 5, "--tol", 0,
                                                         "--resume", "c.bin").stdout)
        self.assertIn("after 7 iterations", self.succeed("cpd", self.tensor, "-r", 2, "-i", 7, "--tol", 0,
                                                         "--resume", "c.bin").stdout)

    def test_every_driver_reports_iterations(self):
        # Random values have no interaction to learn.
        report = self.report_of("fast-tucker", self.tensor)
        self.assertFalse(report["result"]["choice"]["learns"])
        self.assertEqual(report["iterations"], [])
        for command, options in self.runs.items():
            self.assertEqual(len(self.report_of(command, self.tensor, *options)["iterations"]), 3)


class Values(ToolTest):
    def test_duplicates_of_which_the_last_counts(self):
        tensor = self.write("t.tns", "1 1 1 1\n2 2 2 3\n1 1 1 5\n1 1 1 7\n")
        for command in (("convert", tensor, "c.tns"), ("cpd", tensor, "-r", 1, "-o", "m.npz")):
            text = self.succeed(*command, "--duplicates", "last").stdout
            self.assertIn("2 nonzeros (2 duplicates: the last one was kept)", text)
            self.assertIn("2 nonzeros (2 duplicates summed)", self.succeed(*command, "--duplicates", "sum").stdout)
        self.succeed("convert", tensor, "c.tns", "--duplicates", "last")
        self.assertEqual((self.folder / "c.tns").read_text(), "1 1 1 7\n2 2 2 3\n")

    def test_sums_that_no_double_holds(self):
        tensor = self.write("t.tns", "1 1 1 1\n2 2 2 1e308\n1 1 1 2\n2 2 2 1e308\n")
        for command in (("convert", tensor, "c.tns", "--duplicates", "sum"), ("stats", tensor), ("cpd", tensor, "-r", 1),
                        ("check", tensor, "--fix", "c.tns")):
            result = self.run_tool(*command, "--report", "r.json")
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertFalse((self.folder / "c.tns").exists())
        self.assertIn("the sum of nonzero 4", self.run_tool("convert", tensor, "c.tns", "--duplicates", "sum").stderr)
        self.succeed("convert", tensor, "c.tns")

    def compare(self, first, second):
        a, b = self.write("a.tns", first), self.write("b.tns", second)
        result = self.run_tool("compare", a, b, "--report", "r.json")
        return result.returncode, result.stdout, json.loads((self.folder / "r.json").read_text())["result"]

    def test_nan_against_a_number(self):
        status, text, facts = self.compare("1 1 nan\n2 2 1\n", "1 1 5\n2 2 1\n")
        self.assertEqual(status, DIFFERENT)
        self.assertRegex(text, r"different +1, 1 of them NaN in one tensor only\n")
        self.assertEqual((facts["different"], facts["nan_in_one"], facts["largest_difference"]), (1, 1, 0))
        status, text, facts = self.compare("1 1 nan\n2 2 1\n1 2 nan\n", "1 1 5\n2 2 1.5\n1 2 nan\n")
        self.assertRegex(text, r"different +2, 1 of them NaN in one tensor only, the others by at most 0\.5\n")
        self.assertEqual(self.compare("1 1 nan\n", "1 1 nan\n")[0], 0)
        self.assertRegex(self.compare("1 1 inf\n", "1 1 5\n")[1], r"different +1, by at most inf\n")

    def test_norms_near_the_ends_of_the_doubles(self):
        generator = random.Random(2)
        values = [generator.uniform(-2, 2) for _ in range(50)]
        norm = math.sqrt(math.fsum(value * value for value in values))
        for power in (0, 500, 511, 700, 1015, -300, -500, -538, -700, -1000):
            scaled = [math.ldexp(value, power) for value in values]
            tensor = self.write("t.tns", "".join(f"{k + 1} 1 {value!r}\n" for k, value in enumerate(scaled)))
            found = self.report_of("stats", tensor)["result"]["norm"]
            self.assertAlmostEqual(math.ldexp(found, -power) / norm, 1, delta=1e-12, msg=power)
        tiny = self.write("t.tns", "1 1 3e-324\n2 1 -1e-323\n")
        self.assertEqual(self.report_of("stats", tiny)["result"]["norm"], 1e-323)
        zero = self.write("t.tns", "1 1 0\n")
        self.assertEqual(self.report_of("stats", zero)["result"]["norm"], 0)

    def test_values_that_floats_do_not_hold(self):
        for value in ("1e200", "-3.5e38", "1e-60"):
            tensor = self.write("t.tns", f"1 1 1 1\n2 2 2 {value}\n2 1 2 3\n")
            for arguments in (("convert", tensor, "c.pten"), ("convert", tensor, "c.npz"), ("cpd", tensor, "-r", 1),
                              ("tucker", tensor, "-r", "1,1,1")):
                result = self.run_tool(*arguments, "--precision", "f32", "--report", "r.json")
                self.assertEqual(result.returncode, USAGE, result.stderr)
                self.assertIn("nonzero 2 has the value " + str(float(value)), result.stderr)
                self.assertIn("does not fit a float", result.stderr)
            self.assertFalse((self.folder / "c.pten").exists())

    def test_ids_that_leave_no_memory(self):
        tensor = self.write("t.tns", "1 104000100187 49.26\n2 104000100150 17.9\n")
        for command in (("cpd", "-r", 1), ("tucker", "-r", "1,1")):  # these store only the rows that occur
            self.succeed(command[0], tensor, *command[1:], "-o", "m.npz")
        result = self.run_tool("fast-tucker", tensor, "-o", "n.npz")
        self.assertEqual(result.returncode, MEMORY, result.stderr)
        self.assertRegex(result.stderr, r"\Apolyad: [^\n]+ needs \d+ bytes: [^\n]+; mode 1 has 104000100187 rows for 2 "
                                        r"nonzeros: number its ids anew, without gaps\n\Z")


if __name__ == "__main__":
    unittest.main()
