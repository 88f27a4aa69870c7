# SPDX-License-Identifier: BSD-3-Clause
"""The parts of scripts/torture. Each ends with a line that counts; findings go to stderr, and the exit status is 1."""
import argparse
import errno
import gzip
import hashlib
import lzma
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import every_allocation

PARTS = ("allocations", "disks", "kills", "metamorphic", "determinism", "soak")
# What a part gets of the time when all are run.
SHARES = {"allocations": 4, "disks": 3, "kills": 4, "metamorphic": 3, "determinism": 2, "soak": 2}
BLOCK = 4096


def default_signals():
    """A shell's background job ignores some. And no core files."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Torture:

    def __init__(self, arguments, folder):
        self.tool = str(pathlib.Path(arguments.tool).resolve())
        self.program = str(pathlib.Path(arguments.program).resolve())
        self.disk = str(pathlib.Path(arguments.disk).resolve())
        self.seed = arguments.seed
        self.processes = arguments.processes
        self.random = random.Random(arguments.seed)
        self.folder = folder
        self.findings = 0
        self.environment = {
            **os.environ, "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder),
            "OMP_PROC_BIND": "false"
        }
        self.environment.setdefault("OMP_WAIT_POLICY", "passive")

    def finding(self, part, text):
        self.findings += 1
        print(f"FINDING {part}: {text}", file=sys.stderr, flush=True)

    def run(self, *command, cwd=None, **keywords):
        environment = {**self.environment, **keywords.pop("environment", {})}
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keywords.pop("streams", {})}
        return subprocess.run([self.tool, *map(str, command)],
                              cwd=cwd or self.folder,
                              **streams,
                              text=True,
                              errors="replace",
                              timeout=300,
                              check=False,
                              env=environment,
                              **keywords)

    def must(self, *command, **keywords):
        result = self.run(*command, **keywords)
        if result.returncode != 0:
            raise RuntimeError(f"polyad {' '.join(map(str, command))}: {result.stderr}")
        return result

    # ---- parts that run inside one process

    def take_findings(self, part, text):
        """Counts what the program named on stderr."""
        for line in re.findall(r"^FINDING .*$", text, re.MULTILINE):
            self.finding(part, line.removeprefix(f"FINDING {part}: "))

    def ended_early(self, part, where, status, text):
        tail = " | ".join(text.strip().splitlines()[-3:])
        self.finding(part, f"{where}the process ended with {status}: {tail}")

    def inside(self, part, seconds, threads="2"):
        """Starts it again after the allocation that ended the process."""
        case = []
        deadline = time.monotonic() + seconds
        while True:
            left = max(1.0, deadline - time.monotonic())
            result = subprocess.run([self.program, part, self.folder, str(left), str(self.seed), *case],
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE,
                                    text=True,
                                    errors="replace",
                                    check=False,
                                    timeout=seconds * 3 + 300,
                                    env={
                                        **self.environment, "OMP_NUM_THREADS": threads
                                    })
            print(result.stdout, end="", flush=True)
            self.take_findings(part, result.stderr)
            if result.returncode in (0, 1):
                return
            if part != "allocations" or not (self.folder / "progress").exists():
                self.ended_early(part, "", result.returncode, result.stderr)
                return
            name, number = (self.folder / "progress").read_text().splitlines()
            self.ended_early(part, f"{name}, allocation {number}: ", result.returncode, result.stderr)
            case = [name, str(int(number) + 1)]
            if time.monotonic() > deadline:
                return

    def allocations(self, seconds):
        self.must("gen", "uniform", "-d", "30,20,10", "-n", 800, "-o", "packed.tns")
        text = (self.folder / "packed.tns").read_bytes()
        (self.folder / "in.tns.gz").write_bytes(gzip.compress(text))
        (self.folder / "in.tns.xz").write_bytes(lzma.compress(text))
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-q", "-f", "packed.tns", "-o", "in.tns.zst"], cwd=self.folder, check=True)
        if self.processes:
            every_allocation.run(self, seconds, self.processes)
        else:
            self.inside("allocations", seconds)

    def metamorphic(self, seconds):
        self.inside("metamorphic", seconds)

    def soak(self, seconds):
        self.inside("soak", seconds)

    # ---- disks

    def writers(self):
        """Commands that write, each with the files that it leaves."""
        self.must("gen", "ratings", "-d", "300,200,20", "-n", 4000, "-o", "x.tns")
        self.must("cpd", "x.tns", "-r", 3, "-i", 1, "--format", "sorted", "-o", "model.npz")
        self.must("fast-tucker", "x.tns", "-r", 3, "--shrink", 5, "-i", 1, "-o", "learned.npz")
        self.must("convert", "x.tns", "matrix.tns")
        x = self.folder / "x.tns"
        cpd = ["cpd", x, "-r", 4, "-i", 2, "--format", "sorted", "-t", 1]
        train = ["fast-tucker", x, "-r", 4, "--shrink", 5, "-i", 2, "--format", "sorted", "-t", 1]
        return [
            (["convert", x, "out.tns"], ["out.tns"]),
            (["convert", x, "out.pten"], ["out.pten"]),
            (["convert", x, "out.pten", "--pack"], ["out.pten"]),
            (["convert", x, "out.npz"], ["out.npz"]),
            (["convert", x, "out.txt", "--to", "tensor-toolbox"], ["out.txt"]),
            (["check", x, "--fix", "out.pten"], ["out.pten"]),
            (["gen", "low-rank", "-d", "40,30,20", "-r", 2, "-o", "out.tns", "--model", "out.ktns"],
             ["out.tns", "out.ktns"]),
            ([*cpd, "-o", "out.npz"], ["out.npz"]),
            ([*cpd, "-o", "out.ktns"], ["out.ktns"]),
            ([*cpd, "--checkpoint", "out.ckpt", "--checkpoint-every", 1], ["out.ckpt"]),
            ([*cpd, "--report", "out.json"], ["out.json"]),
            ([*train, "-o", "out.npz"], ["out.npz"]),
            ([*train, "--checkpoint", "out.ckpt", "--checkpoint-every", 1], ["out.ckpt"]),
            (["predict", self.folder / "learned.npz", x, "-o", "out.tns"], ["out.tns"]),
            (["recommend", self.folder / "learned.npz", "--mode", 1, "--for", "1,*", "-o", "out.npz"], ["out.npz"]),
            (["mttkrp", x, "--mode", 0, "-t", 1, "--factors", self.folder / "model.npz", "-o", "out.npz"], ["out.npz"]),
            (["tucker", x, "-r", "2,2,2", "-i", 1, "-t", 1, "-o", "out.npz"], ["out.npz"]),
        ]

    def on_disk(self, command, files, fault, expected=6, limit=None, vanishes=False, streams=None):
        """One run on a disk with that fault: the exit status, the old files, and nothing else left in the folder."""
        place = self.folder / "disk"
        for gone in (place, self.folder / "disk.gone"):
            shutil.rmtree(gone, ignore_errors=True)
        place.mkdir()
        for name in files:
            (place / name).write_text("old")
        environment = {"LD_PRELOAD": self.disk, "POLYAD_DISK": fault, "POLYAD_FOLDER": str(place)} if fault else {}
        closed, sent = self.streams_of(streams)
        before = None
        if limit is not None:
            before = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        elif closed:
            before = lambda: [os.close(number) for number in closed]
        result = self.run(*command, cwd=place, environment=environment, preexec_fn=before, streams=sent)
        self.tried += 1
        label = f"{' '.join(map(str, command))} with {streams or fault or f'files of {limit} bytes'}"
        if result.returncode != expected:
            self.finding("disks", f"{label}: exit status {result.returncode}, not {expected}: {result.stderr.strip()}")
        if expected == 6 and not streams and not re.fullmatch(r"(?s).*polyad: [^\n]+\n", result.stderr):
            self.finding("disks", f"{label}: no message: {result.stderr!r}")
        if vanishes:
            place = self.folder / "disk.gone"
        left = sorted(path.name for path in place.iterdir())
        if not vanishes and left != sorted(files):
            self.finding("disks", f"{label}: {left} are left")
        return {name: (place / name).read_bytes() for name in files if (place / name).exists()}

    def streams_of(self, text):
        """The descriptors that "1: closed, 2: full" closes, and where it sends the others."""
        closed, sent = [], {}
        for number, how in re.findall(r"(\d): (\w+)", text or ""):
            if how == "closed":
                closed.append(int(number))
            else:
                sent["stderr" if number == "2" else "stdout"] = self.full
        return closed, sent

    def logs(self, commands):
        """Logs that cannot be written never end a run; results on stdout that cannot are an error. Files are whole."""
        for command, files, whole in commands:
            for fault, streams, expected in [(f"log:{code}:{k}", None, 0) for code in (errno.ENOSPC, errno.EIO)
                                             for k in (1, 2, 4)] + [
                                                 (None, "2: full", 0), (None, "2: closed", 0), (None, "0: closed, 2: closed", 0),
                                                 (None, "1: full", 6), (None, "1: closed", 6), (None, "1: closed, 2: closed", 6),
                                                 (None, "0: closed, 1: closed, 2: closed", 6)
                                             ]:
                found = self.on_disk(command, files, fault, expected, streams=streams)
                for name, content in found.items():
                    if "--report" not in command and content != whole[name]:
                        self.finding("disks", f"{' '.join(map(str, command))} with {streams or fault}: {name} differs")

    def disks(self, seconds):
        self.tried = 0
        self.full = open("/dev/full", "wb")
        commands = []
        deadline = time.monotonic() + seconds
        jobs = []
        for command, files in self.writers():
            whole = self.on_disk(command, files, "none:0:0", expected=0)
            commands.append((command, files, whole))
            # A checkpoint is written twice, and all files together count.
            total = sum(map(len, whole.values())) * (2 if "--checkpoint" in command else 1)
            first = len(whole[files[0]])
            for code in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
                jobs += [(command, files, whole, f"write:{code}:{room}", None)
                         for room in range(0, total, BLOCK)]
            jobs += [(command, files, whole, None, limit) for limit in range(0, first, BLOCK)]
            for call in ("fsync", "close", "rename"):
                jobs.append((command, files, whole, f"{call}:{errno.EIO}:0", None))
            for code in (errno.EROFS, errno.EACCES, errno.ENOSPC):
                jobs.append((command, files, whole, f"open:{code}:0", None))
            jobs.append((command, files, whole, "short:0:0", None))
            jobs.append((command, files, whole, "vanish:0:0", None))
        self.logs(commands)
        self.random.shuffle(jobs)
        done = 0
        for command, files, whole, fault, limit in jobs:
            if time.monotonic() > deadline:
                break
            done += 1
            short = fault == "short:0:0"
            found = self.on_disk(command, files, fault, 0 if short else 6, limit, fault == "vanish:0:0")
            label = f"{' '.join(map(str, command))} with {fault or f'files of {limit} bytes'}"
            for name, content in found.items():
                several = len(files) > 1 or "--checkpoint" in command
                if short and "--report" not in command and content != whole[name]:
                    self.finding("disks", f"{label}: {name} differs")
                # If there are several files, the first may be there, whole, before the second fails; likewise
                # checkpoints.
                if not short and content != b"old" and not (several and len(content) == len(whole[name])):
                    self.finding("disks", f"{label}: {name} is neither the old file nor whole")
        self.full.close()
        print(f"disks: {done} of {len(jobs)} faults, streams of {len(commands)} commands, {self.findings} findings", flush=True)

    # ---- kills

    def kills(self, seconds):
        part = self.folder / "kills"
        part.mkdir(exist_ok=True)
        self.must("gen", "ratings", "-d", "400,300,40", "-n", 30000, "-o", "big.tns")
        big = self.folder / "big.tns"
        cpd = ["cpd", big, "-r", 6, "-i", 40, "--tol", 0, "--deterministic", "-t", 2]
        train = ["fast-tucker", big, "-r", 6, "--shrink", 5, "-i", 25, "--deterministic", "-t", 2]
        wanted = {}
        for name, command in (("cpd", cpd), ("fast-tucker", train)):
            start = time.monotonic()
            self.must(*command, "-o", part / "whole.npz", "--checkpoint", part / "whole.ckpt", "--checkpoint-every", 2)
            wanted[name] = ((part / "whole.npz").read_bytes(), time.monotonic() - start)
        start = time.monotonic()
        self.must("convert", big, part / "whole.pten", "--pack")
        wanted["convert"] = ((part / "whole.pten").read_bytes(), time.monotonic() - start)
        kinds = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGXCPU, signal.SIGPIPE,
                 signal.SIGQUIT)
        counts = dict.fromkeys((kind.name for kind in kinds), 0)
        resumed = finished = 0
        deadline = time.monotonic() + seconds
        number = 0
        while time.monotonic() < deadline:
            number += 1
            name = ("cpd", "fast-tucker", "convert")[number % 3]
            chosen = self.random.choice(kinds)
            work = part / "work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            output = work / ("out.pten" if name == "convert" else "out.npz")
            command = ["convert", big, output, "--pack"] if name == "convert" else [
                *(cpd if name == "cpd" else train), "-o", output, "--checkpoint", work / "c", "--checkpoint-every", 2
            ]
            environment = dict(self.environment)
            by_call = self.random.random() < 0.3  # between two calls that write
            if by_call:
                environment.update(LD_PRELOAD=self.disk,
                                   POLYAD_DISK=f"kill:{int(chosen)}:{self.random.randrange(1, 40)}")
            process = subprocess.Popen([self.tool, *map(str, command)],
                                       stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL,
                                       preexec_fn=default_signals,
                                       env=environment)
            if not by_call:
                time.sleep(self.random.uniform(0, wanted[name][1]))
                process.send_signal(chosen)
            status = process.wait(timeout=300)
            counts[chosen.name] += 1
            label = f"{name}, kill {number} by {chosen.name}"
            # Before the tool catches them the signals end it as usual.
            if status not in (0, -chosen, 128 + chosen):
                self.finding("kills", f"{label}: exit status {status}")
            if chosen != signal.SIGKILL and any(path.name.startswith(".") for path in work.iterdir()):
                self.finding("kills", f"{label}: a temporary file is left")
            self.check_kill(label, name, output, wanted[name][0], status, work)
            if status == 0:
                finished += 1
            elif (work / "c").exists():
                resumed += 1
                again = [*(cpd if name == "cpd" else train), "-o", work / "again.npz", "--resume", work / "c"]
                result = self.run(*again)
                if result.returncode != 0:
                    self.finding("kills", f"{label}: --resume ends with {result.returncode}: {result.stderr.strip()}")
                elif (work / "again.npz").read_bytes() != wanted[name][0]:
                    self.finding("kills", f"{label}: the resumed run gives other bits")
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
        print(f"kills: {number} ({kinds}), {finished} after the end, {resumed} resumed, {self.findings} findings",
              flush=True)

    def check_kill(self, label, name, output, whole, status, _work):
        """The output is whole or absent."""
        if not output.exists():
            if status == 0:
                self.finding("kills", f"{label}: no output")
            return
        if output.read_bytes() == whole:
            return
        if name == "convert" or status == 0:
            self.finding("kills", f"{label}: the output is not whole")
        elif name == "cpd" and self.run("compare", output, output).returncode != 0:
            self.finding("kills", f"{label}: the model cannot be read")
        elif name == "fast-tucker" and self.run("similar", output, "--mode", 0, "--index", 1).returncode != 0:
            self.finding("kills", f"{label}: the model cannot be read")

    # ---- determinism

    def determinism(self, seconds):
        self.must("gen", "power-law", "-d", "300,200,100", "-n", 20000, "-o", "d.pten")
        self.must("gen", "ratings", "-d", "300,200,20", "-n", 20000, "--noise", 0.2, "-o", "r.pten")
        known = set(re.findall(r"[a-z][a-z-]+", self.run("cpd", "d.pten", "-r", 2, "--format", "no").stderr))
        commands = {}
        for name in sorted(known):
            for precision in ("f32", "f64"):
                command = [
                    "cpd", "d.pten", "-r", 5, "-i", 3, "--tol", 0, "--deterministic", "--format", name, "--precision",
                    precision
                ]
                if self.run(*command).returncode == 0:
                    commands[f"cpd {name} {precision}"] = command
        for options in (["--shrink", 5, "-r", 4], ["--optimizer", "adam", "-r", 4], [],
                        ["--reg", 2, "-j", 3, "-r", 5, "--precision", "f64"]):
            command = ["fast-tucker", "r.pten", "-i", 3, "--deterministic", *options]
            commands[f"fast-tucker {' '.join(map(str, options))}"] = command
        hashes = {label: {} for label in commands}
        runs = 0
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or runs < len(commands) * 4:
            for label, command in commands.items():
                threads = (1, 2, 7, 16)[runs // len(commands) % 4]
                runs += 1
                result = self.run(*command, "-t", threads, "-o", "d.npz")
                if result.returncode != 0:
                    self.finding("determinism", f"{label} on {threads} threads: {result.stderr.strip()}")
                    continue
                digest = hashlib.sha256((self.folder / "d.npz").read_bytes()).hexdigest()
                if digest not in hashes[label]:
                    hashes[label][digest] = threads
        for label, seen in hashes.items():
            if len(seen) > 1:
                self.finding("determinism", f"{label}: {len(seen)} results, first on {sorted(seen.values())} threads")
        # Two machines of one kind, or two processes, can be compared by it.
        digest = hashlib.sha256("".join(sorted(found for seen in hashes.values() for found in seen)).encode())
        print(f"determinism: {runs} runs of {len(commands)} commands on 1, 2, 7, 16 threads, {self.findings} findings, "
              f"all results {digest.hexdigest()[:16]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tool", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--disk", required=True)
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, help="allocations fails every one, in so many processes at once")
    parser.add_argument("part", nargs="?", choices=PARTS)
    arguments = parser.parse_args()
    parts = [arguments.part] if arguments.part else PARTS
    whole = sum(SHARES[part] for part in parts)
    findings = 0
    for part in parts:
        with tempfile.TemporaryDirectory(prefix="polyad_torture_") as folder:
            torture = Torture(arguments, pathlib.Path(folder))
            getattr(torture, part)(60 * arguments.minutes * SHARES[part] / whole)
            findings += torture.findings
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
