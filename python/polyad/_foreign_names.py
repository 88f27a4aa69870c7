# SPDX-License-Identifier: BSD-3-Clause
"""What other libraries call our arguments. Imported when an argument is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ._errors import KeywordError

# What TensorLy, pyttb, scikit-learn, implicit, Surprise, PyTorch and the Tensor Toolbox call it. Of several names of
# ours, the function's own is meant.
_iterations = ("max_iterations", "max_epochs")
_ours = {
    **dict.fromkeys(("n_iter_max", "maxiters", "max_iters", "max_iter", "maxiter", "iterations", "n_iter"), _iterations),
    **dict.fromkeys(("n_iterations", "num_iterations", "niter", "iters", "epochs", "n_epochs", "num_epochs"), _iterations),
    **dict.fromkeys(("max_iterations", "max_epochs", "max_n_iter", "nepochs", "maxepochs"), _iterations),
    **dict.fromkeys(("random_state", "rng", "random_seed", "rand_state", "generator"), ("seed",)),
    **dict.fromkeys(("n_factors", "factors", "num_factors", "n_components", "n_component"), ("rank", "ranks")),
    **dict.fromkeys(("components", "num_components", "latent_dim", "embedding_dim", "R", "rank", "ranks"), ("rank", "ranks")),
    **dict.fromkeys(("tol", "stoptol", "stop_tol", "eps", "epsilon", "tol_abs", "rtol", "fit_tol"), ("tolerance",)),
    **dict.fromkeys(("verbose", "printitn", "show_progress", "verbosity", "disp", "print_every"), ("progress", "callback")),
    **dict.fromkeys(("init", "initial", "guess", "initialization", "x0", "warm_start", "init_strategy"), ("start",)),
    **dict.fromkeys(("n_jobs", "num_threads", "nthreads", "n_threads", "num_workers", "workers"), ("threads",)),
    **dict.fromkeys(("callbacks", "callback_fn", "on_iteration", "hook"), ("callback",)),
    **dict.fromkeys(("regularization", "reg", "l2_reg", "alpha", "reg_all", "weight_decay"), ("shrinkage", "ridge")),
    **dict.fromkeys(("lambda_", "lam", "reg_param", "penalty"), ("shrinkage", "ridge")),
    **dict.fromkeys(("non_negative", "nonneg", "non_negativity", "positive"), ("nonnegative",)),
    **dict.fromkeys(("l1_reg", "l1_ratio", "sparsity"), ("l1",)),
    **dict.fromkeys(("l2_square_reg", "l2_reg_square"), ("ridge",)),
    **dict.fromkeys(("lower_bound", "min"), ("lower",)),
    **dict.fromkeys(("upper_bound", "max"), ("upper",)),
    **dict.fromkeys(("n_iter_max_inner", "inner_iterations"), ("inner",)),
    **dict.fromkeys(("fixed_modes", "fixed", "fix_modes"), ("fix",)),
    **dict.fromkeys(("learning_rate", "lr", "lr_all", "eta"), ("adam", "sgd")),
    **dict.fromkeys(("solver", "method", "algorithm", "opt"), ("optimizer",)),
    **dict.fromkeys(("early_stopping", "n_iter_no_change", "early_stopping_rounds"), ("patience",)),
    **dict.fromkeys(("time_limit", "timeout", "max_time", "maxtime", "time_limit_secs"), ("time_limit_s",)),
    **dict.fromkeys(("clip", "range", "rating_scale", "limits", "bounds", "clip_range"), ("range", "clip")),
    **dict.fromkeys(("biased", "use_bias", "use_biases", "fit_bias", "fit_intercept"), ("biases",)),
    **dict.fromkeys(("val", "valid", "validation_data", "eval_set", "X_val", "dev"), ("validation",)),
    **dict.fromkeys(("test_set", "testset", "X_test", "test_data"), ("test",)),
    **dict.fromkeys(("trainset", "train_set", "train_data", "X_train"), ("train", "X")),
    **dict.fromkeys(("N", "k", "K", "top_k", "topk", "n_items", "num_recommendations", "top_n", "count"), ("n", "k")),
    **dict.fromkeys(("filter_items", "filter_already_liked_items", "filter_seen", "exclude", "user_items"), ("seen",)),
    **dict.fromkeys(("userid", "user_id", "users", "user_ids"), ("user", "queries")),
    **dict.fromkeys(("itemid", "item_id", "items", "item_ids"), ("item", "rows")),
    **dict.fromkeys(("tensor", "input_tensor", "x", "data", "Xs"), ("X", "train", "tensor", "values")),
    **dict.fromkeys(("size", "dims", "dimensions", "extents", "shape"), ("shape",)),
    **dict.fromkeys(("subs", "coordinates", "indices", "inds", "index", "coords"), ("coords", "places")),
    **dict.fromkeys(("vals", "value", "weights", "values"), ("values",)),
    **dict.fromkeys(("n", "axis", "dim", "dimorder", "skip_mode"), ("mode",)),
    **dict.fromkeys(("fixed_order", "reproducible"), ("deterministic",)),
    **dict.fromkeys(("precision", "type"), ("dtype",)),
    **dict.fromkeys(("gpu", "device_id", "cuda"), ("device",)),
    **dict.fromkeys(("test_size", "fraction", "frac", "ratio", "test_fraction", "split"), ("share",)),
    **dict.fromkeys(("filename", "file", "fname", "name"), ("path",)),
}

# The options of polyad.asarray, which makes a tensor from what a function gets.
_of_asarray = ("duplicates", "allow_non_finite", "modes", "value")


# TensorLy's constraints that coordinate descent does not solve.
_not_offered = (
    "unimodality", "normalize", "simplex", "normalized_sparsity", "soft_sparsity", "smoothness", "monotonicity",
    "hard_sparsity", "smooth", "unimodal", "monotonic", "monotone",
)


def _meant(given: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are meant by the given one."""
    known = [name for name in names if name != given]
    ours = [name for name in _ours.get(given, _ours.get(given.lower(), ())) if name in known]
    if ours:
        return ours
    return difflib.get_close_matches(given, known, 1, 0.7)


def unknown_keyword(what: str, given: str, names: Iterable[str]) -> KeywordError:
    """The error for a keyword argument that does not exist."""
    names = list(names)
    meant = [] if given in _not_offered else _meant(given, names)
    if meant:
        return KeywordError(f"{what} has no argument {given!r}: use {' or '.join(repr(name) for name in meant)}")
    if given in _not_offered and "nonnegative" in names:
        return KeywordError(
            f"{what} does not offer TensorLy's constraint {given!r}, which is not separable over the entries of a factor: "
            "it has 'nonnegative', 'lower', 'upper', 'l1' and 'ridge'"
        )
    if given in _of_asarray and what != "asarray":
        return KeywordError(f"{what} has no argument {given!r}: make the tensor by polyad.asarray(..., {given}=...)")
    return KeywordError(f"{what} has no argument {given!r}; its arguments are {', '.join(names)}")
