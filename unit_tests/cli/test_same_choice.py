# SPDX-License-Identifier: BSD-3-Clause
"""any_format and the tool's --format auto choose the same format, for the same reason, on every tensor of data/."""
import os
import pathlib
import subprocess
import unittest

from tool import ToolTest

LIBRARY = os.environ["POLYAD_CHOSEN_FORMAT"]
DATA = pathlib.Path(__file__).resolve().parents[2] / "data"


class SameChoice(ToolTest):
    def test_every_tensor_of_data(self):
        tensors = sorted(DATA.glob("*.tns*"))
        self.assertGreaterEqual(len(tensors), 3)
        # No measured ceilings: the machine's facts are the usual ones for both.
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")
        compared = 0
        for tensor in tensors:
            for rank, iterations in ((4, 1), (16, 5), (64, 3)):
                with self.subTest(tensor=tensor.name, rank=rank, iterations=iterations):
                    library = subprocess.run([LIBRARY, tensor, str(rank), str(iterations)], capture_output=True,
                                             text=True, check=True).stdout
                    chosen = self.report_of("cpd", tensor, "-r", rank, "-i", iterations, "--tol", 0)["format"]
                    if any(c["measured"] for c in chosen["candidates"]):
                        continue  # the tool tried the formats, which any_format does when it is asked to
                    self.assertEqual(f"{chosen['name']} because {chosen['chosen_because']}\n", library)
                    compared += 1
        self.assertGreaterEqual(compared, 6)

    def test_a_host_is_not_measured(self):
        cache = self.folder / "cache"
        os.environ["XDG_CACHE_HOME"] = str(cache)
        report = self.report_of("estimate", sorted(DATA.glob("*.tns*"))[0], "-r", 16)
        measured = [path.name for path in cache.glob("polyad/ceilings-*")]
        self.assertEqual(bool(measured), report["backend"]["name"] == "CUDA", measured)


if __name__ == "__main__":
    unittest.main()
