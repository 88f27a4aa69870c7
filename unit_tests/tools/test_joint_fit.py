#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scripts/joint_fit.py on made-up formats whose weights are known. Usage: test_joint_fit.py SCRIPTS_FOLDER"""

import pathlib
import random
import sys
import types
import unittest

MODE_NAMES, BUILD_NAMES = ("stream", "near", "nodes"), ("stream", "sort")
TRUE = {"a": ({"stream": 2.0, "near": 0.5, "nodes": 0.0}, {"stream": 1.0, "sort": 3.0}),
        "b": ({"stream": 1.0, "near": 1.0, "nodes": 4.0}, {"stream": 5.0, "sort": 0.5}),
        "c": ({"stream": 4.0, "near": 0.2, "nodes": 1.0}, {"stream": 2.0, "sort": 1.0})}  # fmt: skip


def of_terms(weights, terms):
    return sum(weights[name] * terms[name] for name in weights)


def problems(seed, count, slower=lambda draw: 1.0):
    """Groups of cases whose times the weights above give, all formats of a group `slower` by one factor."""
    draw = random.Random(seed)
    groups = []
    for _ in range(count):
        factor = slower(draw)
        group = []
        for name, (mode_weights, build_weights) in TRUE.items():
            modes = [{term: draw.uniform(0.1, 1) for term in MODE_NAMES} for _ in range(3)]
            build = {term: draw.uniform(0.1, 1) for term in BUILD_NAMES}
            times = {n: factor * of_terms(mode_weights, terms) for n, terms in enumerate(modes)}
            group.append(types.SimpleNamespace(format=name, mode_terms=modes, build_terms=build, modes=times,
                                               build=factor * of_terms(build_weights, build)))  # fmt: skip
        groups.append(group)
    return groups


def disturbed(seed):
    """The weights above, each off by a factor of up to two."""
    draw = random.Random(seed)
    return {name: tuple({term: weight * draw.uniform(0.5, 2) for term, weight in part.items()} for part in parts)
            for name, parts in TRUE.items()}  # fmt: skip


class JointFit(unittest.TestCase):
    def predicted(self, weights, case):
        mode_weights, build_weights = weights[case.format]
        modes = sum(of_terms(mode_weights, terms) for terms in case.mode_terms)
        return modes, of_terms(build_weights, case.build_terms)

    def test_slopes_are_those_of_the_loss(self):
        groups = problems(1, 6, lambda draw: draw.uniform(0.5, 2))
        del groups[0][1], groups[3][2]  # formats that were not measured
        found = joint_fit.Problems(groups)
        draw = random.Random(2)
        logs = {name: [numpy.array([draw.uniform(-1, 1) for _ in names]) for names in (MODE_NAMES, BUILD_NAMES)]
                for name in TRUE}  # fmt: skip
        start = {name: [part + 0.3 for part in parts] for name, parts in logs.items()}
        _, slopes = found.loss(logs, start, 0.15)
        for name, parts in logs.items():
            for k, part in enumerate(parts):
                for term in range(len(part)):
                    around = []
                    for step in (1e-6, -1e-6):
                        part[term] += step
                        around.append(found.loss(logs, start, 0.15)[0])
                        part[term] -= step
                    with self.subTest(format=name, part=k, term=term):
                        self.assertAlmostEqual(slopes[name][k][term], (around[0] - around[1]) / 2e-6, places=6)

    def test_finds_ratios_whatever_slows_a_tensor(self):
        # All formats of a tensor are slower by one factor of up to ten, which does not matter to a choice.
        begin = disturbed(4)
        weights = joint_fit.joint_fit(problems(3, 150, lambda draw: 10 ** draw.uniform(0, 1)), begin)
        losses, off_before, off_after = [], [], []
        for group in problems(5, 50):  # other tensors
            for candidate, off in ((begin, off_before), (weights, off_after)):
                logs = [numpy.log(self.predicted(candidate, case)[0] / sum(case.modes.values())) for case in group]
                off.append(max(logs) - min(logs))
            chosen = min(group, key=lambda case: sum(self.predicted(weights, case)))
            least = min(sum(case.modes.values()) + case.build for case in group)
            losses.append((sum(chosen.modes.values()) + chosen.build) / least)
        self.assertLess(numpy.mean(losses), 1.01)
        self.assertLess(max(losses), 1.15)
        # Not exact: the fit sets formats apart that would be mistaken for each other.
        self.assertLess(numpy.mean(off_after), 0.4 * numpy.mean(off_before))

    def test_builds_have_the_scale_of_the_times(self):
        groups = problems(6, 100, lambda draw: 7.0)
        weights = joint_fit.joint_fit(groups, disturbed(7))
        ratios = [self.predicted(weights, case)[1] / case.build for group in groups for case in group]
        self.assertAlmostEqual(numpy.median(ratios), 1, delta=0.1)

    def test_leaves_out_terms_that_hardly_count(self):
        terms = numpy.array([[1.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
        kept = joint_fit.pruned(numpy.array([0.123456, 0.001, 5.0]), terms, MODE_NAMES)
        self.assertEqual(kept, {"stream": 0.123, "near": 0.0, "nodes": 0.0})


if __name__ == "__main__":
    SCRIPTS = pathlib.Path(sys.argv.pop(1)).resolve()
    try:
        import numpy
        import scipy  # noqa: F401
    except ImportError:
        print("numpy or scipy is missing")
        sys.exit(77)
    sys.path.insert(0, str(SCRIPTS))
    import joint_fit

    unittest.main()
