# SPDX-License-Identifier: BSD-3-Clause
"""Fuzzes all targets at once, with sanitizers and without, and counts: campaign.py BUILD_FOLDER [--minutes N] [--jobs J].

Each job runs one target for two minutes at a time, and the target that had least of the cores comes next. The corpora
start as the stored inputs and grow in BUILD_FOLDER/corpus; failing inputs are stored in BUILD_FOLDER. A later campaign
continues from there. `summary` in the folder says what was executed. --built: the programs are there, whatever their
age, and no compiler is needed."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import tarfile
import threading
import time

import run

# What a target gets of the cores: text and command lines take long. The plain programs get twice as much as the others.
SHARES = {"text": 4, "pten": 1, "npz": 1, "checkpoint": 1, "binary": 1, "ktensor": 2, "tune": 1, "ceilings": 1,
          "command_line": 4, "delimited": 4}
KIND_SHARES = {"plain": 2, "sanitized": 1}
SLICE_SECONDS = 120
KINDS = {"plain": ["-std=c++20", "-O2", "-g1"], "sanitized": [*run.FLAGS, *run.SANITIZERS]}


class Campaign:

    def __init__(self, folder, minutes, targets, kinds):
        self.folder = folder
        self.end = time.monotonic() + 60 * minutes
        self.lock = threading.Lock()
        self.spent = {(kind, target): 0.0 for kind in kinds for target in targets}
        self.executions = dict.fromkeys(self.spent, 0)
        self.edges = dict.fromkeys(self.spent, 0)
        # How often a target found edges, and the executions of slices that began after the last time: its own, and all.
        self.finds = dict.fromkeys(self.spent, 0)
        self.rows = dict.fromkeys(self.spent, 0)
        self.row = 0
        self.failed = []
        self.slices = 0

    def next(self):
        """The target that is furthest behind, the seconds that it gets, its options, and what was found before."""
        with self.lock:
            seconds = min(SLICE_SECONDS, int(self.end - time.monotonic()))
            if seconds < 5:
                return None
            chosen = min(self.spent, key=lambda key: self.spent[key] / (KIND_SHARES[key[0]] * SHARES[key[1]]))
            self.spent[chosen] += seconds
            # Short inputs are executed more often, and reach almost all. Every third slice takes long ones too.
            self.slices += 1
            options = [] if self.slices % 3 == 0 else ["-max_len=512", "-use_memcmp=0"]
            return chosen, seconds, options, dict(self.finds)

    def fuzz(self, key, seconds, *options):
        kind, target = key
        # An input may not replace a longer one: the other kind may need that.
        return run.fuzz(self.folder / kind / f"fuzz_{target}", target, seconds, self.folder, "-entropic=0",
                        "-reduce_inputs=0", *options, self.folder / "corpus" / target)

    def reached(self, key):
        """The edges that the corpus reaches. A slice cannot tell: it cuts long inputs."""
        return edges_of(self.fuzz(key, 600, "-runs=0"))

    def measure(self, key):
        self.edges[key] = self.reached(key)

    def work(self, number):
        while chosen := self.next():
            key, seconds, options, found = chosen
            result = self.fuzz(key, seconds, *options)
            self.count(key, result, self.reached(key), found, number)

    def count(self, key, result, edges, found, number):
        executions = run.executions(result)
        with self.lock:
            self.executions[key] += executions
            if edges > self.edges[key]:
                self.edges[key] = edges
                self.finds[key] += 1
                self.rows[key] = self.row = 0
            else:
                self.rows[key] += executions if found[key] == self.finds[key] else 0
                self.row += executions if found == self.finds else 0
            if result.returncode != 0:
                log = self.folder / f"{key[1]}-{key[0]}-{number}-{len(self.failed)}.log"
                log.write_text(result.stderr[-20000:])
                self.failed.append(log.name)
            self.tell()

    def tell(self):
        lines = [f"{key[1]:13} {key[0]:10} {self.executions[key]:12,} executions, {self.edges[key]:6,} edges, "
                 f"{self.rows[key]:12,} since the last new one"
                 for key in sorted(self.executions, key=lambda key: (key[1], key[0]))]
        whole = sum(self.executions.values())
        sanitized = sum(count for (kind, _), count in self.executions.items() if kind == "sanitized")
        lines.append(f"fuzzing: {whole:,} executions, {sanitized:,} with sanitizers, {self.row:,} since the "
                     f"last new edge, {len(self.failed)} findings {' '.join(self.failed)}")
        text = "\n".join(lines) + "\n"
        temporary = self.folder / "summary.new"
        temporary.write_text(text)
        temporary.replace(self.folder / "summary")
        return text


def edges_of(result):
    return max((int(found) for found in re.findall(r"cov: (\d+)", result.stderr)), default=0)


def prepare(folder, targets, kinds, built):
    """Compiles the programs, and unpacks the stored inputs."""
    for target in targets:
        (folder / "corpus" / target).mkdir(parents=True, exist_ok=True)
        for seed in (run.HERE / "seeds" / target).iterdir():
            (folder / "corpus" / target / seed.name).write_bytes(seed.read_bytes())
    with tarfile.open(run.HERE / "corpus.tar.xz") as corpus:
        corpus.extractall(folder / "corpus")
    if built:
        return
    compiler = run.fuzzing_compiler()
    if compiler is None:
        sys.exit(run.SKIPPED)
    for kind in kinds:
        (folder / kind).mkdir(exist_ok=True)
        for target in targets:
            run.build(compiler, run.HERE / f"fuzz_{target}.cpp", folder / kind, KINDS[kind])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="*", choices=SHARES, default=list(SHARES))
    parser.add_argument("--kind", choices=KINDS, help="plain or sanitized alone")
    parser.add_argument("--built", action="store_true")
    arguments = parser.parse_args()
    kinds = [arguments.kind] if arguments.kind else list(KINDS)
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    prepare(folder, arguments.only, kinds, arguments.built)
    campaign = Campaign(folder, arguments.minutes, arguments.only, kinds)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as jobs:
        list(jobs.map(campaign.measure, campaign.spent))
        list(jobs.map(campaign.work, range(arguments.jobs)))
    print(campaign.tell(), end="")
    return 1 if campaign.failed else 0


if __name__ == "__main__":
    sys.exit(main())
