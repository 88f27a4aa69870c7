# SPDX-License-Identifier: BSD-3-Clause
"""The weights of a host's formats, fitted together by what a choice between them depends on.

A choice depends on ratios between formats only. What all formats of a tensor share, such as the bandwidth that other programs leave,
does not matter. So the predictions of a tensor's formats may all be off by one factor, and only what differs between them counts:

    sum over tensors, ranks and numbers of iterations of
      sum over formats of nearness (log predicted/measured - their mean)^2 + the expected log of chosen/best, chosen softly

A format that takes twice the time of the best one hardly counts (nearness), and one that was not measured not at all.
Floats and doubles share their weights, since the terms count bytes and lines. Needs numpy and scipy."""

import numpy as np
from scipy.optimize import minimize

ITERATIONS = (1, 10, 50)
NEARNESS = 0.4  # in log measured/best
SOFTNESS = (0.15, 0.05)  # in log predicted; each fit begins where the one before ended
OF_CHOICE, OF_DRIFT = 2.0, 0.01
FURTHER_OFF = 1.0  # the most that a bad choice counts
START_SHARE = 0.05  # what each term contributes to the start at least
LEAST_SHARE = 0.01  # a term that contributes less on average is left out


class Problems:
    """The terms and times of all formats of each tensor, scalar and rank, as arrays over these problems."""

    def __init__(self, groups):
        self.formats = sorted({case.format for group in groups for case in group})
        self.mode_names = list(groups[0][0].mode_terms[0])
        self.build_names = list(groups[0][0].build_terms)
        by_format = [{case.format: case for case in group} for group in groups]
        self.known = np.array([[name in found for name in self.formats] for found in by_format])
        self.terms, self.times, builds = {}, [], []
        for name in self.formats:
            cases = [found.get(name) for found in by_format]
            modes = np.array([[sum(terms[term] for terms in case.mode_terms) if case else 0 for term in self.mode_names]
                              for case in cases])  # fmt: skip
            build = np.array([[case.build_terms[term] if case else 0 for term in self.build_names] for case in cases])
            self.terms[name] = modes, build
            self.times.append([sum(case.modes.values()) if case else np.inf for case in cases])
            builds.append([case.build if case else 0 for case in cases])
        self.times, self.builds = np.array(self.times).T, np.array(builds).T

    def loss(self, logs, start, softness):
        """The sum above and its derivatives by the logarithms of all weights."""
        modes = np.stack([self.terms[name][0] @ np.exp(logs[name][0]) for name in self.formats], 1)
        builds = np.stack([self.terms[name][1] @ np.exp(logs[name][1]) for name in self.formats], 1)
        by_mode, by_build, value = np.zeros_like(modes), np.zeros_like(builds), 0.0
        share = 1 / len(self.times) / len(ITERATIONS)
        for count in ITERATIONS:
            predicted, measured = builds + count * modes, self.builds + count * self.times
            lost = np.minimum(np.log(measured / measured.min(1, keepdims=True)), FURTHER_OFF)
            predicted = np.where(self.known, predicted, np.inf)
            measured = np.where(self.known, measured, 1)
            chosen = np.exp(-np.log(predicted / predicted.min(1, keepdims=True)) / softness)
            predicted = np.where(self.known, predicted, 1)
            logarithm = np.log(predicted)
            chosen /= chosen.sum(1, keepdims=True)
            expected = (chosen * lost).sum(1, keepdims=True)
            near = np.exp(-lost / NEARNESS) * self.known
            error = logarithm - np.log(measured)
            error = error - (near * error).sum(1, keepdims=True) / near.sum(1, keepdims=True)
            value += share * ((near * error**2).sum() + OF_CHOICE * expected.sum())
            slope = share * (2 * near * error - OF_CHOICE * chosen * (lost - expected) / softness) / predicted
            by_build += slope
            by_mode += count * slope
        slopes = {}
        entries = sum(len(part) for parts in logs.values() for part in parts)
        for k, name in enumerate(self.formats):
            slopes[name] = []
            for part, outer in enumerate((by_mode, by_build)):
                drift = logs[name][part] - start[name][part]
                value += OF_DRIFT * (drift**2).sum() / entries
                slopes[name].append((outer[:, k] @ self.terms[name][part]) * np.exp(logs[name][part]) + 2 * OF_DRIFT * drift / entries)
        return value, slopes

    def common_factor(self, logs):
        """By how much all builds are predicted too long. The loss does not notice what all formats share, but their predictions must
        compare with those of formats that are fitted alone. These win short runs only, which consist mostly of the build."""
        ratios = []
        for k, name in enumerate(self.formats):
            predicted = self.terms[name][1][self.known[:, k]] @ np.exp(logs[name][1])
            ratios.append(np.median(np.log(predicted / self.builds[self.known[:, k], k])))
        return np.exp(np.mean(ratios))


def flat(parts):
    return np.concatenate([part for name in sorted(parts) for part in parts[name]])


def pruned(weights, terms, names):
    """{name: weight} of the terms that matter, with three digits."""
    share = (terms * weights / np.maximum((terms @ weights)[:, None], 1e-30))[terms.any(1)].mean(0)
    return {name: float(f"{weight:.3g}") if part >= LEAST_SHARE else 0.0 for name, weight, part in zip(names, weights, share)}


def joint_fit(groups, start):
    """{format: (weights of a mode, weights of a build)}
    groups: lists of cases, at most one of each format; start: the same as what is returned, fitted format by format"""
    problems = Problems(groups)
    begin = {}
    for name in problems.formats:
        begin[name] = []
        for part, names in enumerate((problems.mode_names, problems.build_names)):
            weights = np.array([start[name][part][term] for term in names])
            terms = problems.terms[name][part]
            predicted = terms @ weights
            # No term begins at zero, from where its logarithm would not find back.
            least = [START_SHARE * np.median(predicted[column > 0] / column[column > 0]) if column.any() else 0 for column in terms.T]
            begin[name].append(np.log(np.maximum(weights + least, 1e-13)))

    def unpacked(vector):
        parts, at = {}, 0
        for name in sorted(begin):
            parts[name] = []
            for part in begin[name]:
                parts[name].append(vector[at : at + len(part)])
                at += len(part)
        return parts

    def function(vector, softness):
        value, slopes = problems.loss(unpacked(vector), begin, softness)
        return value, flat(slopes)

    vector = flat(begin)
    for softness in SOFTNESS:
        vector = minimize(function, vector, softness, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    found = unpacked(vector)
    common = problems.common_factor(found)
    return {name: tuple(pruned(np.exp(found[name][part]) / common, problems.terms[name][part], names)
                        for part, names in enumerate((problems.mode_names, problems.build_names)))
            for name in problems.formats}  # fmt: skip
