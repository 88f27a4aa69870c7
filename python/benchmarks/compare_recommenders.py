#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the defaults of Polyad's completion with implicit and scikit-surprise; prints the tables
of docs/evaluation.md.

    python3 python/benchmarks/compare_recommenders.py RATINGS... [--part implicit | explicit] [--seeds 5] [--pairs 5]

RATINGS are coordinate files of user, item, time and rating, which are joined, such as those of ml-latest-small. The packages
are installed by

    pip install implicit==0.7.3 scikit-surprise==1.1.5 ranx==0.3.21 pandas 'numpy<2'

Implicit feedback: ratings of 4 and more become 1. Of each user an entry of the last time is held out, drawn by the seed, and
NDCG@10 is measured on these. Another entry of each user, drawn alike from the others, chooses among twelve settings of
implicit's ALS; `implicit=True` of Polyad chooses by the same entries and a tenth of the others. polyad.evaluate scores all models, and ranx the same lists.
Explicit ratings: five folds of entries, drawn at random; each package has its defaults.

Times are processor times (user and system, of all threads), so that other work on the machine matters less; runs that are
compared alternate.
"""

import argparse
import os
import time

# implicit asks for a single thread of BLAS. Threads that wait must not count as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np  # noqa: E402

import polyad  # noqa: E402

FACTORS, ITERATIONS, K = 64, 15, 10
GRID = [(alpha, ridge) for alpha in (1, 3, 10, 40) for ridge in (1, 10, 100)]


def joined(files):
    parts = [polyad.read(file) for file in files]
    coords = np.concatenate([np.asarray(part.coords) for part in parts])
    values = np.concatenate([np.asarray(part.values) for part in parts])
    return coords, values, tuple(max(sizes) for sizes in zip(*(part.shape for part in parts)))


def timed(function):
    """What it returns, and its processor time in seconds."""
    begin = time.process_time()
    result = function()
    return result, time.process_time() - begin


def median(numbers):
    return float(np.median(numbers))


# --- implicit feedback


def als(train, alpha, ridge, seed, threads, use_cg=True):
    """implicit's model. Without conjugate gradients it solves each row exactly, as Polyad does."""
    from implicit.cpu.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    users, items = np.asarray(train.coords).T.astype(np.int64)
    matrix = csr_matrix((np.asarray(train.values), (users, items)), shape=train.shape)
    model = AlternatingLeastSquares(
        factors=FACTORS,
        regularization=ridge,
        alpha=alpha,
        iterations=ITERATIONS,
        num_threads=threads,
        random_state=seed,
        use_cg=use_cg,
    )
    model.fit(matrix, show_progress=False)
    return model


def as_model(theirs, observed):
    factors = [np.asarray(theirs.user_factors), np.asarray(theirs.item_factors)]
    model = polyad.FastTuckerModel(factors, [np.eye(FACTORS, dtype=np.float32)] * 2)
    model.observed = observed
    return model


def by_users(model, test, train):
    """NDCG of each user by polyad.evaluate, as an array over all users; NaN without a test entry."""
    found = polyad.evaluate(model, test, train, K, baselines=False, per_user=True)
    frame = found.users_frame()
    numbers = np.full(test.shape[0], np.nan)
    numbers[frame.user.to_numpy()] = frame.ndcg.to_numpy()
    return numbers


def by_ranx(model, test, train):
    """The same from ranx, for the lists of polyad.recommend."""
    from ranx import Qrels, Run, evaluate

    relevant = {str(int(user)): {str(int(item)): 1} for user, item in np.asarray(test.coords)}
    lists = polyad.recommend(model, 1, [[int(user)] for user in relevant], K, seen=train)
    run = Run({user: {str(int(item)): float(-rank) for rank, item in enumerate(items)} for user, (items, _) in zip(relevant, lists)})
    evaluate(Qrels(relevant), run, f"ndcg@{K}")
    numbers = np.full(test.shape[0], np.nan)
    for user, score in run.scores[f"ndcg@{K}"].items():
        numbers[int(user)] = score
    return numbers


def two_modes(*parts):
    """Users x items, a part after the other."""
    coords = np.concatenate([np.asarray(part.coords)[:, :2] for part in parts])
    return polyad.SparseTensor(coords, np.ones(len(coords), dtype=np.float32), parts[0].shape[:2])


