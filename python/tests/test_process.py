# SPDX-License-Identifier: BSD-3-Clause
"""What concerns the whole process: start, end, Ctrl-C, forks, memory, backends."""

import doctest
import importlib
import os

import pytest
from conftest import on_host_only

import polyad


@pytest.mark.parametrize("name", ["polyad", "polyad._backend", "polyad._tensor", "polyad._models", "polyad._functions", "polyad.estimators"])
def test_the_examples_of_the_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0 and result.attempted > 0


def test_everything_has_a_docstring():
    for name in polyad.__all__:
        assert getattr(polyad, name).__doc__, name


def test_import_starts_nothing(in_process):
    program = """
    import sys, threading, polyad
    assert not any(name.startswith("polyad._polyad_") for name in sys.modules)
    assert not any(name in sys.modules for name in ("scipy", "sklearn", "matplotlib", "pandas"))
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


def test_ctrl_c_ends_with_the_model_so_far(in_process):
    program = """
    import os, polyad, signal, threading, time
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    X = polyad.generate("uniform", (200, 200, 200), 20000)
    F = polyad.any_format(X, rank=8)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.perf_counter()
    model = polyad.cp_als(F, 8, tolerance=0, max_iterations=2**31 - 1, time_limit_s=60)
    print(model.reason, model.fit > 0, time.perf_counter() - begin < 20)
    """
    assert in_process(program) == "interrupted True True\n"


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
    # One thread: beside other work two of them wait for each other.
    assert float(in_process(program, environment={"OMP_NUM_THREADS": "1"})) < 1.5
