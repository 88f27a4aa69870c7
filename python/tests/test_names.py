# SPDX-License-Identifier: BSD-3-Clause
"""What rows and modes are called: in tables, files, models and answers."""

import pickle
import warnings

import numpy as np
import pytest

import polyad

pd = pytest.importorskip("pandas")

users = [f"user{n:02d}" for n in range(30)]
items = [f"item{n:02d}" for n in range(20)]


def ratings(seed=0):
    """The value is the sum of a number of the user and one of the item."""
    rng = np.random.default_rng(seed)
    of_users, of_items = rng.normal(size=30), rng.normal(size=20)
    rows = [(users[u], items[i], 3 + of_users[u] + of_items[i]) for u in range(30) for i in rng.permutation(20)[:12]]
    return pd.DataFrame(rows, columns=["user", "item", "rating"])


@pytest.fixture(scope="module")
def parts():
    frame = ratings()
    test = frame[frame.user.isin(users[15:])].groupby("item").sample(3, random_state=1)
    return frame.drop(test.index), test


@pytest.fixture(scope="module")
def model(parts):
    return polyad.fast_tucker(parts[0], test=parts[1])


def as_polars(frame):
    return pytest.importorskip("polars").from_pandas(frame)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False)


packages = pytest.mark.parametrize("of", [lambda frame: frame, as_polars, as_arrow], ids=["pandas", "polars", "pyarrow"])


@packages
def test_integers_ascend_and_text_comes_as_it_appears(of):
    X = polyad.asarray(of(pd.DataFrame({"who": ["bob", "ann", "bob"], "when": [2**40, -3, 7], "much": [1.0, 2.0, 3.0]})))
    assert X.labels[0].tolist() == ["bob", "ann"] and X.labels[1].tolist() == [-3, 7, 2**40]
    assert X.mode_names == ["who", "when"]
    assert X.coords.tolist() == [[0, 2], [1, 0], [0, 1]] and X.values.tolist() == [1, 2, 3]


@packages
def test_missing_entries_are_named_by_column_and_row(of):
    good = pd.DataFrame({"who": ["a", "b", "c"], "when": [1.0, 2.0, 3.0], "much": [1.0, 2.0, 3.0]})
    for column in good.columns:
        bad = good.copy()
        bad[column] = bad[column].astype(object)
        bad.loc[1, column] = None
        if column != "who":
            bad[column] = bad[column].astype("Float64")
        with pytest.raises(polyad.InputError, match=f"column '{column}' has missing entries, the first in row 1"):
            polyad.asarray(of(bad))


@packages
def test_a_second_table_gets_the_numbers_of_the_first(of):
    frame = ratings()
    A = polyad.asarray(frame)
    turned = frame.sample(frac=1, random_state=3)[["item", "rating", "user"]].reset_index(drop=True)
    B = polyad.asarray(of(turned), like=A, value="rating")
    assert B.shape == A.shape and B.mode_names == ["user", "item"]
    assert A.labels[0][B.coords[:, 0]].tolist() == turned.user.tolist()
    assert A.labels[1][B.coords[:, 1]].tolist() == turned.item.tolist()
    np.testing.assert_array_equal(B.values, turned.rating)


