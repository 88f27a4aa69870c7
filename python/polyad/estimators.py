# SPDX-License-Identifier: BSD-3-Clause
"""Estimators in the style of scikit-learn. They derive from its BaseEstimator if it is installed."""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError, UsageError, not_fitted_error
from ._drivers import cp_als, fast_tucker, tucker
from ._evaluation import Evaluation, evaluate
from ._fold_in import fold_in, update_rows
from ._functions import _count, _expected_by_biases, _mode, _project, _range, _recommend, mttkrp, predict, similar, ttmc
from ._keywords import own_keywords
from ._models import CPModel, FastTuckerModel, Rankings, TuckerModel
from ._names import Names
from ._table import numbers_of
from ._tensor import SparseTensor, _trusted, asarray, without_repeats

if TYPE_CHECKING:
    from numpy.typing import NDArray


class _Parameters:
    """What the estimators use of ``sklearn.base.BaseEstimator``, if scikit-learn is not installed."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor, by name."""
        return {name: getattr(self, name) for name in _names_of(type(self))}

    def set_params(self, **params: Any) -> Any:
        """Change parameters; returns the estimator."""
        for name, value in params.items():
            setattr(self, name, value)
        return self


def _samples(X: Any, model: Any) -> SparseTensor:
    """A tensor of new samples, whose other modes have the rows of the model: labels are matched."""
    tensor = asarray(X, duplicates="sum")
    names = model._names
    if tensor.labels is None or names.labels is None or tensor.ndim != len(model.shape):
        return tensor
    known = Names([tensor.labels[0], *names.labels[1:]], names.mode_names, names.index_base)
    matched = asarray(tensor, like=SimpleNamespace(_names=known, shape=(tensor.shape[0], *model.shape[1:])))
    # Without names from here on: the samples are others than those of the model.
    return _trusted(matched.coords, matched.values, matched.shape, None, may_repeat=False)


def _names_of(cls: type) -> list[str]:
    """The parameters of an estimator's constructor."""
    return [name for name in inspect.signature(cls).parameters]


def _base() -> type:
    try:
        base: type = importlib.import_module("sklearn.base").BaseEstimator
    except ImportError:
        return _Parameters
    return base


# This module is imported at the first use of an estimator, so that `import polyad` does not import scikit-learn.
if TYPE_CHECKING:
    _Base = _Parameters
else:
    _Base = _base()


def _default(driver: Callable[..., Any], name: str) -> Any:
    """The default of a driver's argument."""
    return inspect.signature(driver).parameters[name].default


