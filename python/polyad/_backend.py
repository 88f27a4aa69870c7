# SPDX-License-Identifier: BSD-3-Clause
"""The compiled modules, one for each backend, of which the chosen one is loaded at the first use."""

from __future__ import annotations

import importlib
import importlib.util
import os
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from . import _nvidia, _openmp
from ._errors import BackendError, UsageError

_names = ("openmp", "serial", "cuda")
_lock = threading.RLock()
_wanted: str | None = None
_threads = 0
_device = -1
_module: ModuleType | None = None
# The OpenMP runtime read it while polyad was imported, or before.
_threads_of_environment = os.environ.get("OMP_NUM_THREADS")


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(f"polyad._polyad_{name}") is not None


def backends() -> list[str]:
    """The backends that are installed.

    Returns
    -------
    list of str
        Of ``"openmp"``, ``"serial"`` and ``"cuda"``.
    """
    return [name for name in _names if _is_installed(name)]


def set_backend(name: str) -> None:
    """Choose the backend, before the first use.

    The environment variable ``POLYAD_BACKEND`` does the same. Without either the first of
    :func:`backends` is taken.

    Parameters
    ----------
    name : {"openmp", "serial", "cuda"}

    Raises
    ------
    UsageError
        If there is no such backend, or another one is in use already.
    BackendError
        If it is not installed.
    """
    global _wanted
    if name not in _names:
        raise UsageError(f"no backend '{name}'; there are {', '.join(_names)}")
    with _lock:
        if _module is not None and _module.backend()[0] != name:
            raise UsageError(f"the backend {_module.backend()[0]} is in use already")
        if not _is_installed(name):
            raise BackendError(f"the backend {name} is not installed; there are: {', '.join(backends()) or 'none'}")
        _wanted = name


def set_threads(threads: int) -> None:
    """Choose the number of threads, before the first use.

    Kokkos starts once in a process, with this number of threads. Otherwise it uses ``OMP_NUM_THREADS``, or
    all cores.

    Parameters
    ----------
    threads : int
        1 or more.

    Raises
    ------
    UsageError
        If Kokkos runs already with another number.
    """
    global _threads
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise UsageError(f"threads is an int of 1 or more, not {threads!r}")
    with _lock:
        if _module is not None and _module.is_started():
            if _module.concurrency() != threads:
                raise UsageError(
                    f"Kokkos runs with {_module.concurrency()} threads already: set the number before the first use"
                )
            return
        _threads = threads


def set_device(device: int) -> None:
    """Choose the GPU, before the first use.

    Kokkos starts once in a process, on one device. Without this it uses the first one that is available.

    Parameters
    ----------
    device : int
        Its number, from 0.

    Raises
    ------
    UsageError
        If another device is in use already, or the backend computes on the host.
    """
    global _device
    if isinstance(device, bool) or not isinstance(device, int) or device < 0:
        raise UsageError(f"a device is an int of 0 or more, not {device!r}")
    with _lock:
        loaded = module()
        if not loaded.backend()[1]:
            raise UsageError(f"the backend {loaded.backend()[0]} computes on the host, not on device {device}")
        if loaded.is_started() and loaded.device_in_use() != device:
            raise UsageError(f"Polyad computes on device {loaded.device_in_use()} already: choose before the first use")
        _device = device


def info() -> dict[str, Any]:
    """Describe what computes: backend, threads and device. Starts Kokkos.

    Returns
    -------
    dict
        ``backend``, ``threads``, ``device`` (its number; None on hosts), ``openmp`` (the file of the OpenMP
        runtime; None without one) and ``installed``.

    Examples
    --------
    >>> import polyad
    >>> polyad.info()["backend"] in ("openmp", "serial", "cuda")
    True
    """
    module = engine()
    number = module.device_in_use()
    return {
        "backend": module.backend()[0],
        "threads": module.concurrency(),
        "device": None if number < 0 else number,
        "openmp": module.openmp_runtime() or None,
        "installed": backends(),
    }


def _expect_cpu(name: str) -> None:
    """An ImportError on a CPU without what the module was compiled for; a crash otherwise."""
    needs = Path(__file__).with_name(f"_polyad_{name}.cpu")
    if not needs.exists():
        return
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return
    for line in text.splitlines():
        if line.startswith("flags"):
            missing = sorted(set(needs.read_text().split()) - set(line.split()))
            if missing:
                raise ImportError(
                    f"Polyad was compiled for a newer CPU: this one lacks {', '.join(missing)}. "
                    "Build it from source on this machine: pip install --no-binary polyad polyad"
                )
            return


def module() -> ModuleType:
    """The compiled module, loaded but perhaps not started: what reads files needs no Kokkos."""
    global _module
    if _module is not None:
        return _module
    with _lock:
        if _module is None:
            name = _wanted or os.environ.get("POLYAD_BACKEND") or next(iter(backends()), None)
            if name is None:
                raise BackendError("no backend is installed: the package was not built")
            if name not in _names:
                raise BackendError(f"POLYAD_BACKEND is '{name}'; it can be {', '.join(_names)}")
            if not _is_installed(name):
                raise BackendError(f"the backend {name} is not installed; there are: {', '.join(backends()) or 'none'}")
            _expect_cpu(name)
            _openmp.expect_whole()
            _nvidia.open_libraries(Path(__file__).with_name(f"_polyad_{name}.nvidia"))
            try:
                _module = importlib.import_module(f"polyad._polyad_{name}")
            except ImportError as error:
                if "libgomp" in str(error):
                    raise ImportError(f"{error}. Polyad requires an OpenMP runtime, such as Debian's libgomp1") from error
                raise
        return _module


def _new_threads_of_environment() -> int:
    """OMP_NUM_THREADS, where a program has set it since the import; else 0."""
    now = os.environ.get("OMP_NUM_THREADS", "")
    return int(now) if now != _threads_of_environment and now.isdecimal() else 0


def engine(threads: int | None = None, device: int | None = None) -> ModuleType:
    """The compiled module, started."""
    loaded = module()
    if threads is not None:
        set_threads(threads)
    if device is not None:
        set_device(device)
    if not loaded.is_started():
        with _lock:
            if not loaded.is_started():
                problem = loaded.backend()[2]
                if problem:
                    raise BackendError(problem)
                loaded.start(_threads or _new_threads_of_environment(), _device)
                _openmp.end_threads_before_forks(loaded.openmp_runtime())
    return loaded
