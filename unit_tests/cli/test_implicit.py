# SPDX-License-Identifier: BSD-3-Clause
"""polyad fast-tucker --implicit: the loss over all cells, recommendations, and what is refused."""
import random
import re
import unittest

from tool import ToolTest


def clicks(users, items, seed=1):
    """Places from 1 and counts: a user clicks items of the same taste. No user clicks the last item but one."""
    generator = random.Random(seed)
    lines = []
    for u in range(users):
        for i in range(items):
            if i != items - 2 and generator.random() < (0.6 if u % 3 == i % 3 else 0.05):
                lines.append((u + 1, i + 1, generator.randint(1, 3)))
    return lines


class Implicit(ToolTest):
    def setUp(self):
        super().setUp()
        self.lines = clicks(30, 20)
        self.lines.append((1, 20, 1))
        self.clicks = self.write("clicks.tns", self.text(self.lines))

    @staticmethod
    def text(lines):
        return "".join(" ".join(map(str, line)) + "\n" for line in lines)

    def test_the_loss_never_rises_and_the_defaults_are_reported(self):
        report = self.report_of("fast-tucker", self.clicks, "--implicit=40", "--precision", "f64", "-o", "m.npz")
        losses = [epoch["objective"] for epoch in report["iterations"]]
        self.assertEqual(len(losses), 20)
        for before, after in zip(losses, losses[1:]):
            self.assertLessEqual(after, before * (1 + 1e-12))
        self.assertEqual(report["result"]["objective"], losses[-1])
        self.assertEqual(report["result"]["rank"], 32)
        self.assertEqual(report["result"]["mean"], 0)
        self.assertEqual(str(report["options"]["implicit"]), "40")
        self.assertEqual(report["result"]["regularization"], "--reg 100")

    def test_options_are_chosen_by_rankings(self):
        options = ("--implicit", "-i", 4)
        result = self.report_of("fast-tucker", self.clicks, *options, "-o", "m.npz")["result"]
        choice = result["ranking_choice"]
        self.assertIn(choice["candidates"], range(6, 17))
        self.assertEqual(choice["reason"], "converged")
        self.assertIn(choice["alpha"], (0.1, 1, 3, 10, 40))
        self.assertEqual((result["rank"], result["regularization"]), (choice["rank"], f"--reg {choice['ridge']:g}"))
        self.assertLessEqual(choice["users"], 30)
        # What is given stays. The model is that of a fit with these options on all entries.
        fit = ("-i", 4, "-r", 4, "--reg", 2, "--precision", "f64")
        said = self.succeed("fast-tucker", self.clicks, "--implicit=auto", *fit, "-o", "a.npz").stdout
        found = re.search(r"chosen +--implicit=(\S+) --reg 2 -r 4: NDCG@10 \S+ .* \([34] candidates in", said)
        self.assertIsNotNone(found, said)
        loss = self.report_of("fast-tucker", self.clicks, f"--implicit={found[1]}", *fit)["result"]["objective"]
        self.assertIn(f"loss     {loss:.6g} over all cells", said)
        single = self.write("single.tns", "1 1 1\n2 2 1\n3 1 1\n")
        self.fail_with(2, "fast-tucker", single, *options, "-q", "-o", "c.npz", says="no user has a held-out entry")
        self.fail_with(2, "fast-tucker", self.clicks, "--implicit=often", says="--implicit")

    def test_a_search_compares_with_the_most_popular_items(self):
        line = r"popular +NDCG@10 (\S+) \+- \S+ for the most popular items on the same entries\n"
        result = self.succeed("fast-tucker", self.clicks, "--implicit", "-i", 4, "-o", "m.npz")
        self.assertRegex(result.stdout, line)
        self.assertNotIn("popular", result.stderr)
        # Clicks by popularity alone, and a ridge that learns their noise.
        generator = random.Random(5)
        lines = sorted({(u, 1 + int(60 * generator.random()**3), 1) for u in range(1, 301) for _ in range(5)})
        generator.shuffle(lines)  # the last one of a user is held out
        noise = self.write("noise.tns", self.text(lines))
        options = ("--implicit", "--reg", 0.01, "-r", 16)
        result = self.succeed("fast-tucker", noise, *options)
        popular = float(re.search(line, result.stdout)[1])
        chosen = float(re.search(r"chosen .* NDCG@10 (\S+)", result.stdout)[1])
        self.assertGreater(popular, chosen)
        self.assertIn(f"polyad: warning: the most popular items rank better than the chosen options: NDCG@10 {popular:.4f}, "
                      f"not {chosen:.4f}, on the held-out entries\n", result.stderr)
        choice = self.report_of("fast-tucker", noise, *options)["result"]["ranking_choice"]
        self.assertEqual(f"{choice['popular_ndcg']:.4f}", f"{popular:.4f}")
        self.assertGreater(choice["popular_ndcg_error"], 0)

    def test_a_search_that_nothing_decides_says_so(self):
        # One user: the held-out items have no other entries, so that they are not ranked.
        single = self.write("single.tns", "".join(f"1 {i} 1\n" for i in range(1, 30)))
        result = self.succeed("fast-tucker", single, "--implicit", "-r", 2, "--reg", 1)
        self.assertRegex(result.stdout, r"NDCG@10 0\.0000 on the held-out entries of 1 row of mode 0 \(")
        self.assertNotIn("nan", result.stdout)
        self.assertIn("polyad: warning: no candidate has a held-out entry among its first 10: ", result.stderr)
        self.assertNotIn("no candidate", self.succeed("fast-tucker", self.clicks, "--implicit", "-i", 2).stderr)

    def test_a_search_that_ends_in_its_first_fit_evaluates_nothing(self):
        many = self.write("many.tns", "".join(f"{u} {i} 1\n" for u in range(1, 401) for i in range(1, 301) if (7 * u + 3 * i) % 4))
        options = ("--implicit=auto", "--time-limit", 0.01, "-t", 1)
        report = self.report_of("fast-tucker", many, *options)["result"]["ranking_choice"]
        self.assertEqual((report["reason"], report["candidates"], report["users"], report["ndcg"]), ("time limit", 1, 0, None))
        said = self.succeed("fast-tucker", many, *options).stdout
        self.assertRegex(said, r"chosen +--implicit=1 --reg \S+ -r 64: the search ended before its first evaluation \(time limit\)\n")
        self.assertNotIn("popular", said)
        self.assertIsNone(report["popular_ndcg"])

    def test_repeated_places_are_summed(self):
        twice = self.write("twice.tns", self.text([(u, i, 1) for u, i, x in self.lines for _ in range(x)]))
        options = ("--implicit=7", "--reg", 2, "-r", 4, "-i", 5, "--precision", "f64")
        expected = self.report_of("fast-tucker", self.clicks, *options)["result"]["objective"]
        self.assertAlmostEqual(self.report_of("fast-tucker", twice, *options)["result"]["objective"], expected, places=8)

    def test_recommends_what_was_not_seen(self):
        self.succeed("fast-tucker", self.clicks, "--implicit=2", "--reg", 1, "-r", 4, "-o", "m.npz")
        result = self.succeed("recommend", "m.npz", "--mode", 1, "--for", 4, "-n", 20, "--seen", self.clicks)
        rows = [int(line.split()[0]) for line in result.stdout.splitlines()]
        seen = {i for u, i, _ in self.lines if u == 4}
        self.assertEqual(set(rows), set(range(1, 21)) - seen - {19})
        self.assertEqual((rows[0] - 1) % 3, 0)  # the user's own taste

    def test_a_run_that_is_resumed_has_the_same_loss(self):
        options = ("--implicit=40", "-r", 4, "--deterministic")
        whole = self.report_of("fast-tucker", self.clicks, *options, "-i", 6)["result"]["objective"]
        self.succeed("fast-tucker", self.clicks, *options, "-i", 3, "--checkpoint", "c")
        rest = self.report_of("fast-tucker", self.clicks, *options, "-i", 6, "--resume", "c")["result"]["objective"]
        self.assertEqual(rest, whole)
        # Rows by steps of conjugate gradients begin with those of the checkpoint, to the last bit.
        options = ("--implicit=40", "-r", 12, "--cg-steps", 2, "--deterministic", "-q")
        self.succeed("fast-tucker", self.clicks, *options, "-i", 6, "-o", "whole.npz")
        self.succeed("fast-tucker", self.clicks, *options, "-i", 3, "--checkpoint", "g", "-o", "half.npz")
        self.succeed("fast-tucker", self.clicks, *options, "-i", 6, "--resume", "g", "-o", "resumed.npz")
        self.assertEqual((self.folder / "resumed.npz").read_bytes(), (self.folder / "whole.npz").read_bytes())
        self.assertNotEqual((self.folder / "half.npz").read_bytes(), (self.folder / "whole.npz").read_bytes())
        result = self.run_tool("fast-tucker", self.clicks, "--implicit=3", "-r", 4, "--deterministic", "--resume", "c")
        self.assertEqual(result.returncode, 3)
        self.assertIn("implicit", result.stderr)

    def test_what_it_refuses(self):
        dislikes = self.write("dislikes.tns", "1 1 1\n2 2 -1\n")
        for code, says, tensor, *options in (
                (2, "above 0", self.clicks, "--implicit=0"), (2, "above 0", self.clicks, "--implicit=-2"),
                (2, "not a number", self.clicks, "--implicit=many"),
                (2, "needs als", self.clicks, "--implicit", "--optimizer", "adam"),
                (2, "needs als", self.clicks, "--implicit", "--optimizer", "sgd"),
                (2, "over time", self.clicks, "--implicit", "--time-mode", 1),
                (2, "does not clip", self.clicks, "--implicit", "--clip", "0,1"),
                (2, "takes --reg", self.clicks, "--implicit", "--shrink", 10),
                (2, "--bias-reg", self.clicks, "--implicit", "--bias-reg", 3),
                (2, "of at least 0", dislikes, "--implicit")):
            with self.subTest(options=options):
                result = self.run_tool("fast-tucker", tensor, *options)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(says, result.stderr)


if __name__ == "__main__":
    unittest.main()
