# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints and restarts of cp_als, tucker and fast_tucker."""

import numpy as np
import polyad
import pytest


@pytest.fixture
def X():
    return polyad.generate("uniform", (30, 20, 10), nnz=900, seed=1)


def stop_after(count):
    return lambda step: step["iteration"] < count


def same_factors(a, b):
    return all(np.array_equal(mine, other) for mine, other in zip(a.factors, b.factors, strict=True))


def test_cp_continues_to_the_same_bits(X, tmp_path) -> None:  # type: ignore[no-untyped-def]
    options = {"max_iterations": 9, "tolerance": 0, "deterministic": True}
    whole = polyad.cp_als(X, 3, **options)
    cut = polyad.cp_als(X, 3, checkpoint=tmp_path / "c", callback=stop_after(4), **options)
    assert cut.reason == "stopped"
    rest = polyad.cp_als(X, 3, resume=str(tmp_path / "c"), **options)
    assert [step["iteration"] for step in rest.history] == [5, 6, 7, 8, 9]
    assert "after 9 iterations" in repr(rest)
    assert rest.fit == whole.fit
    assert same_factors(rest, whole)
    with pytest.raises(polyad.InputError, match="is a checkpoint of rank 3, not 4"):
        polyad.cp_als(X, 4, resume=tmp_path / "c", **options)
    with pytest.raises(polyad.WriteError):
        polyad.cp_als(X, 3, checkpoint=tmp_path / "nowhere" / "c")
    with pytest.raises(polyad.UsageError, match="checkpoint_every"):
        polyad.cp_als(X, 3, checkpoint=tmp_path / "c", checkpoint_every=0)


def test_a_seed_is_that_of_the_checkpoint(X, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A run that continues has no random numbers: another seed would be ignored."""
    for run in (lambda **options: polyad.cp_als(X, 3, **options), lambda **options: polyad.tucker(X, 2, **options)):
        run(seed=5, max_iterations=1, tolerance=0, checkpoint=tmp_path / "c")
        for seed in (0, 5):  # the usual one need not be given
            run(seed=seed, max_iterations=2, resume=tmp_path / "c", checkpoint=tmp_path / "d")
            with pytest.raises(polyad.InputError, match="is a checkpoint of seed 5, not 7"):
                run(seed=7, max_iterations=3, resume=tmp_path / "d")


def test_a_checkpoint_is_the_start(X, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A start next to it would be ignored."""
    model = polyad.cp_als(X, 3, max_iterations=1, checkpoint=tmp_path / "c")
    for start in (model, "nvecs"):
        with pytest.raises(polyad.UsageError, match="resume is a start"):
            polyad.cp_als(X, 3, resume=tmp_path / "c", start=start)
    tucker = polyad.tucker(X, 2, max_iterations=1, checkpoint=tmp_path / "d")
    for start in (tucker, "hosvd"):
        with pytest.raises(polyad.UsageError, match="resume is a start"):
            polyad.tucker(X, 2, resume=tmp_path / "d", start=start)


def test_checkpoint_every_is_for_checkpoints(X) -> None:  # type: ignore[no-untyped-def]
    for run in (polyad.cp_als, polyad.tucker, polyad.fast_tucker):
        with pytest.raises(polyad.UsageError, match="checkpoint_every is for runs with a checkpoint"):
            run(X, **({"ranks": 2} if run is polyad.tucker else {"rank": 2}), checkpoint_every=3)


def test_cp_restarts(X, tmp_path) -> None:  # type: ignore[no-untyped-def]
    seen = set()
    best = polyad.cp_als(X, 3, max_iterations=5, seed=7, restarts=3, callback=lambda step: seen.add(step["start"]))
    assert seen == {0, 1, 2}
    assert [run["seed"] for run in best.restarts] == [7, 8, 9]
    assert best.fit == max(run["fit"] for run in best.restarts) == best.restarts[best.best_restart]["fit"]
    assert {step["start"] for step in best.history} == {best.best_restart}
    assert polyad.cp_als(X, 3, max_iterations=1).restarts == []
    with pytest.raises(polyad.UsageError, match="have no checkpoints"):
        polyad.cp_als(X, 3, restarts=2, checkpoint=tmp_path / "c")


def test_tucker_continues_to_the_same_bits(X, tmp_path) -> None:  # type: ignore[no-untyped-def]
    options = {"max_iterations": 6, "tolerance": 0}
    whole = polyad.tucker(X, (3, 2, 4), **options)
    polyad.tucker(X, (3, 2, 4), checkpoint=tmp_path / "c", callback=stop_after(2), **options)
    rest = polyad.tucker(X, (3, 2, 4), resume=tmp_path / "c", **options)
    assert len(rest.history) == 4
    assert np.array_equal(rest.core, whole.core)
    assert same_factors(rest, whole)
    with pytest.raises(polyad.InputError, match="another command"):
        polyad.cp_als(X, 3, resume=tmp_path / "c")


def test_fast_tucker_continues_to_the_same_bits(X, tmp_path) -> None:  # type: ignore[no-untyped-def]
    options = {"rank": 2, "shrinkage": 5, "max_epochs": 6, "deterministic": True}
    whole = polyad.fast_tucker(X, **options)
    polyad.fast_tucker(X, checkpoint=tmp_path / "c", callback=lambda step: step["epoch"] < 2, **options)
    rest = polyad.fast_tucker(X, resume=tmp_path / "c", **options)
    assert [step["epoch"] for step in rest.history] == [3, 4, 5, 6]
    assert same_factors(rest, whole)
    with pytest.raises(polyad.InputError, match="rank 2"):
        polyad.fast_tucker(X, resume=tmp_path / "c", **{**options, "rank": 3})


def test_a_completion_continues_to_the_same_bits(tmp_path) -> None:  # type: ignore[no-untyped-def]
    X = polyad.generate("uniform", (20, 30, 10), 3000, seed=1)
    options = {"rank": 3, "shrinkage": 10, "max_epochs": 6, "format": "sorted:copies", "deterministic": True}
    whole = polyad.fast_tucker(X, **options)
    cut = polyad.fast_tucker(X, checkpoint=tmp_path / "c", callback=lambda epoch: epoch["epoch"] < 2, **options)
    assert len(cut.history) == 2
    rest = polyad.fast_tucker(X, resume=tmp_path / "c", **options)
    assert [epoch["epoch"] for epoch in rest.history] == [3, 4, 5, 6]
    assert same_factors(rest, whole)
    with pytest.raises(polyad.InputError, match="of a run with other options"):
        polyad.fast_tucker(X, resume=tmp_path / "c", **{**options, "rank": 4})
    with pytest.raises(polyad.WriteError):
        polyad.fast_tucker(X, checkpoint=tmp_path / "nowhere" / "c", **options)
