#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the two tables of data/ whose rows have names: scripts/made_tables.py [FOLDER]

films.csv.xz   user,film,rating,timestamp as MovieLens has them: users are integers with gaps, films have titles with
               commas, ratings are steps of a half from 0.5 to 5.
rides.csv.xz   ride,started,start,end as cities publish the rides of shared bicycles, a line for each ride.

The tables are made up, and the same on every machine. tests compare with expected_rating() and expected_rides(), of
which they were drawn.
"""
import csv
import datetime
import io
import lzma
import math
import pathlib
import random
import sys

USERS, FILMS, TASTES, SCALE = 240, 90, 2, 2.2
STATIONS = ["Harbour", "Old Town", "Station Square", "University", "Stadium", "Zoo", "Mill, East", "Mill, West", "Market",
            "Hospital", "Castle Hill", "Botanic Garden", "Ferry", "Airport", "Library", "Town Hall"]
RIDES = 6000


def normal(draw):
    """A number of the standard normal distribution. It uses random() alone, which all versions of Python share."""
    return math.sqrt(-2 * math.log(1 - draw.random())) * math.cos(2 * math.pi * draw.random())


class Films:
    """Users, films and what each user is expected to give each film: a mean, biases and two tastes."""

    def __init__(self):
        draw = random.Random(1)
        self.users = sorted({1 + int(draw.random() * 9000) for _ in range(USERS)})
        first = ["Quiet", "Red", "Last", "Second", "Broken", "Golden", "Lost", "Northern", "Paper"]
        second = ["River", "Letter", "Summer", "Witness", "Garden", "Train", "Island", "Voice", "Winter", "Clock"]
        self.films = [f"{a} {b}, The ({1960 + int(draw.random() * 60)})" for a in first for b in second][:FILMS]
        self.of_user = {u: 0.4 * normal(draw) for u in self.users}
        self.of_film = {f: 0.5 * normal(draw) for f in self.films}
        self.taste = {u: [normal(draw) / 2 for _ in range(TASTES)] for u in self.users}
        self.kind = {f: [SCALE * normal(draw) / 2 for _ in range(TASTES)] for f in self.films}

    def expected_rating(self, user, film):
        return (3.3 + self.of_user[user] + self.of_film[film] +
                sum(t * k for t, k in zip(self.taste[user], self.kind[film])))

    def rows(self):
        draw = random.Random(2)
        chosen = [(user, film) for user in self.users for film in self.films if draw.random() < 0.4]
        begin = 1704067200  # 2024-01-01
        times = sorted(begin + int(draw.random() * 365 * 86400) for _ in chosen)
        order = sorted(range(len(chosen)), key=lambda k: draw.random())
        for k, at in zip(order, times):
            user, film = chosen[k]
            rating = round(2 * (self.expected_rating(user, film) + 0.25 * normal(draw))) / 2
            yield [user, film, min(5, max(0.5, rating)), at]


class Rides:
    """Stations, and how many rides are expected from one to another in a month: a product of three numbers."""

    def __init__(self):
        draw = random.Random(3)
        self.starts = {s: math.exp(0.6 * normal(draw)) for s in STATIONS}
        self.ends = {s: math.exp(0.8 * normal(draw)) for s in STATIONS}
        self.months = [1 + 0.8 * math.sin(math.pi * m / 11) for m in range(12)]
        self.scale = RIDES / (sum(self.starts.values()) * sum(self.ends.values()) * sum(self.months))

    def expected_rides(self, start, end, month):
        return self.scale * self.starts[start] * self.ends[end] * self.months[month]

    def rows(self):
        draw = random.Random(4)
        rides = []
        for month in range(12):
            first = datetime.datetime(2023, month + 1, 1)
            seconds = 86400 * ((datetime.datetime(2023 + month // 11, (month + 1) % 12 + 1, 1) - first).days)
            for start in STATIONS:
                for end in STATIONS:
                    expected, count = math.exp(-self.expected_rides(start, end, month)), -1
                    product = 1.0
                    while product > expected or count < 0:  # Knuth's Poisson numbers
                        product *= draw.random()
                        count += 1
                    for _ in range(count):
                        at = first + datetime.timedelta(seconds=int(draw.random() * seconds))
                        rides.append([at.strftime("%Y-%m-%d %H:%M:%S"), start, end])
        return [[f"R{k:05d}", *ride] for k, ride in enumerate(sorted(rides))]


def text_of(header, rows):
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def tables():
    """The text of each file."""
    return {"films.csv": text_of(["user", "film", "rating", "timestamp"], Films().rows()),
            "rides.csv": text_of(["ride", "started", "start", "end"], Rides().rows())}


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1] / "data")
    for name, text in tables().items():
        with lzma.open(folder / f"{name}.xz", "wb", preset=9) as file:
            file.write(text.encode())
