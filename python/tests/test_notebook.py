# SPDX-License-Identifier: BSD-3-Clause
"""The notebooks of python/examples, executed."""

import json

import pytest
from conftest import data

ROOT = data.parent
NOTEBOOKS = sorted((ROOT / "python" / "examples").glob("*.ipynb"))
# What the outputs of each must have, and its number of pictures.
EXPECTED = {
    "uber_pickups": (["SparseTensor(30 x 24 x 662 x 1088, 415898 nonzeros, float64)", "rank 4, fit 0.1163",
                      "component 1: weight 310, hour 17"], 2),
    "recommend_films": (["error on hidden ratings: 0.6", "thriller"], 2),
}


def test_all_are_known():
    assert {path.stem for path in NOTEBOOKS} == set(EXPECTED)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_not_stored(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"] == [] and cell["execution_count"] is None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(path, as_version=4)
    executor = preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3")
    executor.preprocess(notebook, {"metadata": {"path": str(ROOT)}})
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in outputs)
    expected, pictures = EXPECTED[path.stem]
    for part in expected:
        assert part in text
    # The names of the recommended films begin with the kind that user 42 likes best.
    if path.stem == "recommend_films":
        films = text.split("user 42 likes")[1].splitlines()[1:6]
        assert sum(film.startswith("thriller") for film in films) >= 4
    drawn = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert len(drawn) == pictures
    assert all(len(picture) > 5000 for picture in drawn)
