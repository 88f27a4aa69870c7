# SPDX-License-Identifier: BSD-3-Clause
"""Tables whose entries are missing, are of several types, or are not numbers."""

import datetime
import decimal

import numpy as np
import pytest

import polyad

pd = pytest.importorskip("pandas")

text = ["ann", "bob", "ann", "cy"]
whole = [3, 1, 3, 2]
day = [datetime.date(2026, 1, number) for number in (3, 1, 3, 2)]
columns = {
    "object": (text, "object"),
    "string": (text, "string"),
    "category": (text, "category"),
    "Int64": (whole, "Int64"),
    "float64": ([float(number) for number in whole], "float64"),
    "Float64": ([float(number) for number in whole], "Float64"),
    "datetime": (day, "datetime64[ns]"),
    "dates": (day, "object"),
    "decimals": ([decimal.Decimal(number) for number in whole], "object"),
    "boolean": ([True, False, True, False], "boolean"),
}


def table(column, position="user"):
    frame = pd.DataFrame({"user": ["a", "b", "c", "d"], "item": ["tea", "rice", "milk", "salt"], "rating": [1.0, 2.0, 3.0, 4.0]})
    frame[position] = column
    return frame


@pytest.mark.parametrize("name", columns)
def test_columns_of_names(name):
    entries, dtype = columns[name]
    X = polyad.asarray(table(pd.Series(entries, dtype=dtype)))
    assert [X.labels[0][k] for k in X.coords[:, 0]] == list(pd.Series(entries, dtype=dtype))


@pytest.mark.parametrize("name", columns)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("place", [0, 3])
def test_missing_names(name, missing, place):
    entries, dtype = columns[name]
    entries = list(entries)
    entries[place] = missing
    try:
        column = pd.Series(entries, dtype=dtype)
    except (TypeError, ValueError):
        return  # pandas has no such column
    for position in ("user", "item"):
        with pytest.raises(polyad.InputError, match=rf"column '{position}' has missing entries, the first in row {place} \(from 0\)"):
            polyad.asarray(table(column, position))
        with pytest.raises(polyad.InputError, match="missing"):
            polyad.fast_tucker(table(column, position))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "object"])
def test_missing_values(dtype):
    column = pd.Series([1, 2, pd.NA, 4], dtype=dtype)
    with pytest.raises(polyad.InputError, match="column 'rating' has missing entries, the first in row 2"):
        polyad.asarray(table(column, "rating"))
    with pytest.raises(polyad.InputError, match="missing"):
        polyad.TensorRecommender().fit([[0, 0], [1, 1], [0, 1], [1, 0]], column)
    with pytest.raises(polyad.InputError, match="missing"):
        polyad.TensorRecommender().fit(pd.DataFrame({"user": column, "item": column}), [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("entries", [["a", 1, "b", 2], [True, 1, 0, 2], [day[0], "a", "b", "c"], [(1, 2), "a", "b", "c"], [b"a", "a", "b", "c"]])
def test_names_of_several_types(entries):
    with pytest.raises(polyad.InputError, match="column 'user' mixes entries of"):
        polyad.asarray(table(pd.Series(entries, dtype=object)))


@pytest.mark.parametrize("entry", [{"a": 1}, [1, 2], {1, 2}, object(), np.zeros(2), 1j])
def test_names_without_an_order(entry):
    frame = table(pd.Series([entry] * 4, dtype=object))
    with pytest.raises(polyad.InputError, match="column 'user'"):
        polyad.asarray(frame)


@pytest.mark.parametrize("entry", ["5.0", "x", (1,), 1j, datetime.date(2026, 1, 1)])
def test_values_that_are_no_numbers(entry):
    with pytest.raises(polyad.Error, match="rating|real numbers"):
        polyad.asarray(table(pd.Series([1.0, 2.0, 3.0, entry], dtype=object), "rating"))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "float32", "object", "bool"])
def test_values_of_many_types(dtype):
    X = polyad.asarray(table(pd.Series([1, 0, 1, 1]).astype(dtype), "rating"))
    assert X.values.tolist() == [1, 0, 1, 1]


def test_numbers_of_several_types_have_an_order():
    X = polyad.asarray(table(pd.Series([1, 2.5, np.int64(3), np.float32(4)], dtype=object)))
    assert list(X.labels[0]) == [1, 2.5, 3, 4]


def test_columns_of_one_name():
    frame = pd.DataFrame([["a", "b", 1.0], ["c", "d", 2.0]], columns=["user", "user", "rating"])
    with pytest.raises(polyad.UsageError, match="2 columns 'user'"):
        polyad.asarray(frame)


def test_a_table_of_one_column():
    with pytest.raises(polyad.UsageError, match="only the column 'rating'"):
        polyad.asarray(pd.DataFrame({"rating": [1.0, 2.0]}))