def test_unknown_labels_are_errors_or_new_rows():
    A = polyad.asarray(ratings())
    other = pd.DataFrame({"user": ["zoe", users[3], "yan", "zoe"], "item": items[:4], "rating": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(polyad.InputError, match="2 labels are unknown in column 'user': 'zoe', 'yan'"):
        polyad.asarray(other, like=A)
    with pytest.warns(UserWarning, match="2 labels are unknown"):
        B = polyad.asarray(other, like=A, unknown="new")
    assert B.shape == (32, 20) and B.labels[0][30:].tolist() == ["zoe", "yan"]
    assert B.labels[0][B.coords[:, 0]].tolist() == other.user.tolist()
    with pytest.raises(polyad.InputError, match="unknown in mode 0"):
        polyad.asarray(polyad.asarray(other), like=A)


def test_tensors_with_other_labels_are_matched():
    frame = ratings()
    A, B = polyad.asarray(frame), polyad.asarray(frame.iloc[::-1])
    assert A.labels[0].tolist() != B.labels[0].tolist()
    C = polyad.asarray(B, like=A)
    np.testing.assert_array_equal(C.coords[::-1], A.coords)


def test_two_numberings_never_meet(tmp_path, model):
    A = polyad.asarray(ratings())
    with pytest.raises(polyad.UsageError, match="two different numberings"):
        polyad.asarray(polyad.SparseTensor([[0, 0]], [1.0], (30, 20)), like=A)
    X = polyad.SparseTensor([[0, 1], [1, 0], [2, 1]], [1.0, 2.0, 3.0])
    with pytest.raises(polyad.UsageError, match="labels such as 'user00'"):
        polyad.asarray(ratings(), like=X)
    (tmp_path / "from0.tns").write_text("0 0 1\n1 1 2\n2 2 3\n")
    (tmp_path / "from1.tns").write_text("1 1 1\n2 2 2\n")
    train, other = polyad.read(tmp_path / "from0.tns"), polyad.read(tmp_path / "from1.tns")
    assert (train.index_base, other.index_base) == (0, 1)
    assert train.found == {"dialect": "frostt", "index_base": 0, "duplicates": 0}
    with pytest.raises(polyad.UsageError, match="counts from 1, the other one from 0"):
        polyad.fast_tucker(train, test=other, rank=1, ridge=1.0)
    fitted = polyad.fast_tucker(train, rank=1, ridge=1.0)
    with pytest.raises(polyad.UsageError, match="counts from 1, the other one from 0"):
        polyad.predict(fitted, other)
    # A name is read as the first file was.
    assert polyad.asarray(tmp_path / "from1.tns", like=train).coords.tolist() == [[1, 1], [2, 2]]
    with pytest.raises(polyad.UsageError, match="place 0"):
        polyad.predict(model, [[30, 0]])


def test_a_test_table_is_matched(parts, model):
    test = parts[1]
    places = np.stack([pd.Index(model.labels[n]).get_indexer(test[name]) for n, name in enumerate(("user", "item"))], 1)
    right = float(np.sqrt(np.mean((polyad.predict(model, places) - test.rating.to_numpy()) ** 2)))
    assert right < 0.3
    # This is the error of the last epoch. After it, rows of few entries may be left to the biases.
    assert 0 < model.history[-1]["test"]["rmse"] <= right * 1.001
    np.testing.assert_array_equal(polyad.predict(model, test), polyad.predict(model, places))
    np.testing.assert_array_equal(polyad.predict(model, test[["item", "user"]]), polyad.predict(model, places))


def test_places_of_unknown_users(model):
    table = pd.DataFrame({"user": [users[1], "zoe"], "item": [items[2], items[3]]})
    with pytest.raises(polyad.UsageError, match=r"1 label is unknown in column 'user': 'zoe'.*place 1, \(30, \d+\)"):
        polyad.predict(model, table)
    known, new = polyad.predict(model, table, cold_start="bias")
    item = int(np.flatnonzero(model.labels[1] == items[3])[0])
    assert new == pytest.approx(model.mean + model.biases[1][item], rel=1e-5)
    assert known == polyad.predict(model, table[:1])[0]
    with pytest.raises(polyad.UsageError, match="cold_start is refuse or bias"):
        polyad.predict(model, table, cold_start="none")


def test_queries_know_labels_and_answers_are_tables(parts, model):
    train = parts[0]
    by_label = polyad.recommend(model, "item", [["user07"]], n=5, seen=train)
    row = int(np.flatnonzero(model.labels[0] == "user07")[0])
    by_number = polyad.recommend(model, 1, [[row]], n=5, seen=polyad.asarray(train))
    np.testing.assert_array_equal(by_label.rows, by_number.rows)
    by_table = polyad.recommend(model, "item", pd.DataFrame({"user": ["user07"]}), n=5, seen=train.sample(frac=1, random_state=5))
    np.testing.assert_array_equal(by_label.rows, by_table.rows)
    frame = by_label.to_frame()
    assert list(frame.columns) == ["query", "user", "item", "score"]
    assert frame.user.tolist() == ["user07"] * 5 and frame.item.tolist() == model.labels[1][by_label.rows].tolist()
    assert not set(frame.item) & set(train[train.user == "user07"].item)
    with pytest.warns(UserWarning, match="'zoe'"):
        polyad.recommend(model, "item", [["zoe"], [None]])
    alike = polyad.similar(model, "item", ["item03"], n=3).to_frame()
    assert list(alike.columns) == ["query", "item", "similar", "score"]
    assert set(alike.item) == {"item03"} and "item03" not in alike.similar.tolist()
    with pytest.raises(polyad.UsageError, match="'film'"):
        polyad.similar(model, "item", "film")
    with pytest.raises(polyad.UsageError, match="0 modes have the name 'film'"):
        polyad.recommend(model, "film", [["user07"]])


@pytest.mark.parametrize("kind", ["cp", "tucker", "fast_tucker", "tensor"])
@pytest.mark.parametrize("labels", [["a", "é", ""], [-5, 0, 2**60], ["10", "20", "30"]], ids=["text", "integers", "digits"])
def test_files_and_pickles_keep_labels(tmp_path, kind, labels):
    table = pd.DataFrame({"who": labels, "what": ["x", "y", "z"], "much": [1.0, 2.0, 3.0]})
    X = polyad.asarray(table)
    path = tmp_path / "m.npz"
    if kind == "tensor":
        made = X
        polyad.write(path, X)
    else:
        made = {"cp": lambda: polyad.cp_als(X, 1), "tucker": lambda: polyad.tucker(X, (1, 1)), "fast_tucker": lambda: polyad.fast_tucker(X, rank=1, ridge=1.0)}[kind]()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made.save(path)
    back = polyad.read(path) if kind == "tensor" else polyad.load(path)
    for again in (made, back, pickle.loads(pickle.dumps(made)), pickle.loads(pickle.dumps(back))):
        assert [of_mode.tolist() for of_mode in again.labels] == [labels, ["x", "y", "z"]]
        assert again.mode_names == ["who", "what"]
    with np.load(path) as arrays:  # no pickle
        assert bytes(arrays["mode_names"]) == b"whowhat" and arrays["label_ends_1"].tolist() == [1, 2, 3]


def test_labels_that_cannot_be_saved(tmp_path):
    for labels, says in ((["a", "a"], "two rows of mode 0 have the label 'a'"), (["a", "\ud800"], "not Unicode")):
        X = polyad.SparseTensor([[0], [1]], [1.0, 2.0], labels=[np.array(labels, dtype=object)])
        with pytest.raises(polyad.UsageError, match=says):
            polyad.write(tmp_path / "x.npz", X)
    assert not (tmp_path / "x.npz").exists()


def test_rows_without_entries(tmp_path):
    rng = np.random.default_rng(2)
    coords = np.stack([rng.integers(0, 12, 300), 10 * rng.integers(0, 8, 300)], axis=1)
    model = polyad.fast_tucker(polyad.SparseTensor(coords, 1 + coords[:, 1] / 10 % 5, duplicates="keep"), rank=1, ridge=0.01)
    assert model.observed[0] is None and np.flatnonzero(model.observed[1]).tolist() == list(range(0, 71, 10))
    model.save(tmp_path / "m.npz")
    for kept in (model, polyad.load(tmp_path / "m.npz"), pickle.loads(pickle.dumps(model))):
        rows, _ = polyad.recommend(kept, 1, [[3]], n=99)[0]
        assert sorted(rows.tolist()) == list(range(0, 71, 10))
        rows, _ = polyad.similar(kept, 1, 20, n=99)[0]
        assert sorted(rows.tolist()) == [0, 10, 30, 40, 50, 60, 70]
        _, scores = polyad.recommend(kept, 0, [[None]], n=1)[0]
        best = polyad.recommend(kept, 0, [[None]], n=1)[0][0][0]
        mean = polyad.predict(kept, [[best, item] for item in range(0, 71, 10)]).mean()
        assert scores[0] == pytest.approx(mean, rel=1e-5)
        with pytest.warns(UserWarning, match="1 of 1 queries"):
            polyad.recommend(kept, 0, [[15]])
        with pytest.raises(polyad.UsageError, match=r"place 1, \(3, 15\), has row 15 of mode 1, which has no entries"):
            polyad.predict(kept, [[3, 10], [3, 15]], cold_start="refuse")
        assert np.isfinite(polyad.predict(kept, [[3, 15]])).all()


def test_repeated_entries_have_one_option(tmp_path):
    table = pd.DataFrame({"user": ["ann", "bob", "ann"], "item": ["tea", "rice", "tea"], "rating": [5.0, 3.0, 4.0]})
    expected = {"sum": [9.0, 3.0], "last": [3.0, 4.0], "keep": [5.0, 3.0, 4.0]}
    polyad.write(tmp_path / "x.tns", polyad.asarray(table, duplicates="keep"))
    for how, values in expected.items():
        assert sorted(polyad.asarray(table, duplicates=how).values) == sorted(values)
        assert sorted(polyad.read(tmp_path / "x.tns", duplicates=how).values) == sorted(values)
        fitted = polyad.fast_tucker(table, duplicates=how, rank=1, ridge=1.0)
        assert fitted.history[-1]["train"]["entries"] == len(values)
    for make in (polyad.asarray, lambda x, duplicates: polyad.fast_tucker(x, duplicates=duplicates)):
        with pytest.raises(polyad.InputError, match="at the place"):
            make(table, duplicates="error")
        with pytest.raises(polyad.UsageError, match="duplicates is"):
            make(table, duplicates="first")
    assert polyad.fast_tucker(table, rank=1, ridge=1.0).history[-1]["train"]["entries"] == 3
    # What reads keeps; what computes has the option of the tool's commands.
    assert polyad.asarray(table).nnz == polyad.read(tmp_path / "x.tns").nnz == polyad.SparseTensor([[0], [0]], [1.0, 2.0]).nnz + 1 == 3
    assert polyad.cp_als(polyad.asarray(table), 1, max_iterations=1).fit == polyad.cp_als(table, 1, duplicates="sum", max_iterations=1).fit


@packages
def test_results_are_frames_on_request(of, parts, model):
    test = parts[1].reset_index(drop=True)
    frame = polyad.predict(model, of(test), frame=True)
    assert list(frame.columns) == ["user", "item", "prediction"]
    assert frame[["user", "item"]].equals(test[["user", "item"]].astype(frame[["user", "item"]].dtypes.to_dict()))
    np.testing.assert_array_equal(frame.prediction, polyad.predict(model, of(test)))
    new = pd.DataFrame({"user": ["nobody", test.user[0]], "item": [test.item[0]] * 2})
    assert polyad.predict(model, of(new), cold_start="bias", frame=True).user.tolist() == ["nobody", test.user[0]]
    assert polyad.predict(model, [[0, 1]], frame=True).user.tolist() == [model.labels[0][0]]
    best = polyad.recommend(model, "item", [[test.user[0]]], n=3, frame=True)
    assert best.equals(polyad.recommend(model, "item", [[test.user[0]]], n=3).to_frame()) and len(best) == 3
    assert polyad.similar(model, "item", [0], n=2, frame=True).columns.tolist()[-2:] == ["similar", "score"]


def test_models_of_files_count_as_the_files(tmp_path):
    for base in (0, 1):
        (tmp_path / "x.tns").write_text("".join(f"{i + base} {j + base} {i + j}\n" for i in range(4) for j in range(5)))
        X = polyad.read(tmp_path / "x.tns")
        polyad.fast_tucker(X, rank=1, ridge=1.0).save(tmp_path / "m.npz")
        assert polyad.load(tmp_path / "m.npz").index_base == base
        polyad.write(tmp_path / "y.tns", X)
        assert (tmp_path / "y.tns").read_text() == (tmp_path / "x.tns").read_text()


def test_numbering_is_as_fast_as_pandas():
    import time

    from polyad._table import columns_of

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.array([f"u{n}" for n in rng.integers(0, 200_000, 10**6)], dtype=object), "v": np.zeros(10**6)})

    def best(function):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
        return min(times)

    # pandas finds and numbers; a table is also searched for missing entries and converted.
    assert best(lambda: columns_of(frame, None, None, False)) < 4 * best(lambda: pd.factorize(frame.id))


