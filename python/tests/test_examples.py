# SPDX-License-Identifier: BSD-3-Clause
"""Every script of python/examples runs, and prints and draws what the site's gallery shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))
# What each must print, and the pictures that it must write.
EXPECTED = {
    "choose_rank": (r"rank 4: best fits 1\.0000 and 1\.0000, their factor match 1\.000", 0),
    "components": (r"rank 4, fit 0\.1163", 1),
    "delays": (r"RMSE on hidden entries: 37\.\d minutes, by biases alone 41\.\d", 1),
    "nonnegative_components": (r"free fit 0\.137\d(?s:.*)nonnegative fit 0\.13\d+[^\n]*\[0\.0, 0\.0, 0\.0, 0\.0\]", 2),
    "own_method": (r"sweep 60: fit 0\.9\d+, smallest entry", 0),
    "pandas_table": (r"fit 1\.000000[^\n]*\n(?s:.*)apple +0\.97\npear +0\.24", 0),
}


def test_all_are_known():
    assert {path.stem for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    if path.stem in ("components", "delays", "nonnegative_components"):
        pytest.importorskip("matplotlib")
    if path.stem == "pandas_table":
        pytest.importorskip("pandas")
    (tmp_path / "data").symlink_to(ROOT / "data")
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"MPLBACKEND": "Agg"}, timeout=300)
    assert done.returncode == 0, done.stderr
    text, pictures = EXPECTED[path.stem]
    assert re.search(text, done.stdout), done.stdout
    written = list(tmp_path.glob("*.png"))
    assert len(written) == pictures
    assert all(picture.stat().st_size > 2000 for picture in written)
