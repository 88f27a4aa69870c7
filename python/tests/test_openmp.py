# SPDX-License-Identifier: BSD-3-Clause
"""One OpenMP runtime in a process, whatever else is imported, and in whatever order."""

import itertools
import shutil
import subprocess

import pytest
from conftest import on_host_only

from polyad import _openmp

pytestmark = [on_host_only, pytest.mark.skipif(not _openmp._needed(), reason="a backend without OpenMP")]

# Two threads for each runtime: the main one, and one that the runtime starts.
two_threads = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}

helpers = """
import ctypes, os

def threads():
    return len(os.listdir("/proc/self/task"))

def use():
    import polyad
    polyad.cp_als(polyad.generate("uniform", (50, 50, 50), 2000), 4, max_iterations=3)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A library as those of wheels are, stand_in.so: its libgomp has a name of its own."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc")
    here = tmp_path_factory.mktemp("openmp")

    def gcc(*arguments):
        subprocess.run(["gcc", "-fPIC", *arguments], cwd=here, check=True)

    installed = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True, check=True)
    with open(installed.stdout.strip(), "rb") as file:
        library = file.read()
    assert b"\0libgomp.so.1\0" in library
    # The dynamic linker knows libraries by this name, of the same length.
    (here / "libgomp-x.so").write_bytes(library.replace(b"\0libgomp.so.1\0", b"\0libgomp-x.so\0"))
    (here / "stand_in.c").write_text(
        """
        #include <omp.h>
        int most(void) { return omp_get_max_threads(); }
        void set_most(int n) { omp_set_num_threads(n); }
        int count(void) {
          int threads = 0;
          #pragma omp parallel
          {
            #pragma omp atomic
            ++threads;
          }
          return threads;
        }
        """
    )
    gcc("-fopenmp", "-c", "stand_in.c")
    gcc("-shared", "stand_in.o", "libgomp-x.so", "-Wl,-rpath,$ORIGIN", "-o", "stand_in.so")
    # One that is too old: it lacks nearly everything.
    (here / "old.c").write_text("void GOMP_parallel(void) {}")
    gcc("-shared", "old.c", "-o", "libgomp-old.so")
    return here


@pytest.fixture
def run(folder, in_process):
    def run(program, **environment):
        load = f"stand_in = lambda: ctypes.CDLL('{folder}/stand_in.so')\nfolder = '{folder}'\n"
        return in_process(helpers + load + program, environment={**two_threads, **environment}).split()

    return run


def test_a_runtime_that_came_first_is_used(run):
    program = """
other = stand_in()
assert other.count() == 2
use()
import polyad
print(threads(), os.path.basename(polyad.info()["openmp"]))
"""
    assert run(program) == ["2", "libgomp-x.so"]
    # What sharing is for: without it there is one more thread.
    apart = run(program, POLYAD_SHARE_OPENMP="0")
    assert apart[0] == "3" and apart[1] != "libgomp-x.so"


@pytest.mark.parametrize("first", ["import polyad", "use()"])
def test_a_library_that_comes_later_uses_ours(run, first):
    program = f"""
{first}
other = stand_in()
assert other.count() == 2
use()
import polyad
other.set_most(5)
# The number of a runtime is seen by all who use it.
print(threads(), *(ctypes.CDLL(file).omp_get_max_threads() for file in (polyad.info()["openmp"], folder + "/libgomp-x.so")))
"""
    assert run(program) == ["2", "5", "2"]


def test_the_number_of_threads_of_others_stays(run):
    program = """
import polyad
polyad.set_threads(1)
other = stand_in()
use()
print(polyad.info()["threads"], other.most(), other.count())
"""
    assert run(program) == ["1", "2", "2"]


def test_a_runtime_that_is_too_old(run):
    program = """
ctypes.CDLL(folder + "/libgomp-old.so", mode=ctypes.RTLD_GLOBAL)
import polyad
try:
    polyad.info()
except ImportError as error:
    print("too old" in str(error), "omp_get_thread_num" in str(error), "libgomp-old.so" in str(error))
"""
    assert run(program) == ["True"] * 3
    # One that nobody sees is passed over.
    local = """
ctypes.CDLL(folder + "/libgomp-old.so")
use()
import polyad
print(os.path.basename(polyad.info()["openmp"]).startswith("libgomp-old"))
"""
    assert run(local) == ["False"]


def test_other_libraries_in_a_fork(run):
    program = """
import polyad, signal
other = stand_in()
use()
if not hasattr(ctypes.CDLL(polyad.info()["openmp"]), "omp_pause_resource_all"):
    print("2 2")  # its child waits for ever
    raise SystemExit
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(other.count())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), other.count())
use()
"""
    assert run(program) == ["2", "2"]


def orders(*packages):
    return [",".join(order) for order in itertools.permutations(packages)]


# Where scikit-learn and then torch come before Polyad, these two have a runtime each already.
@pytest.mark.parametrize(
    "order", orders("polyad", "sklearn") + [order for order in orders("polyad", "sklearn", "torch") if order != "sklearn,torch,polyad"]
)
def test_with_real_packages(order, in_process):
    for name in order.split(","):
        pytest.importorskip(name)
    program = (
        helpers
        + f"""
import importlib
for name in "{order}".split(","):
    importlib.import_module("sklearn.ensemble" if name == "sklearn" else name)
import numpy as np
before = threads()
use()
after = threads()
from sklearn.ensemble import HistGradientBoostingRegressor
rng = np.random.default_rng(0)
HistGradientBoostingRegressor(max_iter=2).fit(rng.random((20000, 4)), rng.random(20000))
if "torch" in "{order}":
    import torch
    torch.ones(2000, 2000).exp().sum()
print(after - before <= 1, threads() - after)
"""
    )
    assert in_process(program, environment=two_threads).split() == ["True", "0"]