def test_tables_of_text_have_the_options_of_the_tool(tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text("ride;from;to;start;cost\n1;Park;Port;2024-01-31 23:00:00;2\n2;Park;Zoo;2024-03-01 08:00:00;3\n3;Zoo;Port;2024-03-09 09:00:00;4\n")
    X = polyad.read(path, columns=["from", "to"], time="start", time_unit="month", value="cost")
    assert X.mode_names == ["from", "to", "start"] and X.labels[2].tolist() == ["2024-01", "2024-02", "2024-03"]
    assert X.values.tolist() == [2, 3, 4] and "semicolon-separated with a header" in X.found["table"]
    counted = polyad.read(path, columns=["from"], value="none")
    assert counted.values.tolist() == [1, 1, 1]
    assert polyad.read(path, delimiter="semicolon", header=True, columns=[1, 2], value=4).values.tolist() == [2, 3, 4]
    assert polyad.asarray(path, modes=["to"], value="cost", duplicates="sum").to_frame().to_dict("list") == {
        "to": ["Port", "Zoo"], "value": [6.0, 3.0]}
    for wrong in ({"columns": ["city"]}, {"columns": "from"}, {"time": "start"}, {"time_unit": "month"}, {"delimiter": "x"},
                  {"value": 1.5}):
        with pytest.raises(polyad.UsageError):
            polyad.read(path, **wrong)
    with pytest.raises(polyad.UsageError, match="no columns to choose"):
        polyad.write(tmp_path / "x.npz", X)
        polyad.read(tmp_path / "x.npz", columns=["from"])
    (tmp_path / "u.data").write_text("196\t242\t3\t881250949\n186\t302\t3\t891717742\n")
    with pytest.warns(UserWarning, match="looks like times"):
        polyad.read(tmp_path / "u.data")


def test_modes_have_names_in_products_and_frames():
    X = polyad.asarray(ratings())
    model = polyad.cp_als(X, 2, max_iterations=2)
    A = np.ones((20, 3))
    np.testing.assert_array_equal(polyad.ttm(X, A, "item").values, polyad.ttm(X, A, 1).values)
    # Threads add to rows in any order, so two calls may differ in the last bits.
    np.testing.assert_allclose(polyad.mttkrp(X, model, "item"), polyad.mttkrp(X, model, 1), rtol=1e-13)
    np.testing.assert_array_equal(polyad.ttmc(X, [None, A], "user"), polyad.ttmc(X, [None, A], 0))
    with pytest.raises(polyad.UsageError, match="0 modes have the name 'film'"):
        polyad.ttm(X, A, "film")
    frame = model.factor_frame("item")
    assert frame.index.name == "item" and frame.index.tolist() == list(X.labels[1]) and frame.shape == (20, 2)
    np.testing.assert_array_equal(frame.to_numpy(), model.factors[1])
    with pytest.raises(polyad.UsageError, match="count from 0"):
        model.factor_frame(2)
    back = X.to_frame()
    assert back.columns.tolist() == ["user", "item", "value"]
    pd.testing.assert_frame_equal(back.rename(columns={"value": "rating"}), ratings(), check_dtype=False)


def test_models_and_tables_are_matched_or_refused():
    frame = ratings()
    X = polyad.asarray(frame)
    model = polyad.cp_als(X, 2, max_iterations=20, tolerance=0)
    other = polyad.asarray(frame.iloc[::-1])
    assert other.labels[0].tolist() != X.labels[0].tolist()
    for same in (other, frame.iloc[::-1]):  # by labels, whatever the order of the rows is
        assert polyad.compare(model, same) == pytest.approx(polyad.compare(model, X), abs=1e-12)
        np.testing.assert_allclose(polyad.mttkrp(same, model, 0), polyad.mttkrp(X, model, 0), rtol=1e-12)
        assert polyad.cp_als(same, start=model, max_iterations=0).fit == pytest.approx(model.fit, abs=1e-9)
    turned = polyad.cp_als(other, 2, max_iterations=20, tolerance=0)
    with pytest.raises(polyad.UsageError, match="different numberings"):
        polyad.compare(model, turned)
    with pytest.raises(polyad.UsageError, match="different numberings"):
        polyad.cp_als(polyad.any_format(other, rank=2), start=model)


def test_five_lines_from_a_file_to_named_films():
    import importlib.util
    from pathlib import Path

    root = Path(__file__).resolve().parents[2]
    spec = importlib.util.spec_from_file_location("made_tables", root / "scripts" / "made_tables.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    path = str(root / "data" / "films.csv.xz")
    model = polyad.fast_tucker(path, range=(0.5, 5))
    found = polyad.recommend(model, "film", [["52"]], seen=path)
    frame = found.to_frame()
    films = made.Films()
    seen = {row[1] for row in films.rows() if row[0] == 52}
    best = sorted(set(films.films) - seen, key=lambda film: -films.expected_rating(52, film))
    assert frame.columns.tolist() == ["query", "user", "film", "score"] and frame.user.tolist() == [52] * 10
    assert set(frame.film) <= set(best[:25])


def test_estimators_match_the_labels_of_other_modes():
    frame = ratings()
    fitted = polyad.CP(rank=2, max_iterations=20).fit(frame)
    new = frame[frame.user.isin(users[:4])]
    turned = new.iloc[::-1]
    order = [list(polyad.asarray(turned).labels[0]).index(label) for label in polyad.asarray(new).labels[0]]
    np.testing.assert_allclose(fitted.transform(turned)[order], fitted.transform(new), rtol=1e-9)
    with pytest.raises(polyad.InputError, match="'milk'"):
        fitted.transform(pd.DataFrame({"user": ["zoe"], "item": ["milk"], "rating": [1.0]}))


def visits(seed=0):
    rng = np.random.default_rng(seed)
    rows = [(u, i, d, float(rng.uniform(1, 5))) for u in ("ann", "bob", "cy", "dee") for i in ("tea", "rice", "soup") for d in ("mon", "tue")]
    return pd.DataFrame(rows, columns=["user", "item", "day", "rating"])


def test_constraints_take_names_of_modes():
    table = visits()
    named = polyad.cp_als(table, 2, nonnegative=["user"], l1={"item": 0.1}, ridge={"user": 0.1, "day": 0.2}, max_iterations=5)
    numbered = polyad.cp_als(table, 2, nonnegative=[0], l1={1: 0.1}, ridge={0: 0.1, 2: 0.2}, max_iterations=5)
    assert named.fit == numbered.fit and named.constraints == numbered.constraints
    fixed = polyad.cp_als(table, 2, start=named, fix="user", max_iterations=2)
    np.testing.assert_array_equal(fixed.factors[0], named.factors[0])
    with pytest.raises(polyad.UsageError, match="'usr'"):
        polyad.cp_als(table, 2, nonnegative=["usr"])


@packages
def test_new_slices_are_matched_by_labels(of):
    table = visits()
    model = polyad.cp_als(table, 2, max_iterations=9)
    expected = model.transform(table, mode="user")
    others = table[table.user != "ann"].sample(frac=1, random_state=1)[["day", "rating", "item", "user"]]
    moved = others[["day", "item", "user", "rating"]]
    order = [["ann", "bob", "cy", "dee"].index(user) for user in dict.fromkeys(others.user)]
    np.testing.assert_allclose(model.transform(of(moved), mode="user"), expected[order], rtol=1e-10)
    twice = pd.concat([moved, moved])
    np.testing.assert_allclose(model.transform(of(twice), mode="user"), 2 * expected[order], rtol=1e-10)
    with pytest.raises(polyad.InputError, match="'cake'"):
        model.transform(of(moved.assign(item="cake")), mode="user")
    with pytest.raises(polyad.UsageError, match="two different numberings"):
        model.transform(polyad.SparseTensor([[0, 0, 0]], [1.0], (4, 3, 2)), mode="user")


def test_a_time_column_that_the_reader_left_out(tmp_path):
    """An unknown mode of time says which column the reader left out, and how to read it."""
    path = tmp_path / "t.csv"
    lines = [f"u{n % 7},i{n % 5},{n % 4 + 1},{1260759144 + 86400 * n}" for n in range(35)]
    path.write_text("\n".join(["user,item,rating,timestamp", *lines, ""]))
    X = polyad.read(path)
    assert X.found["left_out"] == ["timestamp"]
    parts = polyad.split(X, 0.2)
    advice = r"the table's column 'timestamp' was left out: read\(..., time='timestamp', time_unit='day'\)"
    for mode in ("timestamp", 2):
        for entries in (X, path, parts[0]):
            with pytest.raises(polyad.UsageError, match=advice):
                polyad.fast_tucker(entries, time_mode=mode)
        with pytest.raises(polyad.UsageError, match=advice):
            polyad.split(X, 0.2, "time", time_mode=mode)
    timed = polyad.read(path, time="timestamp", time_unit="day")
    assert timed.shape == (7, 5, 35) and timed.found["left_out"] == []
    assert len(polyad.split(timed, 0.2, "time", time_mode="timestamp")) == 2
    with pytest.raises(polyad.UsageError) as refused:
        polyad.fast_tucker(timed, time_mode="month")
    assert "left out" not in str(refused.value)
    path.write_text("\n".join(["user,item,rating,note,timestamp", *(line.replace(",12", ",x,12") for line in lines), ""]))
    two = polyad.read(path, columns=["user", "item"], value="rating")
    assert two.found["left_out"] == ["note", "timestamp"]
    with pytest.raises(polyad.UsageError, match=r"columns 'note', 'timestamp' were left out: read\(..., time=\.\.\., "):
        polyad.fast_tucker(two, time_mode=2)
    with pytest.raises(polyad.UsageError, match=advice):
        polyad.fast_tucker(two, time_mode="timestamp")


def test_products_keep_the_names_of_the_other_modes():
    X = polyad.SparseTensor(
        [[0, 0, 1], [1, 2, 0]], [1.0, 2.0], labels=[["a", "b"], ["p", "q", "r"], [7, 8]], mode_names=["user", "item", "day"]
    )
    product = polyad.ttm(X, np.ones((3, 2)), "item")
    assert product.mode_names == ["user", None, "day"]
    assert [None if of is None else list(of) for of in product.labels] == [["a", "b"], None, [7, 8]]
    assert polyad.ttm(polyad.SparseTensor(X.coords, X.values), np.ones((3, 2)), 1).labels is None


def test_a_frame_has_a_column_for_each_mode():
    """Also where two modes have one name."""
    X = polyad.SparseTensor([[0, 1, 2]], [1.5], mode_names=["user", "user", "value"])
    assert dict(X.to_frame().iloc[0]) == {"user": 0, "user_": 1, "value": 2, "value_": 1.5}


def test_labels_at_places_come_in_a_table():
    X = polyad.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], labels=[["a", "b"], ["p", "q"]])
    model = polyad.cp_als(X, 1, max_iterations=1)
    with pytest.raises(polyad.UsageError, match="coordinates are integers, not <U1; labels come in a table"):
        polyad.predict(model, [["a", "q"]])
