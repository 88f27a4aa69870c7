# SPDX-License-Identifier: BSD-3-Clause
"""What the rows and modes of a tensor or a model are called, in memory and in files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._errors import InputError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _integer_text(text: str) -> bool:
    """Whether a text is an integer of 64 bits as str() gives it."""
    digits = text[1:] if text.startswith("-") else text
    if not (digits.isascii() and digits.isdigit()) or (digits[0] == "0" and text != "0"):
        return False
    return len(digits) < 19 or -(2**63) <= int(text) < 2**63


def texts_of(labels: NDArray[Any]) -> list[str]:
    """Labels as the texts by which they are stored and compared."""
    array = np.asarray(labels)
    if array.dtype.kind == "M":
        stamps = array.astype("datetime64[us]").astype(str).tolist()
        return [stamp.removesuffix(".000000").removesuffix("T00:00:00") for stamp in stamps]
    if array.dtype.kind == "f" and array.size and np.array_equal(array, np.floor(array)) and np.abs(array).max() < 2**53:
        array = array.astype(np.int64)  # 7.0 is the row 7
    return [label if type(label) is str else str(label) for label in array.tolist()]


class Names:
    """The names in a tensor or a model. Each may be None: the labels of each mode, the modes' names, and the index base."""

    __slots__ = ("index_base", "labels", "mode_names")

    def __init__(self, labels: Any = None, mode_names: Any = None, index_base: int | None = None) -> None:
        self.labels = labels
        self.mode_names = mode_names
        self.index_base = index_base

    def checked(self, shape: Sequence[int]) -> Names:
        """With arrays for labels. UsageError unless they fit the shape."""
        labels, modes = self.labels, self.mode_names
        if labels is not None:
            labels = [None if names is None else np.asarray(names) for names in labels]
            if len(labels) != len(shape):
                raise UsageError(f"labels of {len(labels)} modes for a tensor of {len(shape)}")
            for n, names in enumerate(labels):
                if names is not None and len(names) != shape[n]:
                    raise UsageError(f"{len(names)} labels for the {shape[n]} rows of mode {n}")
        if modes is not None:
            modes = list(modes)
            if len(modes) != len(shape):
                raise UsageError(f"names of {len(modes)} modes for a tensor of {len(shape)}")
        if self.index_base not in (None, 0, 1):
            raise UsageError(f"the index base is 0 or 1, not {self.index_base!r}")
        return Names(labels, modes, self.index_base)

    def without(self, n: int) -> Names:
        """The names of the other modes; mode n has none."""
        labels, modes = ([None if m == n else one for m, one in enumerate(of)] if of else None for of in (self.labels, self.mode_names))
        return Names(labels, modes, self.index_base)

    def of_mode(self, n: int) -> NDArray[Any] | None:
        """The labels of a mode, or None."""
        found: NDArray[Any] | None = None if self.labels is None else self.labels[n]
        return found

    def mode_text(self, n: int) -> str:
        """For messages: "mode 0 ('user')"."""
        return f"mode {n}" if self.mode_names is None or self.mode_names[n] is None else f"mode {n} ({self.mode_names[n]!r})"

    def mode_number(self, mode: Any, order: int) -> Any:
        """The number of a mode that may be given by its name."""
        if not isinstance(mode, str):
            return mode
        found = [] if self.mode_names is None else [n for n, name in enumerate(self.mode_names) if name == mode]
        if len(found) != 1:
            raise UsageError(f"{len(found)} modes have the name {mode!r}; the modes are {self.mode_names or list(range(order))}")
        return found[0]

    def to_file(self, default_base: int = -1) -> tuple[int, Any]:
        """As the compiled module takes them."""
        base = default_base if self.index_base is None else self.index_base
        if self.labels is None and self.mode_names is None:
            return base, None
        order = len(self.labels if self.labels is not None else self.mode_names)
        modes = []
        for n in range(order):
            name = "" if self.mode_names is None or self.mode_names[n] is None else str(self.mode_names[n])
            labels = self.of_mode(n)
            modes.append((name, *(_packed(labels, self.mode_text(n)) if labels is not None else (None, None, False))))
        return base, modes

    @classmethod
    def from_file(cls, found: tuple[int, Any]) -> Names:
        """The names that the compiled module returns."""
        base, modes = found
        index_base = None if base < 0 else base
        if modes is None:
            return cls(index_base=index_base)
        labels = [None if content is None else _unpacked(content, ends, is_text) for _, content, ends, is_text in modes]
        names = [name or None for name, *_ in modes]
        return cls(
            None if all(of_mode is None for of_mode in labels) else labels,
            None if all(name is None for name in names) else names,
            index_base,
        )


