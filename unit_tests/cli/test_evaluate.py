# SPDX-License-Identifier: BSD-3-Clause
"""polyad evaluate against loops in Python over the lists that recommend prints, and the splits of fast-tucker."""
import csv
import json
import math
import random
import statistics
import unittest

from tool import ToolTest

USERS, ITEMS = 25, 40


def text_of(entries):
    return "".join(" ".join(str(i + 1) for i in at) + f" {value}\n" for at, value in entries)


def metrics_of(ranking, relevant, k):
    """One user's metrics. ranking: all candidates, the best first; relevant: the values of relevant items."""
    hits = [item in relevant for item in ranking[:k]]
    dcg = sum(relevant[item] / math.log2(2 + r) for r, item in enumerate(ranking[:k]) if item in relevant)
    ideal = sum(value / math.log2(2 + r) for r, value in enumerate(sorted(relevant.values(), reverse=True)[:k]))
    good = [item in relevant for item in ranking]
    pairs = sum(good) * (len(good) - sum(good))
    in_order = sum(not later for r, found in enumerate(good) if found for later in good[r + 1:])
    return {"precision": sum(hits) / k, "recall": sum(hits) / len(relevant), "ndcg": dcg / ideal,
            "map": sum(sum(hits[:r + 1]) / (r + 1) for r, hit in enumerate(hits) if hit) / len(relevant),
            "mrr": next((1 / (r + 1) for r, hit in enumerate(hits) if hit), 0), "hit_rate": float(any(hits)),
            "auc": in_order / pairs if pairs else math.nan}


