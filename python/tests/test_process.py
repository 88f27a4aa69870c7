# SPDX-License-Identifier: BSD-3-Clause
"""What concerns the whole process: start, end, Ctrl-C, forks, memory, backends."""

import doctest
import importlib
import inspect
import os
from pathlib import Path

import pytest
from conftest import on_host_only

import polyad


@pytest.mark.parametrize("name", ["polyad", "polyad._backend", "polyad._tensor", "polyad._models", "polyad._functions", "polyad._drivers", "polyad._implicit", "polyad.estimators"])
def test_the_examples_of_the_docstrings(name):
    module = importlib.import_module(name)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    found = finder.find(module)
    for wrapped in vars(module).values():
        function = inspect.unwrap(wrapped) if inspect.isfunction(wrapped) else wrapped
        if function is not wrapped and function.__module__ == name:
            found += finder.find(function, module=module, globs=dict(vars(module)))
    # Some versions of doctest find wrapped functions by themselves.
    for test in {test.docstring: test for test in found}.values():
        runner.run(test)
    examples = Path(module.__file__).read_text(encoding="utf-8").count(">>> ")
    assert runner.failures == 0 and runner.tries == examples > 0


def test_everything_has_a_docstring():
    for name in polyad.__all__:
        assert getattr(polyad, name).__doc__, name


def test_a_star_import_replaces_no_builtin(in_process):
    program = """
    import builtins, types
    before = dict(vars(builtins))
    names = {}
    exec("from polyad import *", names)
    import polyad
    names.pop("__builtins__")
    assert not set(names) & set(vars(builtins)), set(names) & set(vars(builtins))
    assert set(names) == set(polyad.__all__) and len(polyad.__all__) == len(set(polyad.__all__))
    # What is public and left out: the exception with a builtin's name.
    public = {n for n, x in vars(polyad).items() if not n.startswith("_") and not isinstance(x, types.ModuleType)}
    print(sorted(public - set(names)), before == vars(builtins), set(polyad.__all__) <= set(dir(polyad)))
    """
    assert in_process(program) == "['MemoryError'] True True\n"


def test_an_unknown_name_of_the_package():
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        polyad.nothing_of_this_name


def test_import_starts_nothing(in_process):
    program = """
    import sys, threading, polyad
    assert not any(name.startswith("polyad._polyad_") for name in sys.modules)
    # Nor are those that importing them takes: numpy.typing, difflib and inspect are for later.
    for name in ("scipy", "sklearn", "matplotlib", "pandas", "numpy.typing", "difflib", "polyad.estimators"):
        assert name not in sys.modules, name
    import os
    print(len(os.listdir("/proc/self/task")))
    """
    assert in_process(program, environment={"OPENBLAS_NUM_THREADS": "1"}).strip() == "1"


def test_exit_with_objects_alive(in_process):
    program = """
    import polyad, sys
    X, model = polyad.generate("low-rank", (20, 20, 20), rank=2)
    F = polyad.any_format(X, rank=2)
    fitted = polyad.cp_als(F, 2)
    sys.modules["kept"] = (X, F, fitted)
    cycle = [fitted]; cycle.append(cycle)
    print("done")
    """
    assert in_process(program) == "done\n"


def test_exit_after_an_exception(in_process):
    program = """
    import polyad
    X = polyad.generate("uniform", (20, 20, 20), 100)
    F = polyad.any_format(X, rank=2)
    raise ValueError("mine")
    """
    in_process(program, status=1)


