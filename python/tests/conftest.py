# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import polyad

data = Path(__file__).resolve().parents[2] / "data"

computes_on_device = os.environ.get("POLYAD_BACKEND", next(iter(polyad.backends()), "")) == "cuda"
on_host_only = pytest.mark.skipif(computes_on_device, reason="a device copies host arrays")


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def in_process():
    """Runs a program in an interpreter of its own and returns what it printed."""

    def run(program, *, status=0, environment=None):
        ended = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, **(environment or {})},
        )
        assert ended.returncode == status, ended.stdout + ended.stderr
        return ended.stdout

    return run


def random_tensor(shape, nnz, seed, dtype=np.float64):
    """Distinct places, positive values."""
    rng = np.random.default_rng(seed)
    places = rng.choice(int(np.prod(shape)), size=nnz, replace=False)
    coords = np.stack(np.unravel_index(places, shape), axis=1)
    return polyad.SparseTensor(coords, rng.uniform(0.5, 1.5, nnz).astype(dtype), shape)
