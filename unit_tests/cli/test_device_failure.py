# SPDX-License-Identifier: BSD-3-Clause
"""A device that fails in mid-run: exit status 7, and the checkpoint is kept."""
import os
import unittest

from tool import ToolTest


class DeviceFailure(ToolTest):
    def test_checkpoint_is_kept(self):
        self.succeed("gen", "uniform", "-d", "300,200,100", "-n", "100000", "-o", "x.pten")
        fit = ["cpd", "x.pten", "-r", 8, "--checkpoint", "c.ckpt", "--checkpoint-every", 5]
        failing = {**os.environ, "LD_PRELOAD": os.environ["POLYAD_FAILING_DEVICE"],
                   "POLYAD_FAIL_AFTER": str(self.folder / "c.ckpt")}
        result = self.run_tool(*fit, "-i", 100000000, "--tol", 0, "-o", "model.npz", env=failing)
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertRegex(result.stderr, r"polyad: [^\n]*\n\Z")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["c.ckpt", "x.pten"])
        self.succeed(*fit, "--resume", "c.ckpt", "-i", 100000000, "--tol", 0, "--time-limit", 1, "-o", "model.npz")


if __name__ == "__main__":
    unittest.main()