INTERRUPTED = """
import numpy as np, os, polyad, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
X = polyad.generate("uniform", (60, 70, 80), 20000)
rng = np.random.default_rng(0)
places = np.stack([rng.integers(0, 50, 5000), rng.integers(0, 40, 5000)], axis=1)
ratings = rng.normal(size=5000)
long = dict(time_limit_s=60, max_iterations=2**31 - 1, tolerance=0)
begin = time.perf_counter()
def interrupt(seconds=0.3):
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
"""


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        ("polyad.cp_als(polyad.any_format(X, rank=8), 8, **long)", "CPModel"),
        ("polyad.cp_als(X, 8, **long)", "CPModel"),
        ("polyad.cp_als(X, 8, callback=lambda step: None, **long)", "CPModel"),
        ("polyad.tucker(X, 4, **long)", "TuckerModel"),
        ("polyad.fast_tucker(X, rank=2, shrinkage=5, max_epochs=2**31 - 1, time_limit_s=60)", "FastTuckerModel"),
        ("polyad.CP(8, max_iterations=2**31 - 1, tolerance=0).fit(X)", "CPModel"),
        ("polyad.TensorRecommender(2, shrinkage=5, max_epochs=2**31 - 1).fit(places, ratings)", "FastTuckerModel"),
    ],
)
def test_ctrl_c_raises_with_the_model_so_far(in_process, run, kind):
    program = f"""{INTERRUPTED}
polyad.cp_als(X, 8, max_iterations=1)  # what is done once in a process, such as measuring it
polyad.CP
for seconds in (1.5, 6, 24):  # a busy machine may not have ended the first iteration by then
    begin = time.perf_counter()
    interrupt(seconds)
    runs = 0
    try:
        while True:  # a loop of fits ends too
            runs += 1
            {run}
    except KeyboardInterrupt as exception:
        model = exception.model
    if model is not None:
        break
print(type(model).__name__, model.reason, len(model.history) > 0, runs)
print(time.perf_counter() - begin < 30 + seconds)
"""
    assert in_process(program) == f"{kind} interrupted True 1\nTrue\n"


def test_ctrl_c_during_a_search_raises_with_the_best_so_far(in_process):
    program = f"""{INTERRUPTED}
polyad.fast_tucker(X, rank=2, shrinkage=5, max_epochs=1)  # what is done once in a process
X = polyad.generate("uniform", (4000, 3000, 200), 3000000)  # the search takes many seconds
for seconds in (2, 8):  # a busy machine may not have begun the search by then
    interrupt(seconds)
    try:
        polyad.fast_tucker(X)
    except KeyboardInterrupt as exception:
        model = exception.model
    if model is not None:
        break
print(type(model).__name__, model.reason, len(model.history), model.choice["reason"])
print(polyad.predict(model, [[0, 0, 0]]).shape)
"""
    assert in_process(program) == "FastTuckerModel interrupted 0 interrupted\n(1,)\n"


def test_ctrl_c_ends_a_search_by_rankings_in_the_middle_of_a_fit(in_process):
    program = f"""{INTERRUPTED}
clicks = polyad.SparseTensor(rng.integers(0, 3000, (800000, 2)), np.ones(800000), (3000, 3000))
options = dict(rank=256, implicit=1.0, ridge=3.0)
begin = time.perf_counter()
polyad.choose_implicit(clicks, max_epochs=1, **options)
one_epoch = time.perf_counter() - begin
begin = time.perf_counter()
interrupt(2)
try:
    polyad.choose_implicit(clicks, **options)  # of 15 epochs
except KeyboardInterrupt:
    print("interrupted")
print(time.perf_counter() - begin < 2 + 3 * one_epoch)
"""
    assert in_process(program) == "interrupted\nTrue\n"


def test_ctrl_c_of_a_callback_or_before_the_first_iteration(in_process):
    program = f"""{INTERRUPTED}
def callback(step):
    if step["iteration"] == 3:
        raise KeyboardInterrupt
try:
    polyad.cp_als(X, 3, callback=callback, **long)
except KeyboardInterrupt as exception:
    print(len(exception.model.history), exception.model.fit > 0)
class Table:
    columns = ["a", "b"]
    def __getitem__(self, name):
        raise KeyboardInterrupt
try:
    polyad.cp_als(Table(), 3)
except KeyboardInterrupt as exception:
    print(exception.model)
"""
    assert in_process(program) == "3 True\nNone\n"


