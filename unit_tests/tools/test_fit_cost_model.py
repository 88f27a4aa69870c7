#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which results scripts/fit_cost_model.py reads. Usage: test_fit_cost_model.py SCRIPTS_FOLDER"""

import json
import pathlib
import sys
import tempfile
import unittest

FIRST_USE = "first_use<sorted,Cuda,f32>/tiny"
CEILING = "ceilings<Cuda,f32>/gather/row:128B/table:34MB"


class Results(unittest.TestCase):
    def load(self, *files):
        """The benchmarks of a device by name, from files of (date, {name: milliseconds})"""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for k, (date, times) in enumerate(files):
                paths.append(pathlib.Path(folder, f"{k}.json"))
                context = {"date": date, "device": "GPU", "cpu": "CPU", "concurrency": "1"}
                benchmarks = [{"name": name, "real_time": time} for name, time in times.items()]
                paths[-1].write_text(json.dumps({"context": context, "benchmarks": benchmarks}))
            machines = fit_cost_model.load(paths)
        return {name: entry["real_time"] for name, entry in machines["GPU"][1].items()} if machines else {}

    def test_names_are_those_of_stored_results(self):
        found = self.load(("2026-01-01", {FIRST_USE + "/iterations:1/manual_time": 2.0, CEILING + "/manual_time": 1.0}))
        self.assertEqual(found, {FIRST_USE: 2.0, CEILING: 1.0})
        self.assertTrue(all(fit_cost_model.NAME.match(name) for name in found if name != CEILING))

    def test_the_later_of_two_measurements_counts(self):
        late, early = ("2026-02-01", {FIRST_USE + "/iterations:1": 3.0}), ("2026-01-01", {FIRST_USE: 2.0, CEILING: 1.0})
        self.assertEqual(self.load(late, early)[FIRST_USE], 3.0)

    def test_a_machine_without_ceilings_does_not_count(self):
        self.assertEqual(self.load(("2026-01-01", {FIRST_USE: 2.0})), {})


class FirstUse(unittest.TestCase):
    def test_every_tensor_counts_by_its_ratio(self):
        self.assertAlmostEqual(perf_results.mean_first_use([2.0, 8.0]), 4.0)
        self.assertAlmostEqual(perf_results.mean_first_use([3.0]), 3.0)

    def test_it_may_take_no_time(self):
        self.assertEqual(perf_results.mean_first_use([0.0, 8.0]), 0)

    def test_a_choice_and_the_weights_count_the_same(self):
        names = [f"first_use<sorted,Cuda,f32>/{tensor}" for tensor in ("tiny", "uber-apr14")]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "first.json")
            path.write_text(json.dumps({"benchmarks": [{"name": names[0], "real_time": 2}, {"name": names[1], "real_time": 8}]}))
            self.assertAlmostEqual(perf_choices.read_first_use(path)["sorted", "f32"], 4.0)


if __name__ == "__main__":
    sys.path.insert(0, sys.argv.pop(1))
    import fit_cost_model
    import perf_choices
    import perf_results

    unittest.main()