def _packed(labels: NDArray[Any], where: str) -> tuple[bytes, NDArray[Any], bool]:
    """Bytes of UTF-8, where each label ends, and whether the labels are text that looks like integers."""
    texts = texts_of(labels)
    if len(set(texts)) != len(texts):
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise UsageError(f"two rows of {where} have the label {twice!r}")
    joined = "".join(texts)
    try:
        content = joined.encode()
        sizes = map(len, texts) if len(content) == len(joined) else (len(text.encode()) for text in texts)
        ends = np.cumsum(np.fromiter(sizes, dtype=np.uint64, count=len(texts)), dtype=np.uint64)
    except UnicodeEncodeError:
        raise UsageError(f"{where} has a label that is not Unicode text") from None
    is_text = labels.dtype.kind in "OU" and bool(texts) and all(map(_integer_text, texts)) and _holds_text(labels)
    return content, ends, is_text


def _holds_text(labels: NDArray[Any]) -> bool:
    return any(isinstance(label, str) for label in labels[:1].tolist())


def _unpacked(content: bytes, ends: bytes, is_text: bool) -> NDArray[Any]:
    """int64 if all labels are integers and not said to be text; else an array of str."""
    where = np.frombuffer(ends, dtype=np.uint64).tolist()
    joined = content.decode()
    if len(joined) == len(content):
        texts = [joined[begin:end] for begin, end in zip([0, *where], where)]
    else:
        texts = [content[begin:end].decode() for begin, end in zip([0, *where], where)]
    if not is_text and texts and all(map(_integer_text, texts)):
        return np.array([int(text) for text in texts], dtype=np.int64)
    labels: NDArray[Any] = np.empty(len(texts), dtype=object)
    labels[:] = texts
    return labels


def joined(known: NDArray[Any], new: list[Any]) -> NDArray[Any]:
    """Labels, followed by new ones."""
    if known.dtype.kind in "iu" and all(isinstance(label, (int, np.integer)) for label in new):
        return np.concatenate([known, np.array(new, dtype=np.int64)])
    both: NDArray[Any] = np.empty(len(known) + len(new), dtype=object)
    both[:] = [*known.tolist(), *new]
    return both


class Unknown:
    """Labels of a table that a mode does not have, in the order of their new rows."""

    def __init__(self, where: str, labels: list[Any]) -> None:
        self.where = where
        self.labels = labels

    def __str__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:3])
        more = ", ..." if len(self.labels) > 3 else ""
        kind = "label is" if len(self.labels) == 1 else "labels are"
        return f"{len(self.labels)} {kind} unknown in {self.where}: {shown}{more}"


def rows_of(known: NDArray[Any], wanted: NDArray[Any]) -> NDArray[Any]:
    """The rows of labels, which may be of another type; -1 for those that are unknown."""
    if known.dtype.kind in "iu" and wanted.dtype.kind in "iu":
        keys, asked = known.tolist(), wanted.tolist()
    else:
        keys, asked = texts_of(known), texts_of(wanted)
    numbers = dict(zip(keys, range(len(keys))))
    if len(numbers) != len(keys):
        raise UsageError("two rows of a mode have the same label: the rows of another table cannot be found by labels")
    return np.fromiter((numbers.get(label, -1) for label in asked), dtype=np.int64, count=len(asked))


def matched(
    names: Names, n: int, size: int, labels: NDArray[Any], what: str
) -> tuple[NDArray[Any], list[Any]]:
    """The rows that labels have in mode n of a tensor or model of these names; new rows follow its own.

    Returns
    -------
    (rows, unknown)
        One row for each label, and the labels that have new rows.

    Raises
    ------
    UsageError
        If the mode has no labels, and the given ones are not the numbers of rows.
    """
    known = names.of_mode(n)
    if known is None:
        base = names.index_base or 0
        texts = texts_of(labels)
        if not all(map(_integer_text, texts)):
            bad = next(text for text in texts if not _integer_text(text))
            raise UsageError(
                f"{what} has labels such as {bad!r}, but {names.mode_text(n)} has numbers and no labels: two different "
                "numberings cannot be matched"
            )
        rows = np.array([int(text) for text in texts], dtype=np.int64) - base
        if len(rows) and rows.min() < 0:
            raise InputError(f"{what} has the number {rows.min() + base}, but rows count from {base}")
        return rows, [label for label, row in zip(labels.tolist(), rows) if row >= size]
    rows = rows_of(known, labels)
    new = rows < 0
    rows[new] = np.arange(size, size + int(new.sum()))
    return rows, labels[new].tolist()


def same_numbering(first: Names, second: Names) -> bool:
    """Whether the modes that have labels on both sides have the same ones in the same order."""
    for labels, other in zip(first.labels or (), second.labels or ()):
        if labels is not None and other is not None and labels is not other and texts_of(labels) != texts_of(other):
            return False
    return True
