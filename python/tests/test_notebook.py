# SPDX-License-Identifier: BSD-3-Clause
"""A notebook from a file to pictures, executed."""

import pytest
from conftest import data


def test_uber_pickups_from_file_to_pictures(monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    preprocessors = pytest.importorskip("nbconvert.preprocessors")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    cells = [
        "import polyad",
        f"X = polyad.read({str(data / 'uber-apr14.tns.xz')!r})\nX",
        "model = polyad.cp_als(X, rank=4, progress=False)\nmodel",
        "model.plot(names=['day', 'hour', 'latitude', 'longitude'])",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    preprocessors.ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(notebook)
    text = notebook.cells[1].outputs[0]["data"]["text/plain"]
    assert text == "SparseTensor(30 x 24 x 662 x 1088, 415898 nonzeros, float64)"
    picture = notebook.cells[3].outputs[0]["data"]
    assert len(picture.get("image/png", "")) > 5000