def search_grid(kept, held, seed, threads):
    """The setting of implicit with the best NDCG on the validation entries."""
    observed = polyad.fast_tucker(kept, implicit=40, rank=1, max_epochs=0).observed
    found = [
        (float(np.nanmean(by_users(as_model(als(kept, *setting, seed, threads), observed), held, kept))), setting)
        for setting in GRID
    ]
    return max(found)


NAMES = ["polyad, implicit=40", "polyad, implicit=True", "implicit, best of 12"]


def one_seed(liked, seed, options):
    """NDCG of each user by each method (3 x users), that of the most popular items, the processor times of both searches,
    and the training set."""
    known, test = polyad.split(liked, by="last", mode=0, time_mode=2, seed=seed)
    kept, held = polyad.split(known, by="last", mode=0, time_mode=2, seed=seed)
    train, test, kept, held = two_modes(kept, held), two_modes(test), two_modes(kept), two_modes(held)
    plain = polyad.fast_tucker(train, implicit=40, seed=seed)
    chosen, auto_time = timed(lambda: polyad.fast_tucker(train, implicit=True, seed=seed))
    (validation, setting), grid_time = timed(lambda: search_grid(kept, held, seed, options.threads))
    theirs, last_time = timed(lambda: als(train, *setting, seed, options.threads))
    models = [plain, chosen, as_model(theirs, plain.observed)]
    numbers = np.array([by_users(model, test, train) for model in models])
    gap = max(np.nanmax(np.abs(of - by_ranx(model, test, train))) for of, model in zip(numbers, models)) if seed == 0 else np.nan
    popular = polyad.evaluate(plain, test, train, K).get("ndcg", "popular")[0]
    choice = chosen.choice
    print(
        f"seed {seed}: {train.nnz} entries, {test.nnz} users; auto chose alpha {choice['implicit']:g}, ridge {choice['ridge']:g}, "
        f"R {choice['rank']} ({choice['ndcg']:.4f} on the validation entries); the grid alpha {setting[0]}, ridge {setting[1]} "
        f"({validation:.4f}); NDCG@{K} " + ", ".join(f"{number:.4f}" for number in np.nanmean(numbers, axis=1)),
        flush=True,
    )
    if seed == 0:
        print(f"the largest difference from ranx in any user's NDCG@{K}: {gap:.1e}", flush=True)
    return numbers, popular, (auto_time, grid_time + last_time), train


def ranking_table(numbers, popular):
    """numbers: seeds x 3 x users"""
    seeds = range(len(numbers))
    print(f"\n| NDCG@{K} | " + " | ".join(f"seed {seed}" for seed in seeds) + " | mean | less implicit's |")
    print("| --- |" + " --- |" * (len(seeds) + 2))
    for n, name in enumerate(NAMES):
        # The mean over seeds first, since the same users are in all of them.
        gaps = np.nanmean(numbers[:, n] - numbers[:, -1], axis=0)
        gaps = gaps[~np.isnan(gaps)]
        text = "" if n + 1 == len(NAMES) else f"{gaps.mean():+.4f} +- {gaps.std(ddof=1) / np.sqrt(len(gaps)):.4f}"
        each = np.nanmean(numbers[:, n], axis=1)
        print(f"| {name} | " + " | ".join(f"{number:.4f}" for number in each) + f" | {each.mean():.4f} | {text} |")
    print("| most popular items | " + " | ".join(f"{number:.4f}" for number in popular) + f" | {np.mean(popular):.4f} | |")


def implicit_feedback(coords, values, shape, options):
    liked = polyad.SparseTensor(coords[values >= 4], np.ones((values >= 4).sum(), dtype=np.float32), shape)
    results = [one_seed(liked, seed, options) for seed in range(options.seeds)]
    ranking_table(np.array([numbers for numbers, *_ in results]), [popular for _, popular, *_ in results])
    implicit_times(results[-1][3], [searches for _, _, searches, _ in results], options)