class _Estimator(_Base):
    _kind: str | None = None

    def set_params(self, **params: Any) -> Any:
        """Change parameters; returns the estimator.

        Raises
        ------
        KeywordError
            If there is no such parameter.
        """
        known = _names_of(type(self))
        for name in params:
            if name not in known:
                from ._foreign_names import unknown_keyword

                raise unknown_keyword(type(self).__name__, name, known)
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        utils = importlib.import_module("sklearn.utils")
        regressor = self._kind == "regressor"
        return utils.Tags(
            estimator_type=self._kind,
            target_tags=utils.TargetTags(required=regressor),
            transformer_tags=None if regressor else utils.TransformerTags(),
            regressor_tags=utils.RegressorTags() if regressor else None,
            classifier_tags=None,
            input_tags=utils.InputTags(sparse=not regressor),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _expect_fitted(self) -> None:
        if not hasattr(self, "model_"):
            raise not_fitted_error()(f"this {type(self).__name__} is not fitted yet: call fit first")

    def __repr__(self) -> str:
        signature = inspect.signature(type(self)).parameters
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(signature[name].default)  # what was pickled is equal, not the same
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


class CP(_Estimator):
    """CP decomposition of a sparse tensor whose first mode are the samples.

    Parameters
    ----------
    rank, max_iterations, tolerance, seed, ridge, nonnegative, lower, upper, l1, constraints, inner, format, deterministic
        As for :func:`polyad.cp_als`.

    Attributes
    ----------
    model_ : CPModel
    fit_ : float
    reconstruction_err_ : float
        ||X - M||
    n_iter_ : int

    Raises
    ------
    NotFittedError
        By methods that need a model, before :meth:`fit`: scikit-learn's class if that is installed.

    Examples
    --------
    >>> import polyad
    >>> X, _ = polyad.generate("low-rank", (30, 40, 50), rank=3, seed=1)
    >>> polyad.CP(rank=3).fit(X).transform(X).shape
    (30, 3)
    """

    @own_keywords
    def __init__(
        self,
        rank: int = 16,
        *,
        max_iterations: int = _default(cp_als, "max_iterations"),
        tolerance: float = _default(cp_als, "tolerance"),
        seed: int = 0,
        ridge: Any = 0.0,
        nonnegative: Any = False,
        lower: Any = None,
        upper: Any = None,
        l1: Any = 0.0,
        constraints: Any = None,
        inner: int | str = 1,
        format: str = "auto",
        deterministic: bool = False,
    ) -> None:
        self.rank = rank
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.seed = seed
        self.ridge = ridge
        self.nonnegative = nonnegative
        self.lower = lower
        self.upper = upper
        self.l1 = l1
        self.constraints = constraints
        self.inner = inner
        self.format = format
        self.deterministic = deterministic

    def fit(self, X: Any, y: Any = None) -> CP:
        """Factor the tensor. `y` is ignored."""
        tensor = without_repeats(X, "sum")
        self.model_ = cp_als(tensor, **self.get_params())
        self.fit_ = self.model_.fit
        values = np.asarray(tensor.to_host().values, dtype=np.float64)
        largest = float(np.abs(values).max(initial=0.0)) or 1.0  # the squares of its shares neither overflow nor vanish
        self.reconstruction_err_ = (1 - self.fit_) * float(np.linalg.norm(values / largest)) * largest
        self.n_iter_ = len(self.model_.history)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """The samples' coordinates: the first factor, weights included, that explains X best with the others fixed, under the
        bounds and penalties of that mode.

        Parameters
        ----------
        X : tensor
            It has any number of samples; its other modes are those of the tensor that was fitted.

        Returns
        -------
        numpy.ndarray, samples x R
        """
        self._expect_fitted()
        tensor = _samples(X, self.model_)
        others = self.model_.factors[1:]
        if tensor.shape[1:] != self.model_.shape[1:]:
            raise UsageError(f"a tensor of {tensor.shape}, but {self.model_.shape} was fitted")
        if self.model_.constraints is not None:
            return np.asarray(_project(self.model_, tensor, 0, None), dtype=np.float64) * self.model_.weights
        gram = np.ones((self.model_.rank, self.model_.rank))
        for factor in others:
            doubles = np.asarray(factor, dtype=np.float64)
            gram *= doubles.T @ doubles
        if self.model_.rows is not None:
            product = mttkrp(tensor, self.model_, 0)
        else:
            first = np.zeros((tensor.shape[0], self.model_.rank), dtype=tensor.dtype)
            product = mttkrp(tensor, [first, *others], 0)
        return np.asarray(product, dtype=np.float64) @ np.linalg.pinv(gram, hermitian=True)

    def inverse_transform(self, W: Any) -> NDArray[Any]:
        """The tensor that coordinates represent, as a dense array of samples x the other modes.

        Parameters
        ----------
        W : array_like, samples x R
            As :meth:`transform` returns them.
        """
        self._expect_fitted()
        coordinates = np.asarray(W, dtype=np.float64)
        if coordinates.ndim != 2 or coordinates.shape[1] != self.model_.rank:
            raise UsageError(f"coordinates are samples x {self.model_.rank}, not {coordinates.shape}")
        others = [self.model_.factor_rows(n, np.arange(self.model_.shape[n])) for n in range(1, len(self.model_.shape))]
        return CPModel(np.ones(self.model_.rank), [coordinates, *others]).full()

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """:meth:`fit`, then :meth:`transform` of the same tensor."""
        tensor = asarray(X, duplicates="sum")
        return self.fit(tensor).transform(tensor)


class Tucker(_Estimator):
    """Tucker decomposition of a sparse tensor whose first mode are the samples.

    Parameters
    ----------
    ranks, max_iterations, tolerance, seed, start
        As for :func:`polyad.tucker`.

    Attributes
    ----------
    model_ : TuckerModel
    fit_ : float
    n_iter_ : int

    Examples
    --------
    >>> import polyad
    >>> X, _ = polyad.generate("low-rank", (20, 20, 20), rank=2, seed=1)
    >>> polyad.Tucker(ranks=2).fit_transform(X).shape
    (20, 4)
    """

    @own_keywords
    def __init__(
        self,
        ranks: int | Sequence[int] = 8,
        *,
        max_iterations: int = _default(tucker, "max_iterations"),
        tolerance: float = _default(tucker, "tolerance"),
        seed: int = 0,
        start: Any = None,
    ) -> None:
        self.ranks = ranks
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.seed = seed
        self.start = start

    def fit(self, X: Any, y: Any = None) -> Tucker:
        """Factor the tensor. `y` is ignored."""
        self.model_ = tucker(X, **self.get_params())
        self.fit_ = self.model_.fit
        self.n_iter_ = len(self.model_.history)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """The samples' coordinates in the other factors' bases.

        Returns
        -------
        numpy.ndarray, samples x (product of the other ranks)
        """
        self._expect_fitted()
        tensor = _samples(X, self.model_)
        if tensor.shape[1:] != self.model_.shape[1:]:
            raise UsageError(f"a tensor of {tensor.shape}, but {self.model_.shape} was fitted")
        stores_all = self.model_.rows is None
        product = ttmc(tensor, [None, *self.model_.factors[1:]] if stores_all else self.model_, 0)
        return np.ascontiguousarray(product).reshape(tensor.shape[0], -1)

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """:meth:`fit`, then :meth:`transform` of the same tensor."""
        tensor = asarray(X, duplicates="sum")
        return self.fit(tensor).transform(tensor)


class TensorRecommender(_Estimator):
    """Predicts what was not observed: ratings that depend on users, items and other modes.

    Parameters
    ----------
    rank, columns, time_mode, drift, implicit, optimizer, max_epochs, shrinkage, targets, ridge, seed, format, \
deterministic
        As for :func:`polyad.fast_tucker`. With `implicit` predictions are scores that only rank, and :meth:`score` says
        little. ``implicit=True`` chooses alpha, and `ridge` and `rank` unless they are given; ``model_.choice`` has them.
    clip : tuple of float, optional
        Lowest and highest prediction.
    shape : sequence of int, optional
        The sizes of the modes; without it those of the observations.
    dtype : {"float32", "float64"}

    Attributes
    ----------
    model_ : FastTuckerModel
    shape_ : tuple of int
    n_features_in_ : int
        N

    Examples
    --------
    >>> import numpy as np, polyad
    >>> rng = np.random.default_rng(0)
    >>> X = rng.integers(0, 20, size=(2000, 2))
    >>> y = 3.0 + 0.1 * X[:, 0] - 0.05 * X[:, 1]
    >>> recommender = polyad.TensorRecommender(clip=(1, 5)).fit(X[:1800], y[:1800])
    >>> recommender.score(X[1800:], y[1800:]) > 0.95
    True
    >>> items, expected = recommender.recommend(3, 5)
    >>> items.shape
    (5,)
    """

    _kind = "regressor"
    _estimator_type = "regressor"
    _kept: tuple[NDArray[Any], NDArray[Any]] | None = None  # the observations of partial_fit

    @own_keywords
    def __init__(
        self,
        rank: int = 0,
        *,
        columns: Any = None,
        time_mode: int = -1,
        drift: Any = None,
        implicit: Any = None,
        optimizer: str = "als",
        max_epochs: int = 20,
        shrinkage: Any = None,
        targets: Any = None,
        ridge: float | None = None,
        seed: int = 0,
        clip: Any = None,
        shape: Any = None,
        dtype: str = "float32",
        format: str = "auto",
        deterministic: bool = False,
    ) -> None:
        self.rank = rank
        self.columns = columns
        self.time_mode = time_mode
        self.drift = drift
        self.implicit = implicit
        self.optimizer = optimizer
        self.max_epochs = max_epochs
        self.shrinkage = shrinkage
        self.targets = targets
        self.ridge = ridge
        self.seed = seed
        self.clip = clip
        self.shape = shape
        self.dtype = dtype
        self.format = format
        self.deterministic = deterministic

    @staticmethod
    def _places(X: Any) -> NDArray[Any]:
        places = np.asarray(X)
        if places.ndim != 2:
            raise UsageError(f"X is observations x modes, not of {places.ndim} dimensions")
        if places.dtype.kind in "US" or (places.dtype.kind == "O" and any(isinstance(entry, str) for entry in places.flat)):
            raise UsageError(
                "X holds integers, not labels: number them, as OrdinalEncoder of scikit-learn does, or pass the table to "
                "polyad.fast_tucker"
            )
        if places.dtype.kind == "O":
            places = numbers_of("X", places)
        if places.dtype.kind == "f" and np.isnan(places).any():
            raise InputError("X has missing entries")
        if places.dtype.kind not in "iu":
            # A pipeline may hand whole numbers over as floats.
            if places.dtype.kind != "f" or not np.array_equal(places, np.floor(places)):
                raise UsageError(f"X holds integers, not {places.dtype}")
            places = places.astype(np.int64)
        if places.size and places.min() < 0:
            raise InputError(f"X counts from 0; the smallest number is {places.min()}")
        return places

    @staticmethod
    def _targets(y: Any) -> NDArray[np.float64]:
        given = numbers_of("y", y).reshape(-1)
        if given.dtype.kind not in "iufb":
            raise UsageError(f"y holds real numbers, not {given.dtype}")
        values = given.astype(np.float64)
        if np.isnan(values).any():
            raise InputError("y has missing entries")
        return values

    def fit(self, X: Any, y: Any) -> TensorRecommender:
        """Learn from observations.

        Parameters
        ----------
        X : array_like of int, observations x N
            Where each was made, from 0. The same place may occur several times.
        y : array_like of float
        """
        places = self._places(X)
        clip = None if self.clip is None else _range("clip", self.clip)
        if self.dtype not in ("float32", "float64"):
            raise UsageError(f"dtype is 'float32' or 'float64', not {self.dtype!r}")
        values = self._targets(y).astype(self.dtype)
        train = SparseTensor(places, values, self.shape, duplicates="keep")
        options = self.get_params()
        for name in ("shape", "dtype", "clip"):
            options.pop(name)
        self._kept = None
        self.model_ = fast_tucker(train, range=clip, **options)
        self.shape_ = self.model_.shape
        self.n_features_in_ = places.shape[1]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """What is expected at some places.

        A place with a row that was not there in fit (a new user) gets the mean and the biases of its other rows, and
        what these drift by. A time after the last has no drift.

        Returns
        -------
        numpy.ndarray
        """
        self._expect_fitted()
        places = self._places(X)
        if places.shape[1] != len(self.shape_):
            raise UsageError(f"places of {places.shape[1]} numbers for a model of {len(self.shape_)} modes")
        known = (places < np.asarray(self.shape_)).all(axis=1)
        result = np.empty(len(places))
        result[known] = predict(self.model_, places[known])
        if not known.all():
            result[~known] = _expected_by_biases(self.model_, places[~known].astype(np.int64))
        return result

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R^2 of the predictions, as scikit-learn's regressors have it."""
        observed = self._targets(y)
        weight = np.ones(len(observed)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        left = float((weight * (observed - self.predict(X)) ** 2).sum())
        mean = float(np.average(observed, weights=weight)) if len(observed) else math.nan
        spread = float((weight * (observed - mean) ** 2).sum())
        if spread == 0:
            return 1.0 if left == 0 else 0.0
        return 1 - left / spread

    def partial_fit(self, X: Any, y: Any) -> TensorRecommender:
        """Learn from more observations: the first call fits, later ones solve the rows that have new observations.

        Rows are solved from all observations of these calls, which are kept for that. Observations of :meth:`fit` are
        not: after it, only rows are computed that were not there. All other rows stay as they are, so fit again from
        time to time.

        Parameters
        ----------
        X : array_like of int, observations x N
            May have new users and items. Later times than in the first call count as the last one.
        y : array_like of float
        """
        if not hasattr(self, "model_"):
            self.fit(X, y)
            self._kept = (self._places(X).astype(np.int64), self._targets(y))
            return self
        places, values = self._places(X).astype(np.int64), self._targets(y)
        if places.shape[1] != len(self.shape_):
            raise UsageError(f"observations of {places.shape[1]} modes for a model of {len(self.shape_)}")
        options = self._fold_options()
        kept = self._kept
        if kept is None:
            self.model_ = fold_in(self.model_, self._sparse(places, values), **options)
        else:
            added = self._sparse(places, values)
            kept = (np.concatenate([kept[0], places]), np.concatenate([kept[1], values]))
            self.model_ = update_rows(self.model_, self._sparse(*kept), added, **options)
            self._kept = kept
        self.shape_ = self.model_.shape
        return self

    def _sparse(self, places: NDArray[Any], values: NDArray[Any]) -> SparseTensor:
        shape = np.maximum(self.shape_, places.max(axis=0) + 1 if len(places) else 0)
        return SparseTensor(places, values.astype(self.dtype), shape.tolist(), duplicates="keep")

    def _fold_options(self) -> dict[str, Any]:
        """What the model was fitted with, as fold_in takes it. What is unset was chosen, and the model knows it."""
        options = {name: getattr(self, name) for name in ("implicit", "ridge", "shrinkage", "targets")}
        if isinstance(self.implicit, str) and self.model_.choice is not None:
            options.update({name: self.model_.choice[name] for name in ("implicit", "ridge")})
        return {name: value for name, value in options.items() if value is not None and value is not False}

    def evaluate(
        self,
        X: Any,
        y: Any,
        k: int = 10,
        *,
        seen: Any = None,
        relevant: float = 0.0,
        user_mode: int = 0,
        item_mode: int = 1,
        contexts: str = "each",
    ) -> Evaluation:
        """Measure recommendations on test observations: precision, recall, NDCG, MAP and others.

        Parameters
        ----------
        X : array_like of int, observations x N
        y : array_like of float
        k : int
            How many recommendations of each user are evaluated.
        seen : array_like of int, observations x N, optional
            Observations as in :meth:`fit`: what a user has there is not recommended. It also knows the most popular items.
        relevant, contexts
            As for :func:`polyad.evaluate`.
        user_mode, item_mode : int
            From 0.

        Returns
        -------
        Evaluation
            ``evaluation["ndcg"]`` is a number; printed, it is a table.
        """
        self._expect_fitted()
        places, values = self._places(X), self._targets(y)
        for what in (places, *(() if seen is None else (self._places(seen),))):
            if what.shape[1] != len(self.shape_):
                raise UsageError(f"observations of {what.shape[1]} modes for a model of {len(self.shape_)}")
        known = None if seen is None else self._sparse(self._places(seen), np.ones(len(self._places(seen))))
        return evaluate(
            self.model_,
            self._sparse(places, values),
            known,
            k,
            relevant=relevant,
            mode=item_mode,
            user_mode=user_mode,
            contexts=contexts,
        )

    def recommend(
        self,
        user: Any,
        n: int = 10,
        *,
        seen: Any = None,
        at: Mapping[int, int] | None = None,
        user_mode: int = 0,
        item_mode: int = 1,
    ) -> tuple[NDArray[Any], NDArray[Any]] | Rankings:
        """Find the items with the highest predictions for a user, or for each of several.

        Parameters
        ----------
        user : int or array_like of int
            Rows of `user_mode`. One that was not there in fit is answered by the biases of the items, with a warning.
        n : int
            Items of each user.
        seen : array_like of int, observations x N, optional
            Observations as in :meth:`fit`: a user's own items there are left out, whatever the rest of the place.
        at : mapping, optional
            The index of other modes by their numbers, such as the time; without it the mean over all rows of a mode.
        user_mode, item_mode : int
            From 0.

        Returns
        -------
        (items, predictions) of a user, or Rankings of several
        """
        self._expect_fitted()
        order = len(self.shape_)
        users, items = _mode(user_mode, order), _mode(item_mode, order)
        given = {_mode(mode, order): _count(f"the index of mode {mode}", index) for mode, index in (at or {}).items()}
        if users == items or users in given or items in given:
            raise UsageError("the mode of the users, that of the items and those of `at` are different ones")
        asked = np.asarray(user)
        if asked.dtype.kind not in "iu" or asked.ndim > 1 or (asked.size and asked.min() < 0):
            raise UsageError(f"a user is an int of at least 0, or a sequence of them, not {user!r}")
        places = np.full((asked.size, order), -1, dtype=np.int64)
        for mode, index in given.items():
            places[:, mode] = index
        places[:, users] = asked
        left_out = None
        if seen is not None:
            left_out = self._places(seen).astype(np.int64)
            if left_out.shape[1] != order:
                raise UsageError(f"observations of {left_out.shape[1]} modes for a model of {order}")
            for mode, index in given.items():
                left_out[:, mode] = index
        ranked = _recommend(self.model_, items, np.delete(places, items, axis=1), n, left_out, None, None, 3)
        return ranked[0] if asked.ndim == 0 else ranked

    def similar(
        self, item: Any, n: int = 10, *, item_mode: int = 1
    ) -> tuple[NDArray[Any], NDArray[Any]] | Rankings:
        """Find the items that are most similar to one, or to each of several.

        Parameters
        ----------
        item : int or array_like of int
            Rows of `item_mode`, which were there in fit.
        n : int
            Items of each.
        item_mode : int
            From 0.

        Returns
        -------
        (items, cosines) of an item, or Rankings of several
        """
        self._expect_fitted()
        ranked = similar(self.model_, item_mode, item, n)
        return ranked[0] if np.ndim(item) == 0 else ranked
