# SPDX-License-Identifier: BSD-3-Clause
"""What mypy says about the package, and about programs that use it."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

project = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def mypy(cache, *arguments):
    """The exit status and the text of `mypy --strict`, which takes the package's sources."""
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cache,
        env={**os.environ, "MYPYPATH": str(project / "python")},
    )
    return ended.returncode, ended.stdout + ended.stderr


def test_the_package_and_the_examples_of_the_readme(cache, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", (project / "README.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    files = []
    for k, block in enumerate(blocks):
        files.append(tmp_path / f"readme_{k}.py")
        files[-1].write_text(block, encoding="utf-8")
    status, text = mypy(cache, *(project / "python" / "polyad").glob("*.py"), *files)
    assert status == 0, text


def test_the_types_that_users_get(cache, tmp_path):
    right = """
    import polyad
    X = polyad.read("x.tns")
    fits: list[float] = [polyad.cp_als(X, 3, seed=seed).fit for seed in range(3)]
    best = max((polyad.cp_als(X, 3, seed=seed) for seed in range(3)), key=lambda model: model.fit)
    print(best.fit - 1.0, polyad.tucker(X, 2).fit + 1)
    recommender: polyad.TensorRecommender = polyad.TensorRecommender(clip=(1, 5)).fit([[0, 0]], [3.0])
    try:
        recommender.predict([[0, 0]]).mean()
    except polyad.NotFittedError:
        pass
    """
    wrong = """
    import polyad
    X = polyad.read(3)
    model = polyad.cp_als(X, rank="three")
    model.fit.upper()
    polyad.cp_als(X, n_iter_max=3)
    polyad.CP(n_components=3)
    polyad.nothing_of_this_name
    """
    for name, program in (("right", right), ("wrong", wrong)):
        (tmp_path / f"{name}.py").write_text(re.sub(r"^    ", "", program, flags=re.MULTILINE), encoding="utf-8")
    status, text = mypy(cache, tmp_path / "right.py")
    assert status == 0, text
    status, text = mypy(cache, tmp_path / "wrong.py")
    lines = {int(number) for number in re.findall(r"wrong\.py:(\d+): error", text)}
    assert status == 1 and lines == {3, 4, 5, 6, 7, 8}, text