def implicit_times(train, searches, options):
    fits = {
        f"polyad, R = {FACTORS}, {ITERATIONS} epochs": lambda: polyad.fast_tucker(
            train, implicit=10, ridge=25, rank=FACTORS, max_epochs=ITERATIONS
        ),
        "polyad, implicit=40 (R = 32, 20 epochs)": lambda: polyad.fast_tucker(train, implicit=40),
        f"implicit, {FACTORS} factors, {ITERATIONS} iterations": lambda: als(train, 10, 25, 0, options.threads),
        "implicit, the same with use_cg=False": lambda: als(train, 10, 25, 0, options.threads, use_cg=False),
    }
    seconds = {name: [] for name in fits}
    for pair in range(options.pairs + 1):
        for name, fit in fits.items():
            taken = timed(fit)[1]
            if pair > 0:
                seconds[name].append(taken)
    print(f"\n| processor time on {options.threads} threads | seconds |\n| --- | --- |")
    for name, taken in seconds.items():
        print(f"| {name} | {median(taken):.3f} ({min(taken):.3f} to {max(taken):.3f}) |")
    for name, taken in zip(('polyad, implicit=True, with the last fit', "the grid of implicit, with the last fit"), zip(*searches)):
        print(f"| {name} | {median(taken):.2f} ({min(taken):.2f} to {max(taken):.2f}) |")


# --- explicit ratings


EXPLICIT = ["polyad", "polyad, predictions clipped", "SVD", "SVD++", "BaselineOnly"]


def one_fold(coords, values, shape, fold):
    """(RMSE, processor time of the fit) of each of EXPLICIT."""
    import pandas
    from surprise import SVD, BaselineOnly, Dataset, Reader, SVDpp

    is_test = np.random.default_rng(0).permutation(len(values)) % 5 == fold
    scale = float(values.min()), float(values.max())
    places, truth = coords[is_test][:, :2], values[is_test]
    train = polyad.SparseTensor(coords[~is_test][:, :2], values[~is_test].astype(np.float32), shape[:2], duplicates="keep")
    model, taken = timed(lambda: polyad.fast_tucker(train))
    predictions = np.asarray(polyad.predict(model, places, cold_start="bias"), dtype=float)
    found = [(predictions, taken), (np.clip(predictions, *scale), taken)]
    columns = {"user": coords[~is_test, 0].astype(int), "item": coords[~is_test, 1].astype(int), "rating": values[~is_test]}
    trainset = Dataset.load_from_df(pandas.DataFrame(columns), Reader(rating_scale=scale)).build_full_trainset()
    tests = [(int(user), int(item), rating) for (user, item), rating in zip(places, truth)]
    for algorithm in (SVD(random_state=fold), SVDpp(random_state=fold), BaselineOnly(verbose=False)):
        _, taken = timed(lambda: algorithm.fit(trainset))
        found.append((np.array([prediction.est for prediction in algorithm.test(tests)]), taken))
    errors = [(float(np.sqrt(np.mean((predictions - truth) ** 2))), taken) for predictions, taken in found]
    print(f"fold {fold}: " + ", ".join(f"{name} {error:.4f} in {taken:.2f} s" for name, (error, taken) in zip(EXPLICIT, errors)), flush=True)
    return errors


def explicit_ratings(coords, values, shape, options):
    found = np.array([one_fold(coords, values, shape, fold) for fold in range(5)])
    print("\n| RMSE | " + " | ".join(f"fold {fold}" for fold in range(5)) + " | mean | processor time of a fit in s |")
    print("| --- |" + " --- |" * 7)
    for n, name in enumerate(EXPLICIT):
        each = " | ".join(f"{error:.4f}" for error in found[:, n, 0])
        print(f"| {name} | {each} | {found[:, n, 0].mean():.4f} | {median(found[:, n, 1]):.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ratings", nargs="+")
    parser.add_argument("--part", choices=["implicit", "explicit"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    polyad.set_threads(options.threads)
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    coords, values, shape = joined(options.ratings)
    print(f"{names[0] if names else 'a CPU'}, {os.cpu_count()} cores, {options.threads} threads; {len(values)} ratings, {shape}\n")
    if options.part != "explicit":
        implicit_feedback(coords, values, shape, options)
    if options.part != "implicit":
        print()
        explicit_ratings(coords, values, shape, options)


if __name__ == "__main__":
    main()
