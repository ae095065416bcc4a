# Writes reference.json: samples, and what SciPy says of them. Run by hand:
#
#     python3 reference.py > reference.json
import json
import random

import scipy
from scipy import stats

random.seed(1)


def sample(n, shift=0.0, digits=6):
    return [round(random.lognormvariate(0, 0.5) * (1 + shift), digits) for _ in range(n)]


pairs = [
    # Hollander and Wolfe (1973), page 69: permeability of the human chorioamnion.
    ("permeability", [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46], [1.15, 0.88, 0.90, 0.74, 1.21]),
    ("five", sample(5), sample(5, 3)),
    ("twenty", sample(20), sample(20, 0.3)),
    ("uneven", sample(6), sample(30, 0.5)),
    ("large", sample(60), sample(45, 0.2)),
    ("large with ties", sample(60, 0, 1), sample(45, 0.4, 1)),
    ("equal", [1.0] * 30, [1.0] * 30),
]
cases = []
for name, x, y in pairs:
    exact = len(x) + len(y) <= 40
    test = stats.mannwhitneyu(x, y, alternative="two-sided", method="exact" if exact else "asymptotic")
    cases.append({"name": name, "x": x, "y": y, "p": None if test.pvalue != test.pvalue else test.pvalue})
print(json.dumps({"scipy": scipy.__version__, "cases": cases}, indent=1))