class Evaluate(ToolTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(3)
        taste = [[rng.gauss(0, 1) for _ in range(2)] for _ in range(USERS + ITEMS)]
        entries = []
        for user in range(USERS):
            for item in rng.sample(range(ITEMS), 3 + user):
                value = 3 + sum(a * b for a, b in zip(taste[user], taste[USERS + item])) + rng.gauss(0, 0.3)
                entries.append(((user, item), round(min(max(value, 0.5), 5), 2)))
        rng.shuffle(entries)
        self.train_entries, self.test_entries = entries[:280], entries[280:]
        self.train = self.write("train.tns", text_of(self.train_entries))
        self.test = self.write("test.tns", text_of(self.test_entries))
        self.succeed("fast-tucker", self.train, "-r", 2, "-j", 2, "--shrink", 5, "-i", 8, "--precision", "f64", "-o", "m.npz")

    def rankings(self, *options):
        """For each user, all candidates in the order of recommend."""
        queries = self.write("queries.txt", "".join(f"{user + 1}\n" for user in range(USERS)))
        found = {}
        for line in self.succeed("recommend", "m.npz", "--mode", 1, "--for-file", queries, "-n", ITEMS, *options).stdout.splitlines():
            user, item, _ = line.split()
            found.setdefault(int(user) - 1, []).append(int(item) - 1)
        return found

    def relevant(self, least):
        found = {}
        for (user, item), value in self.test_entries:
            if value >= least:
                found.setdefault(user, {})[item] = value
        return found

    def test_metrics_are_those_of_the_lists(self):
        for k, least, seen in ((5, 0, True), (3, 4, True), (10, 3.5, False)):
            with self.subTest(k=k, least=least, seen=seen):
                options = ("--seen", self.train) if seen else ()
                result = self.report_of("evaluate", "m.npz", self.test, "-k", k, "--relevant", least, *options)["result"]
                lists, relevant = self.rankings(*options), self.relevant(least)
                of_users = {user: metrics_of(lists[user], relevant[user], k) for user in relevant}
                self.assertEqual(result["users"], len(of_users))
                self.assertEqual(result["relevant"], sum(map(len, relevant.values())))
                self.assertEqual(result["left_out"], len({at[0] for at, _ in self.test_entries}) - len(of_users))
                for metric in ("precision", "recall", "ndcg", "map", "mrr", "hit_rate", "auc"):
                    values = [metrics[metric] for metrics in of_users.values() if not math.isnan(metrics[metric])]
                    self.assertAlmostEqual(result[f"model.all.{metric}"], statistics.fmean(values), delta=1e-12)
                    self.assertAlmostEqual(result[f"model.all.{metric}_error"],
                                           statistics.stdev(values) / math.sqrt(len(values)), delta=1e-12)
                shown = {item for user in of_users for item in lists[user][:k]}
                items = {at[1] for at, _ in self.train_entries}
                self.assertAlmostEqual(result["model.all.coverage"], len(shown) / len(items), delta=1e-12)
                self.assertIsNotNone(result["biases.all.rmse"])
                self.assertEqual("popular.all.ndcg" in result, seen)

    def test_the_most_popular_items(self):
        result = self.report_of("evaluate", "m.npz", self.test, "-k", 4, "--seen", self.train)["result"]
        had = {}
        for (user, item), _ in self.train_entries:
            had.setdefault(item, set()).add(user)
        users = {at[0] for at, _ in self.train_entries}
        of_users, novelty = [], []
        for user, relevant in sorted(self.relevant(0).items()):
            ranking = sorted((item for item in had if user not in had[item]), key=lambda item: (-len(had[item]), item))
            of_users.append(metrics_of(ranking, relevant, 4))
            novelty.append(statistics.fmean(-math.log2(len(had[item]) / len(users)) for item in ranking[:4]))
        for metric in ("precision", "ndcg", "mrr"):
            self.assertAlmostEqual(result[f"popular.all.{metric}"], statistics.fmean(m[metric] for m in of_users), delta=1e-12)
        self.assertAlmostEqual(result["popular.all.novelty"], statistics.fmean(novelty), delta=1e-12)
        self.assertIsNone(result["popular.all.rmse"])

    def test_rmse_is_that_of_predict(self):
        result = self.report_of("evaluate", "m.npz", self.test)["result"]
        said = self.succeed("predict", "m.npz", self.test, "-o", "p.tns").stdout
        self.assertIn(f"RMSE {result['model.all.rmse']:.4f} MAE {result['model.all.mae']:.4f}", said)

    def test_scores_of_implicit_feedback_are_compared_with_1(self):
        self.succeed("fast-tucker", self.train, "--implicit=2", "--reg", 1, "-r", 4, "-o", "i.npz")
        ones = self.write("ones.tns", text_of([(at, 1) for at, _ in self.test_entries]))
        result = [self.report_of("evaluate", "i.npz", test)["result"] for test in (self.test, ones)]
        said = self.succeed("predict", "i.npz", ones, "-o", "p.tns").stdout
        for of in result:
            self.assertIn(f"RMSE {of['model.all.rmse']:.4f} MAE {of['model.all.mae']:.4f}", said)
        self.assertNotEqual(result[0]["model.all.ndcg"], result[1]["model.all.ndcg"])  # gains are still values
        self.assertIn("RMSE and MAE are those of scores from 1\n", self.succeed("evaluate", "i.npz", self.test).stdout)
        self.assertNotIn("scores from 1", self.succeed("evaluate", "m.npz", self.test).stdout)

    def test_table_and_users(self):
        result = self.succeed("evaluate", "m.npz", self.test, "--seen", self.train, "-k", 5, "-o", "users.csv")
        for text in ("all users: ", "users with 4 to 19 training entries: ", "model               biases              popular", "\nndcg  "):
            self.assertIn(text, result.stdout)
        report = self.report_of("evaluate", "m.npz", self.test, "--seen", self.train, "-k", 5)["result"]
        with open(self.folder / "users.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        of_model = [row for row in rows if row["method"] == "model"]
        self.assertEqual(len(rows), 3 * len(of_model))
        self.assertAlmostEqual(statistics.fmean(float(row["ndcg"]) for row in of_model), report["model.all.ndcg"], delta=1e-12)
        self.assertEqual(len(self.succeed("evaluate", "m.npz", self.test, "--no-baselines").stdout.split("biases")), 1)
        # Nothing is relevant.
        none = self.report_of("evaluate", "m.npz", self.test, "--relevant", 99)["result"]
        self.assertEqual((none["users"], none["model.all.ndcg"]), (0, None))
        self.assertGreater(none["model.all.rmse"], 0)

    def test_names_and_unknown_users(self):
        def table(name, entries):
            return self.write(name, "user,item,stars\n" + "".join(f"u{at[0]},i{at[1]},{value}\n" for at, value in entries))

        train, test = table("train.csv", self.train_entries), table("test.csv", self.test_entries + [((99, 1), 5), ((98, 2), 5)])
        # Only in the training entries that are left out: no number of 98 or 99 may be taken for it.
        seen = table("seen.csv", [((77, item), 5) for item in range(ITEMS)] + self.train_entries + [((98, 3), 1)])
        self.succeed("fast-tucker", train, "-r", 2, "-j", 2, "--shrink", 5, "-i", 8, "-o", "n.npz")
        self.succeed("evaluate", "n.npz", test, "--mode", "item", "--user-mode", "user", "--seen", seen, "-k", 40, "-o", "users.csv")
        with open(self.folder / "users.csv", newline="") as file:
            rows = {row["user"]: row for row in csv.DictReader(file) if row["method"] == "model"}
        self.assertEqual(float(rows["u99"]["recall"]), 1)
        self.assertEqual(float(rows["u98"]["recall"]), 1)
        self.assertEqual(set(rows), {f"u{at[0]}" for at, _ in self.test_entries} | {"u98", "u99"})
        other = self.report_of("evaluate", "n.npz", test, "--mode", "user", "--user-mode", "item")["result"]
        self.assertEqual(other["candidates"], len({at[0] for at, _ in self.train_entries}))

    def test_refusals(self):
        for code, says, *arguments in (
                (2, "both mode 1", "--user-mode", 1), (2, "--mode 2 of 2 modes", "--mode", 2), (2, "-k takes", "-k", 0),
                (2, "--relevant takes", "--relevant", "nan"), (2, "--rank-seen", "--rank-seen"), (2, "--clip", "--clip", "5,1"),
                (3, "no.tns", "--seen", "no.tns")):
            self.fail_with(code, "evaluate", "m.npz", self.test, *arguments, says=says)
        self.fail_with(3, "evaluate", "m.npz", self.write("three.tns", "1 1 1 2\n"), says="3 modes, but the model has 2")


class Splits(ToolTest):
    def lines(self, *arguments):
        run = self.succeed("fast-tucker", "x.tns", "-r", 1, "-j", 1, "--shrink", 5, "-i", 1, *arguments)
        return [line.removeprefix("split").strip() for line in run.stdout.splitlines() if line.startswith("split")]

    def setUp(self):
        super().setUp()
        rng = random.Random(1)
        self.entries = [((rng.randrange(12), rng.randrange(15), time // 20), rng.gauss(3, 1)) for time in range(200)]
        self.entries += self.entries[:30]
        self.write("x.tns", text_of(self.entries))

    def test_by_time(self):
        # 20 entries have each time, of which the first two have repeated ones.
        self.assertEqual(self.lines("--split-time", 0.1, "--split-mode", 2)[0].split(" entries")[0], "20 of 230")
        repeated = 230 - len({at for at, _ in self.entries})
        self.assertIn(f"{repeated} entries repeat the place of an earlier one", self.lines("--split-time", 0.3, "--split-mode", 2)[0])
        test, validation = self.lines("--split-time", 0.1, "--time-mode", 2, "--validate", 0.2, "--patience", 1)
        self.assertTrue(test.startswith("20 of 230 entries for the test, the latest of mode 2"), test)
        self.assertTrue(validation.startswith("40 of 210 entries for the validation, the latest"), validation)

    def test_last_of_each_row(self):
        entries = list(dict(self.entries).items())
        self.write("x.tns", text_of(entries))
        one = self.lines("--split-last", 0, "--split-mode", 2)[0]
        users = {at[0] for at, _ in entries}
        self.assertTrue(one.startswith(f"{len(users)} of {len(entries)} "), one)
        last = {user: max(at[2] for at, _ in entries if at[0] == user) for user in users}
        ties = sum(last[at[0]] == at[2] for at, _ in entries)
        every = self.lines("--split-last", 0, "--split-mode", 2, "--split-ties", "all")[0]
        self.assertTrue(every.startswith(f"{ties} of {len(entries)} "), every)

    def test_repeats_and_rows(self):
        together = self.lines("--split", 0.4, "--seed", 2)[0]
        self.assertNotIn("held-out ones", together)
        apart = self.lines("--split", 0.4, "--seed", 2, "--split-repeats", "apart")[0]
        self.assertRegex(apart, r", and \d+ held-out ones at that of one to learn from")
        self.assertIn("all of random rows of mode 1", self.lines("--split", 0.2, "--split-rows", 1)[0])
        # Pure noise, doubled: nothing is known of what is held out.
        noise = [((random.Random(k).randrange(40), random.Random(k + 999).randrange(40)), random.Random(k).gauss(0, 1)) for k in range(1200)]
        self.write("x.tns", text_of(noise + noise))
        run = self.report_of("fast-tucker", "x.tns", "--split", 0.2, "-r", 8, "-j", 8, "--reg", 0.1, "-i", 10)
        self.assertGreater(run["result"]["rmse"]["test"], 0.95)

    def test_refusals(self):
        for says, *arguments in (("needs to know the mode of time", "--split-time", 0.1),
                                 ("exclude each other", "--split-time", 0.1, "--split", 0.1, "--split-mode", 2),
                                 ("--split-last and --test exclude", "--split-last", 0, "--test", "x.tns"),
                                 ("from 0 to less than 1", "--split-time", 1, "--split-mode", 2),
                                 ("--split-rows is for --split", "--split-rows", 0),
                                 ("--split-mode is for", "--split", 0.1, "--split-mode", 2),
                                 ("--split-last 3 of 3 modes", "--split-last", 3),
                                 ("both the rows and their times", "--split-last", 2, "--split-mode", 2)):
            self.fail_with(2, "fast-tucker", "x.tns", *arguments, says=says)
        self.write("one.tns", "1 1 1 3\n2 2 1 4\n")
        self.fail_with(2, "fast-tucker", "one.tns", "--split-time", 0.5, "--split-mode", 2, says="the same time")


if __name__ == "__main__":
    unittest.main()
