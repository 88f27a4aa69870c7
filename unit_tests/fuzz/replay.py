# SPDX-License-Identifier: BSD-3-Clause
"""Stored inputs through the fuzz targets, without a fuzzer: replay.py PROGRAM. The seeds, and a corpus that libFuzzer grew:
each of its inputs reaches something that no other does."""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    with tempfile.TemporaryDirectory(prefix="polyad_replay_") as folder:
        with tarfile.open(HERE / "corpus.tar.xz") as corpus:
            corpus.extractall(folder)
        for inputs in (HERE / "seeds", folder):
            result = subprocess.run([sys.argv[1], inputs], env={**os.environ, "TMPDIR": folder}, stdout=subprocess.PIPE, text=True,
                                    errors="replace", check=False)
            lines = result.stdout.replace("\r", "\n").splitlines()
            print("\n".join(line for line in lines if ": " in line))
            if result.returncode != 0:
                print(f"ended with {result.returncode} at: {lines[-1] if lines else 'nothing'}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
