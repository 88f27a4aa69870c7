# SPDX-License-Identifier: BSD-3-Clause
"""Modes of which most rows are empty: cpd and tucker store the rows that occur, and all commands look rows up."""

import ast
import os
import random
import struct
import subprocess
import sys
import unittest
import zipfile

from tool import TOOL, ToolTest, tns

MIB = 1 << 20
# Sanitizers keep what was freed, and take their time; a device's driver takes memory of its own.
IS_MEASURED = "POLYAD_UNMEASURED" not in os.environ

# Runs a command, and prints the seconds and kilobytes that it took. It is a process of its own, since a child's peak
# begins with the memory of the process that starts it.
MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
sys.exit(status)
"""


def arrays_of(path):
    """The arrays of an npz: name -> (shape, numbers)."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            (length,) = struct.unpack_from("<H", content, 8)
            header = ast.literal_eval(content[10:10 + length].decode())
            letter = {"<f8": "d", "<f4": "f", "<i8": "q", "<u8": "Q"}[header["descr"]]
            numbers = content[10 + length:]
            count = len(numbers) // struct.calcsize(letter)
            arrays[name.removesuffix(".npy")] = (header["shape"], struct.unpack(f"<{count}{letter}", numbers))
    return arrays


def crc32c(data):
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Compact(ToolTest):

    def scattered(self, name, dims, nnz, seed=1):
        """A tensor with a nonzero at the end of each mode. Returns its coordinates, from 0."""
        generator = random.Random(seed)
        tensor = {tuple(d - 1 for d in dims): 1.0}
        while len(tensor) < nnz:
            tensor[tuple(generator.randrange(d) for d in dims)] = generator.uniform(0.5, 1)
        self.write(name, tns(tensor))
        return tensor

    def measured(self, *arguments):
        """Seconds and the most memory of a run that succeeds. All threads' seconds of computing: other tests may hold
        the cores, and a free machine needs less time."""
        result = subprocess.run([sys.executable, "-c", MEASURE, TOOL, *map(str, arguments)],
                                cwd=self.folder,
                                env={**os.environ, "OMP_WAIT_POLICY": "passive"},
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                text=True,
                                timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        seconds, kilobytes = result.stdout.split()
        return float(seconds), int(kilobytes) * 1024

    def test_time_and_memory(self):
        self.scattered("x.tns", (10**9, 10**9, 2), 1000)
        self.write("three.tns", "1 1 1 1\n50 2 1 2\n100000000 1 2 3\n")
        for arguments in (("x.tns", "-r", 16), ("three.tns", "-r", 16), ("x.tns", "-r", 16, "--init", "nvecs"),
                          ("x.tns", "-r", 16, "--restarts", 3)):
            with self.subTest(arguments):
                seconds, peak = self.measured("cpd", *arguments, "-o", "m.npz")
                if IS_MEASURED:
                    self.assertLess(peak, 200 * 10**6)
                    self.assertLess(seconds, 0.5 if len(arguments) == 3 else 5)
        seconds, peak = self.measured("tucker", "x.tns", "-r", "4,4,2", "-i", 5, "-o", "t.npz")
        if IS_MEASURED:
            self.assertLess(peak, 200 * 10**6)
        for command in ("stats", "check"):
            self.measured(command, "x.tns")

    def test_the_rows_of_a_model(self):
        tensor = self.scattered("x.tns", (2 * 10**6, 3, 10**12, 999_999), 300)
        report = self.report_of("cpd", "x.tns", "-r", 3, "-i", 20, "-o", "m.npz")
        lists = [sorted({at[n] for at in tensor}) for n in range(4)]
        self.assertEqual(report["input"]["dims"], [2 * 10**6, 3, 10**12, 999_999])
        self.assertEqual(report["input"]["stored_rows"], [len(lists[0]), 3, len(lists[2]), 999_999])
        self.assertEqual(report["input"]["empty_slices"],
                         [2 * 10**6 - len(lists[0]), 0, 10**12 - len(lists[2]), 999_999 - len(lists[3])])
        arrays = arrays_of(self.folder / "m.npz")
        self.assertEqual(sorted(arrays), ["extents", "factor_0", "factor_1", "factor_2", "factor_3", "index_base", "rows_0", "rows_2", "weights"])
        self.assertEqual(list(arrays["rows_0"][1]), lists[0])
        self.assertEqual(list(arrays["rows_2"][1]), lists[2])
        self.assertEqual(arrays["extents"][1], (2 * 10**6, 3, 10**12, 999_999))
        self.assertEqual(arrays["factor_3"][0], (999_999, 3))
        # The fit of the file, whose rows compare looks up, is that of the run.
        found = self.report_of("compare", "m.npz", "x.tns")["result"]["fit"]
        self.assertAlmostEqual(found, report["result"]["fit"], delta=1e-12)
        self.assertIn("300 of 2000000 in mode 0" if len(lists[0]) == 300 else f"{len(lists[0])} of 2000000 in mode 0",
                      self.succeed("cpd", "x.tns", "-r", 3, "-i", 1).stdout)

    def test_a_short_or_full_mode_stores_all_rows(self):
        self.scattered("x.tns", (999_999, 2), 10)
        report = self.report_of("cpd", "x.tns", "-r", 1, "-i", 2, "-o", "m.npz")
        self.assertEqual(report["input"]["stored_rows"], [])
        self.assertEqual(sorted(arrays_of(self.folder / "m.npz")), ["factor_0", "factor_1", "index_base", "weights"])

    def test_start_values_are_those_of_the_original_rows(self):
        # Without iterations the model is the start. Rows 0 and 3 of a short mode have the same numbers as those of a
        # long one; its columns are normalised over other rows, so ratios are compared.
        self.write("long.tns", "1 1 1\n4 2 2\n3000000 1 1\n")
        self.write("short.tns", "1 1 1\n4 2 2\n")
        for name in ("long", "short"):
            self.succeed("cpd", f"{name}.tns", "-r", 2, "-i", 0, "--seed", 5, "-o", f"{name}.npz")
        long = arrays_of(self.folder / "long.npz")
        short = arrays_of(self.folder / "short.npz")
        self.assertEqual(long["rows_0"][1], (0, 3, 2999999))
        ratio = [abs(long["factor_0"][1][2 + r] / long["factor_0"][1][r]) for r in range(2)]
        expected = [abs(short["factor_0"][1][6 + r] / short["factor_0"][1][r]) for r in range(2)]
        for x, y in zip(sorted(ratio), sorted(expected)):
            self.assertAlmostEqual(x, y, delta=1e-12)

    def test_start_from_a_model(self):
        self.scattered("x.tns", (10**7, 4, 5), 200)
        self.succeed("cpd", "x.tns", "-r", 2, "-i", 5, "--tol", 0, "-o", "m.npz")
        whole = self.report_of("cpd", "x.tns", "-r", 2, "-i", 10, "--tol", 0)["result"]["fit"]
        rest = self.report_of("cpd", "x.tns", "-r", 2, "-i", 5, "--tol", 0, "--init", "m.npz")["result"]["fit"]
        self.assertAlmostEqual(whole, rest, delta=1e-9)
        # A tensor with other rows, and one that the rule leaves as it is.
        self.scattered("y.tns", (10**7, 4, 5), 200, seed=2)
        self.succeed("cpd", "y.tns", "-r", 2, "-i", 2, "--init", "m.npz", "-o", "n.ktns")
        score = self.report_of("compare", "m.npz", "n.ktns", "--at-least", 0)["result"]["factor_match_score"]
        self.assertTrue(0 <= score <= 1)
        self.fail_with(3, "cpd", "x.tns", "-r", 3, "--init", "m.npz", says="rank 2, not 3")

    def test_resume(self):
        self.scattered("x.tns", (10**6, 4, 5), 200)
        cpd = ("cpd", "x.tns", "-r", 1, "--tol", 0, "--deterministic")
        self.succeed(*cpd, "-i", 6, "-o", "whole.npz", "--checkpoint", "whole.ckpt")
        self.succeed(*cpd, "-i", 3, "--checkpoint", "part.ckpt")
        self.succeed(*cpd, "-i", 6, "--resume", "part.ckpt", "-o", "rest.npz", "--checkpoint", "rest.ckpt")
        self.assertEqual((self.folder / "rest.npz").read_bytes(), (self.folder / "whole.npz").read_bytes())
        self.assertEqual((self.folder / "rest.ckpt").read_bytes(), (self.folder / "whole.ckpt").read_bytes())
        # An earlier version stored all rows: those that do not occur are zero.
        self.write("older.ckpt", older_checkpoint((self.folder / "part.ckpt").read_bytes()))
        self.succeed(*cpd, "-i", 6, "--resume", "older.ckpt", "-o", "older.npz")
        self.assertEqual((self.folder / "older.npz").read_bytes(), (self.folder / "whole.npz").read_bytes())
        # Other rows: another tensor.
        self.scattered("y.tns", (10**6, 4, 5), 200, seed=2)
        self.fail_with(3, "cpd", "y.tns", *cpd[2:], "--resume", "part.ckpt", says="is a checkpoint of another tensor")

    def test_products(self):
        tensor = self.scattered("x.tns", (10**9, 3, 10**8), 50)
        self.succeed("cpd", "x.tns", "-r", 2, "-i", 3, "-o", "m.npz")
        other = dict(list(tensor.items())[:25]) | {(17, 1, 18): 4.0, (999_999_999, 2, 5): 2.0}
        self.write("y.tns", tns({(10**9 - 1, 2, 10**8 - 1): 1e-9} | other))
        model = arrays_of(self.folder / "m.npz")
        rows = [{row: k for k, row in enumerate(model[f"rows_{n}"][1])} if f"rows_{n}" in model else None for n in range(3)]

        def entry(n, i, r):
            k = i if rows[n] is None else rows[n].get(i)
            return 0.0 if k is None else model[f"factor_{n}"][1][2 * k + r]

        expected = [[0.0, 0.0] for _ in range(3)]
        for (i, j, k), value in other.items():
            for r in range(2):
                expected[j][r] += value * entry(0, i, r) * entry(2, k, r)
        self.measured("mttkrp", "y.tns", "--mode", 1, "--factors", "m.npz", "-o", "v.npz")
        found = arrays_of(self.folder / "v.npz")["mttkrp"]
        self.assertEqual(found[0], (3, 2))
        for x, y in zip(found[1], sum(expected, [])):
            self.assertAlmostEqual(x, y, delta=1e-7)
        self.measured("ttmc", "y.tns", "--mode", 1, "--matrices", "m.npz", "-o", "w.npz")
        found = arrays_of(self.folder / "w.npz")["matrix"]
        self.assertEqual(found[0], (3, 4))
        for j in range(3):
            for r in range(2):
                self.assertAlmostEqual(found[1][4 * j + 3 * r], expected[j][r], delta=1e-7)  # the diagonal
        self.write("z.tns", "1 1 1 1\n")
        self.fail_with(3, "ttmc", "z.tns", "--mode", 1, "--matrices", "m.npz", "-o", "n.npz", says="but the tensor is 1 x 1 x 1")

    def test_tucker(self):
        self.scattered("x.tns", (10**8, 6, 10**7), 40)
        report = self.report_of("tucker", "x.tns", "-r", "3,2,3", "-i", 10, "-o", "t.npz")
        arrays = arrays_of(self.folder / "t.npz")
        self.assertEqual(arrays["factor_0"][0], (len(arrays["rows_0"][1]), 3))
        self.assertEqual(arrays["extents"][1], (10**8, 6, 10**7))
        fit = self.report_of("compare", "t.npz", "x.tns")["result"]["fit"]
        self.assertAlmostEqual(fit, report["result"]["fit"], delta=1e-9)
        self.write("three.tns", "1 1 1 1\n50 2 1 2\n100000000 1 2 3\n")
        self.fail_with(2, "tucker", "three.tns", "-r", "4,2,2", "-o", "n.npz", says="only 3 of its 100000000 rows occur")

    def test_estimate_and_tune(self):
        self.scattered("x.tns", (10**9, 10**9, 2), 1000)
        for command in (("estimate", "x.tns"), ("tune", "x.tns", "--format", "sorted")):
            report = self.report_of(*command, "-r", 16)
            for format in report["result"]["candidates"]:
                self.assertLess(format["need_bytes"], 100 * MIB, format)


def older_checkpoint(content):
    """A checkpoint of version 3 and rank 1 as version 2 had it, with all rows of the factors."""
    at = 8

    def u64():
        nonlocal at
        at += 8
        return struct.unpack_from("<Q", content, at - 8)[0]

    assert u64() == 3
    for _ in range(2):
        length = u64()
        at += length
    seed_and_rank = (u64(), u64())
    assert seed_and_rank[1] == 1
    extents = [u64() for _ in range(u64())]
    at += 5 * 8  # nnz, norm, iteration, fit, fallbacks
    begin, lists = at, []
    for extent in extents:
        count = u64()
        lists.append(range(extent) if count == 2**64 - 1 else [u64() for _ in range(count)])
    result = bytearray(content[:8] + struct.pack("<Q", 2) + content[16:begin])
    for extent, rows in zip(extents, lists):
        factor = bytearray(8 * extent)
        for row in rows:
            factor[8 * row:8 * row + 8] = content[at:at + 8]
            at += 8
        result += factor
    result += content[at:-4]
    return bytes(result + struct.pack("<I", crc32c(result)))


if __name__ == "__main__":
    unittest.main()