@pytest.mark.parametrize(
    "tool",
    [
        "cross_val_score(estimator, places, ratings, cv=10)",
        "GridSearchCV(estimator, {'rank': [1, 2, 3, 4]}, cv=5).fit(places, ratings)",
    ],
)
def test_ctrl_c_ends_what_scikit_learn_repeats(in_process, tool):
    pytest.importorskip("sklearn")
    program = f"""{INTERRUPTED}
from sklearn.model_selection import GridSearchCV, cross_val_score
polyad.cp_als(X, 8, max_iterations=1)  # what is done once in a process, such as measuring it
estimator = polyad.TensorRecommender(2, shrinkage=5, max_epochs=2**31 - 1)
begin = time.perf_counter()
interrupt(5)  # a busy machine has a model by then, and the first fit never ends by itself
try:
    {tool}
except KeyboardInterrupt as exception:
    print(type(exception.model).__name__)
print(time.perf_counter() - begin < 60)
"""
    assert in_process(program) == "FastTuckerModel\nTrue\n"


def test_a_fork_gets_a_clear_error(in_process):
    program = """
    import os, polyad
    X = polyad.generate("uniform", (20, 20, 20), 100)
    child = os.fork()
    if child == 0:
        try:
            polyad.cp_als(X, 2)
        except polyad.BackendError as error:
            os._exit(5 if "fork" in str(error) else 6)
        os._exit(7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(polyad.cp_als(X, 2).rank)
    """
    assert in_process(program).split() == ["5", "2"]


def test_a_fork_before_the_first_use_works(in_process):
    program = """
    import os, polyad
    child = os.fork()
    if child == 0:
        os._exit(polyad.cp_als(polyad.generate("uniform", (20, 20, 20), 100), 2).rank)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    assert in_process(program).split() == ["2"]


@on_host_only
def test_threads(in_process):
    program = """
    import polyad
    polyad.set_threads(1)
    X = polyad.generate("uniform", (20, 20, 20), 100)
    print(polyad.info()["threads"])
    polyad.cp_als(X, 2, threads=1)
    try:
        polyad.set_threads(2)
    except polyad.UsageError:
        print("refused")
    """
    assert in_process(program).split() == ["1", "refused"]
    with pytest.raises(polyad.UsageError):
        polyad.set_threads(0)


@on_host_only
def test_threads_of_the_environment(in_process):
    program = """
    import os, polyad
    os.environ["OMP_NUM_THREADS"] = "1"
    print(polyad.info()["threads"])
    """
    assert in_process(program, environment={"OMP_NUM_THREADS": "2"}).strip() == "1"
    program = "import polyad; print(polyad.info()['threads'])"
    assert in_process(program, environment={"OMP_NUM_THREADS": "2"}).strip() == "2"


def test_backends(in_process):
    name = polyad.info()["backend"]
    assert name in polyad.backends()
    polyad.set_backend(name)
    with pytest.raises(polyad.UsageError):
        polyad.set_backend("none")
    program = """
    import polyad
    try:
        polyad.info()
    except polyad.BackendError as error:
        print(error)
    """
    assert "it can be" in in_process(program, environment={"POLYAD_BACKEND": "none"})


def test_no_leak_over_ten_thousand_calls(in_process):
    program = """
    import numpy as np, os, polyad

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    rng = np.random.default_rng(0)
    coords = np.stack(np.unravel_index(rng.choice(1000, 100, replace=False), (10, 10, 10)), axis=1)
    values = rng.uniform(size=100)
    factors = [rng.uniform(size=(10, 2)) for _ in range(3)]

    def once():
        X = polyad.SparseTensor(coords, values, (10, 10, 10))
        polyad.mttkrp(X, factors, 0)
        model = polyad.cp_als(X, 2, max_iterations=1, format="coo-tiny-vec")
        try:
            polyad.cp_als(X, 2, format="none")
        except polyad.UsageError:
            pass
        return model

    for _ in range(1000):
        once()
    before = resident()
    for _ in range(10000):
        once()
    print((resident() - before) / 2**20)
    """
    # A leak of one factor matrix a call would be more than 2 MiB, of a tensor's arrays more than 12.
    # One thread: while other work is running, two of them wait for each other.
    assert float(in_process(program, environment={"OMP_NUM_THREADS": "1"})) < 1.5
