# SPDX-License-Identifier: BSD-3-Clause
"""A machine that gives less memory than it has, and --max-memory: exit 4 with one message, and nobody is killed."""
import gzip
import lzma
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import time
import unittest
import zipfile
import zlib

from tool import TOOL, ToolTest

MIB = 1 << 20


class Memory(ToolTest):

    def setUp(self):
        super().setUp()
        limited = subprocess.run([TOOL, "info"],
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL,
                                 check=False,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
        if limited.returncode != 0:
            self.skipTest("a sanitizer or a device's driver needs more addresses than a limit leaves")
        self.succeed("gen", "uniform", "-d", "300000,200,100", "-n", 1000000, "-o", "x.pten")
        self.succeed("convert", "x.pten", "x.tns")

    def factor(self, file, before, threads=2, environment=None):
        """The exit status of cpd in a process where `before` was called first; one message where it fails."""
        result = subprocess.run([TOOL, "cpd", file, "-r", "8", "-i", "1", "-t", str(threads), "-o", "model.npz"],
                                cwd=self.folder,
                                env={**os.environ, **(environment or {})},
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                text=True,
                                timeout=300,
                                preexec_fn=before)
        self.assertIn(result.returncode, (0, 4), result.stderr)
        if result.returncode == 4:
            # On a busy machine an iteration may take long enough to be reported before the memory runs out.
            self.assertRegex(result.stderr, r"\A(iteration [^\n]+\n)*polyad: [^\n]+\n\Z")
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["x.pten", "x.tns"])
        else:
            (self.folder / "model.npz").unlink()
        return result.returncode

    def test_resource_limits(self):
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            for file in ("x.pten", "x.tns"):
                with self.subTest(kind=kind, file=file):
                    statuses = [
                        self.factor(file, lambda mib=mib: resource.setrlimit(kind, (mib << 20, mib << 20)))
                        for mib in (48, 64, 96, 128, 4096)
                    ]
                    self.assertEqual(statuses[0], 4)
                    self.assertEqual(statuses[-1], 0)

    def test_refused_at_the_start(self):
        # What begins to iterate ends, and what cannot end is refused before anything is built.
        for name in ("alto", "sorted", "blco", "b-csf"):
            statuses = []
            for mib in range(48, 260, 28):
                result = subprocess.run([TOOL, "cpd", "x.pten", "-r", "8", "-i", "2", "-t", "2", "--format", name, "-o",
                                         "model.npz", "--checkpoint", "state.ckpt"],
                                        cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        timeout=300, preexec_fn=lambda mib=mib: resource.setrlimit(
                                            resource.RLIMIT_DATA, (mib << 20, mib << 20)))
                self.assertIn(result.returncode, (0, 4), result.stderr)
                if result.returncode == 4:
                    self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z", f"{name} within {mib} MiB")
                statuses.append(result.returncode)
            self.assertEqual(statuses, sorted(statuses, reverse=True), name)  # more memory never does less
            self.assertEqual(statuses[-1], 0)

    def test_tucker_and_completion_are_refused_at_the_start(self):
        runs = {
            "tucker": (("--ranks", "6,6,6", "-i", 2, "-o", "model.npz"), "a Tucker decomposition with a core of 6 x 6 x 6"),
            "fast-tucker": (("-r", 8, "--shrink", 5, "-i", 2, "-o", "model.npz", "--checkpoint", "state.ckpt"), "the completion"),
        }
        for command, (arguments, what) in runs.items():
            statuses, says = [], []
            for mib in range(64, 320, 24):
                result = subprocess.run([TOOL, command, "x.pten", "-t", "2", *map(str, arguments)],
                                        cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        timeout=300, preexec_fn=lambda mib=mib: resource.setrlimit(
                                            resource.RLIMIT_DATA, (mib << 20, mib << 20)))
                self.assertIn(result.returncode, (0, 4), result.stderr)
                if result.returncode == 4:  # no iteration before
                    self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z", f"{command} within {mib} MiB")
                    says.append(result.stderr)
                statuses.append(result.returncode)
            self.assertEqual(statuses, sorted(statuses, reverse=True), command)  # more memory never does less
            self.assertEqual(statuses[-1], 0)
            self.assertTrue(any(what in text and "most of it are" in text for text in says), says)

    def test_stacks_of_threads(self):
        for kind, threads, mib in ((resource.RLIMIT_DATA, 2, range(20, 44, 2)), (resource.RLIMIT_AS, 8, range(64, 260, 12))):
            statuses = [
                self.factor("x.pten", lambda limit=limit: resource.setrlimit(kind, (limit << 20, limit << 20)), threads)
                for limit in mib
            ]
            self.assertEqual(statuses[0], 4)

    def test_fewer_threads_than_cores(self):
        # OpenMP's variable makes any machine one of 16 cores. OpenMP ends the process with status 1 if it cannot start
        # a thread.
        for mib in (40, 48, 64, 96, 128):
            self.factor("x.pten", lambda mib=mib: resource.setrlimit(resource.RLIMIT_DATA, (mib << 20, mib << 20)),
                        environment={"OMP_NUM_THREADS": "16"})

    def test_control_group(self):
        group, limit = make_control_group()
        if group is None:
            self.skipTest("no control group of memory can be made here")
        self.addCleanup(group.rmdir)
        statuses = []
        for mib in (32, 48, 64, 96, 128, 192, 1024):
            (group / limit).write_text(str(mib << 20))
            for file in ("x.pten", "x.tns"):
                statuses.append(self.factor(file, lambda: (group / "cgroup.procs").write_text(str(os.getpid()))))
        self.assertEqual(statuses[:2], [4, 4])
        self.assertEqual(statuses[-2:], [0, 0])


