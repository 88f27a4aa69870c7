# SPDX-License-Identifier: BSD-3-Clause
"""Factors a table of pandas: names become rows of the factors, and stay with the model."""

import pandas as pd
import polyad

customers = {"north": 30, "south": 10, "west": 20}
busy = {"Fri": 1, "Sat": 3, "Sun": 2}
share = {"apple": 4, "pear": 1}
rows = [(shop, day, fruit, customers[shop] * busy[day] * share[fruit])
        for shop in customers for day in busy for fruit in share]
table = pd.DataFrame(rows, columns=["shop", "day", "fruit", "sold"])

X = polyad.asarray(table)
model = polyad.cp_als(X, rank=1)
print(model)
# A column of a factor has the norm 1: the entries are shares.
for mode, labels in enumerate(model.labels):
    for name, row in zip(labels, model.factors[mode]):
        print(f"{name:6} {abs(row[0]):.2f}")
