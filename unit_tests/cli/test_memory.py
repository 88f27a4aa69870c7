# SPDX-License-Identifier: BSD-3-Clause
"""A machine that gives less memory than it has: exit 4 with one message, and nobody is killed."""
import os
import pathlib
import resource
import subprocess
import unittest

from tool import TOOL, ToolTest


class Memory(ToolTest):

    def setUp(self):
        super().setUp()
        limited = subprocess.run([TOOL, "info"],
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL,
                                 check=False,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30)))
        if limited.returncode != 0:
            self.skipTest("a sanitizer or a device's driver wants more addresses than a limit leaves")
        self.succeed("gen", "uniform", "-d", "300000,200,100", "-n", 1000000, "-o", "x.pten")
        self.succeed("convert", "x.pten", "x.tns")

    def factor(self, file, before):
        """The exit status of cpd in a process where `before` was called first; one message where it fails."""
        result = subprocess.run([TOOL, "cpd", file, "-r", "8", "-i", "1", "-t", "2", "-o", "model.npz"],
                                cwd=self.folder,
                                stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE,
                                text=True,
                                timeout=300,
                                preexec_fn=before)
        self.assertIn(result.returncode, (0, 4), result.stderr)
        if result.returncode == 4:
            self.assertRegex(result.stderr, r"\Apolyad: [^\n]+\n\Z")
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
        # A process may not be in a group of version 2 whose children have controllers: beside it, then.
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