class MaxMemory(ToolTest):
    """Files that unpack to gigabytes, and files that are large as they are."""
    LIMIT = 32 * MIB
    UNPACKED = 2048 * MIB

    def setUp(self):
        super().setUp()
        self.lines = b"1 2 3 4\n" * (16 * MIB // 8)
        self.times = self.UNPACKED // len(self.lines)

    def peak(self, *arguments):
        """Exit status, message, and the most memory that the process had."""
        # AddressSanitizer would keep 256 MiB that were freed.
        environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=4"}
        begin = time.monotonic()
        with subprocess.Popen([TOOL, *map(str, arguments)],
                              cwd=self.folder,
                              env=environment,
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE,
                              text=True) as process:
            message = process.stderr.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        self.assertLess(time.monotonic() - begin, 20)
        return process.returncode, message, usage.ru_maxrss * 1024

    def expect_refused(self, name, says, limit="32M"):
        for threads in (1, 2, 8):
            status, message, peak = self.peak("stats", name, "--max-memory", limit, "-t", threads)
            self.assertEqual(status, 4, message)
            self.assertRegex(message, r"\Apolyad: [^\n]+ needs \d+ bytes: [^\n]+\n\Z")
            self.assertRegex(message, says)
            self.assertLess(peak, 4 * self.LIMIT + 64 * MIB)

    def test_packed_text(self):
        self.write("x.tns.gz", gzip.compress(self.lines) * self.times)
        self.write("x.tns.xz", lzma.compress(self.lines) * self.times)
        names = ["x.tns.gz", "x.tns.xz"]
        if shutil.which("zstd"):
            packed = subprocess.run(["zstd", "-q", "-19"], input=self.lines, stdout=subprocess.PIPE, check=True).stdout
            self.write("x.tns.zst", packed * self.times)
            names.append("x.tns.zst")
        for name in names:
            with self.subTest(name):
                self.expect_refused(name, "a piece of the tensor|the text of")
                self.assertLess((self.folder / name).stat().st_size, 4 * MIB)

    def test_packed_text_without_nonzeros(self):
        for kind, line in (("comments", b"#\n"), ("blank", b"\n"), ("one_line", b"1")):
            with self.subTest(kind):
                text = line * (16 * MIB // len(line))
                self.write("x.tns.xz", lzma.compress(text, preset=0) * 16)
                self.expect_refused("x.tns.xz", "the text of x.tns.xz")
        # After a nonzero they take no memory, and after a fault they are not unpacked to the end.
        begin = lzma.compress(b"1 1 1 1\n")
        self.write("x.tns.xz", begin + lzma.compress(b"\n#\n" * 4 * MIB, preset=0) * 16)
        status, message, peak = self.peak("stats", "x.tns.xz", "--max-memory", "32M")
        self.assertEqual((status, message), (0, ""))
        self.assertLess(peak, 4 * self.LIMIT + 64 * MIB)
        self.write("x.tns.xz", lzma.compress(b"1 x 1 1\n") + lzma.compress(self.lines) * self.times)
        begin = time.monotonic()
        status, message, _ = self.peak("stats", "x.tns.xz", "--max-memory", "32M")
        self.assertEqual((status, message), (3, "polyad: x.tns.xz:1:3: index 2 is not a number: 'x'\n"))
        self.assertLess(time.monotonic() - begin, 3)

    def test_windows(self):
        # The header of an xz block, which says a dictionary of 1 GiB.
        packed = bytearray(lzma.compress(b"1 1 1 1\n"))
        end = 12 + (packed[12] + 1) * 4
        packed[packed.index(b"\x21\x01", 12) + 2] = 36
        packed[end - 4:end] = struct.pack("<I", zlib.crc32(packed[12:end - 4]))
        self.write("x.tns.xz", bytes(packed))
        self.expect_refused("x.tns.xz", "the window to unpack the xz data of x.tns.xz needs 1[0-9]{9} bytes")
        # Frames of zstd with a window of 1 GiB, and of 28 MiB, whose power of two is within the limit's.
        for descriptor, size, limit in ((0xA0, "[0-9]{8}", "32M"), (0x76, "29[0-9]{6}", "24M")):
            frame = struct.pack("<I", 0xFD2FB528) + bytes([0, descriptor]) + b"\x41\x00\x001 1 1 1\n"
            self.write("x.tns.zst", frame)
            self.expect_refused("x.tns.zst",
                                f"the window to unpack the zstd data of x.tns.zst needs {size} bytes",
                                limit=limit)
        self.succeed("stats", "x.tns.zst", "--max-memory", "32M")

    def test_archives(self):
        # A member that says it is as large as its packed bytes allow, and one that is.
        packed = zlib.compressobj(9, zlib.DEFLATED, -15)
        content = packed.compress(bytes(64 * MIB)) + packed.flush()
        with zipfile.ZipFile(self.folder / "small.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("shape.npy", bytes(64 * MIB))
        self.expect_refused("small.npz", "'shape.npy' of small.npz needs 67108864 bytes")
        self.assertLess((self.folder / "small.npz").stat().st_size, len(content) + 1000)

    def test_files(self):
        self.write("x.tns", self.lines * 4)
        self.succeed("convert", "x.tns", "x.pten")
        self.succeed("convert", "x.tns", "packed.pten", "--pack")
        self.succeed("convert", "x.tns", "x.npz")
        for name in ("x.tns", "x.pten"):
            self.expect_refused(name, f"the file {name} needs")
        self.expect_refused("x.npz", "'(coords|data).npy' of x.npz needs")
        self.expect_refused("packed.pten", "a tensor of 8388608 nonzeros needs 167772160 bytes")
        self.assertLess((self.folder / "packed.pten").stat().st_size, MIB)
        # Through a pipe, and with room.
        result = subprocess.run([TOOL, "stats", "-", "--max-memory", "32M"],
                                input=self.lines * 4,
                                capture_output=True,
                                check=False)
        self.assertEqual(result.returncode, 4, result.stderr)
        for name in ("x.tns", "packed.pten", "x.npz"):
            report = self.report_of("convert", name, "y.pten", "--max-memory", "600M")
            self.assertEqual(report["options"]["max_memory"], 600 * MIB)

    def test_every_command_has_it(self):
        self.write("x.tns", "".join(f"{i % 9 + 1} {i % 7 + 1} {i % 5 + 1} {i % 3 + 1}\n" for i in range(20000)))
        self.succeed("fast-tucker", "x.tns", "-r", 2, "--shrink", 5, "-i", 1, "-o", "model.npz")
        self.succeed("cpd", "x.tns", "-r", 2, "-i", 1, "-o", "cp.npz")
        self.succeed("tucker", "x.tns", "-r", "2,2,2", "-i", 1, "-o", "tucker.npz")
        commands = [("cpd", "x.tns", "-r", 2), ("stats", "x.tns"), ("convert", "x.tns", "y.pten"), ("check", "x.tns"),
                    ("compare", "x.tns", "x.tns"), ("compare", "cp.npz", "x.tns"), ("estimate", "x.tns", "-r", 2),
                    ("tune", "x.tns", "-r", 2, "--format", "sorted"), ("tucker", "x.tns", "-r", "2,2,2"),
                    ("mttkrp", "x.tns", "--mode", 0, "--factors", "cp.npz", "-o", "p.npz"),
                    ("ttmc", "x.tns", "--mode", 0, "--matrices", "tucker.npz", "-o", "p.npz"),
                    ("fast-tucker", "x.tns", "-r", 2, "--shrink", 5, "-i", 1),
                    ("predict", "model.npz", "x.tns", "-o", "y.tns"),
                    ("recommend", "model.npz", "--mode", 1, "--for", "1,*", "--seen", "x.tns")]
        for command in commands:
            with self.subTest(command[0]):
                result = self.run_tool(*command, "--max-memory", "100K")
                self.assertEqual(result.returncode, 4, result.stderr)
                self.assertIn("needs", result.stderr)
                self.assertIn(self.run_tool(*command, "--max-memory", "50M").returncode, (0, 8))
        for text in ("-5", "much", ""):
            self.fail_with(2, "stats", "x.tns", f"--max-memory={text}", output=None)


def make_control_group():
    """A group below this process' own, of version 1 or 2, and the name of its limit's file."""
    try:
        groups = dict(line.split(":", 2)[1:] for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines())
    except OSError:
        return None, ""
    for controller, folder, limit in (("memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                                      ("", "/sys/fs/cgroup", "memory.max")):
        if controller not in groups:
            continue
        # A process may not be in a group of version 2 whose children have controllers: use a sibling, then.
        for parent in (pathlib.Path(folder + groups[controller]), pathlib.Path(folder)):
            group = parent / f"polyad_test_{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            if os.access(group / limit, os.W_OK) and os.access(group / "cgroup.procs", os.W_OK):
                return group, limit
            group.rmdir()
    return None, ""


if __name__ == "__main__":
    unittest.main()
