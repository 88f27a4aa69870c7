# SPDX-License-Identifier: BSD-3-Clause
"""Every allocation of every case fails once, in many processes at once, on all GPUs in turn."""
import concurrent.futures
import re
import shutil
import subprocess
import threading
import time

# Allocations that one process fails: its start costs as much as a few of them.
STEP = 60
# A run that waits for ever; the slowest case takes some seconds.
HANGS_AFTER = 120


def gpus():
    """How many there are."""
    if shutil.which("nvidia-smi") is None:
        return 0
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.count("GPU ")


class Case:

    def __init__(self, name):
        self.name = name
        self.next = 1
        self.met_end = False  # a process got beyond its last allocation
        self.is_cut = False  # time ended some of its processes
        self.failed = 0
        self.seconds = 0.0


class EveryAllocation:

    def __init__(self, torture, seconds):
        self.torture = torture
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.gpus = gpus()
        if self.process(torture.folder, 0, "allocation_cases").wait() != 0:
            raise RuntimeError((torture.folder / "err").read_text(errors="replace"))
        self.cases = [Case(name) for name in (torture.folder / "out").read_text().splitlines()]
        self.turn = 0
        self.totals = {"inside Kokkos were spared": 0, "Views left their record": 0,
                       "left blocks of kernels' first launches": 0}

    def process(self, folder, gpu, part, *case):
        environment = {**self.torture.environment, "OMP_NUM_THREADS": "2"}
        if self.gpus:
            environment["CUDA_VISIBLE_DEVICES"] = str(gpu)
        with open(folder / "out", "w", encoding="utf-8") as out, open(folder / "err", "w", encoding="utf-8") as err:
            return subprocess.Popen([self.torture.program, part, folder, "1e9", str(self.torture.seed), *map(str, case)],
                                    stdout=out, stderr=err, env=environment)

    def next(self):
        """A case and its next allocations; all cases advance together."""
        with self.lock:
            for _ in self.cases:
                case = self.cases[self.turn % len(self.cases)]
                self.turn += 1
                if not case.met_end:
                    case.next += STEP
                    return case, case.next - STEP
        return None

    def work(self, number):
        folder = self.torture.folder / str(number)
        folder.mkdir()
        for packed in self.torture.folder.glob("in.tns.*"):
            shutil.copy(packed, folder)
        while time.monotonic() < self.end and (unit := self.next()):
            case, first = unit
            last = first + STEP - 1
            while first <= last and time.monotonic() < self.end:
                first = self.fail(folder, number, case, first, last)

    def fail(self, folder, number, case, first, last):
        """Fails these allocations. \\returns the one to continue with, if the process ended early."""
        progress = folder / "progress"
        progress.unlink(missing_ok=True)
        start = time.monotonic()
        process = self.process(folder, number % max(1, self.gpus), "allocations", case.name, first, last)
        seen, since = None, start
        while process.poll() is None:
            time.sleep(0.05)
            now = progress.read_text() if progress.exists() else None
            if now != seen:
                seen, since = now, time.monotonic()
            if time.monotonic() > min(self.end, since + HANGS_AFTER):
                process.kill()
        return self.count(folder, case, first, last, process.wait(), time.monotonic() - start)

    def count(self, folder, case, first, last, status, seconds):
        out, err = ((folder / name).read_text(errors="replace") for name in ("out", "err"))
        with self.lock:
            case.seconds += seconds
            self.torture.take_findings("allocations", err)
            tried = re.search(r" (\d+) allocations, +(\d+) of them failed", out)
            if status in (0, 1) and tried:
                case.failed += int(tried[2])
                for text in self.totals:
                    self.totals[text] += int(re.search(rf"(\d+) {text}", out)[1])
                case.met_end |= int(tried[2]) < last - first + 1
                return last + 1
            written = (folder / "progress").read_text().splitlines() if (folder / "progress").exists() else []
            reached = int(written[1]) if len(written) == 2 and written[1] else first
            case.failed += reached - first
            case.is_cut = time.monotonic() >= self.end
            if not case.is_cut:
                self.torture.ended_early("allocations", f"{case.name}, allocation {reached}: ", status, err)
            return reached + 1

    def tell(self):
        whole = [case.met_end and not case.is_cut for case in self.cases]
        for case, is_whole in zip(self.cases, whole):
            how_far = "all" if is_whole else f"not all: {case.next - 1} were given out"
            print(f"{case.name:44} {case.failed:6} failed, {how_far}, {case.seconds:7.0f} s")
        totals = ", ".join(f"{number} {text}" for text, number in self.totals.items())
        failed = sum(case.failed for case in self.cases) - self.totals["inside Kokkos were spared"]
        if failed <= 0:
            self.torture.finding("allocations", "none failed")
        print(f"allocations: {failed} failed in {len(self.cases)} cases, {sum(whole)} of them whole, {totals}, "
              f"{self.torture.findings} findings", flush=True)


def run(torture, seconds, processes):
    every = EveryAllocation(torture, seconds)
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        list(pool.map(every.work, range(processes)))
    every.tell()
