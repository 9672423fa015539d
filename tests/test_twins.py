"""Every numba twin against its formula, on the same arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ensembles import CATEGORICAL, mixed, random_member
from oddatom.arrays.twins import TWINS
from oddatom.boundary.hinge_codes import hinge_codes
from oddatom.coding import batch_omp, linear_codes
from oddatom.coding.histograms import code_histograms
from oddatom.ensemble import coded, joining, levels, naive_bayes, row_parts, tails
from oddatom.ensemble.histogram import fit_histogram
from oddatom.ensemble.packed import pack
from oddatom.ensemble.parts import BUILT_IN
from oddatom.ensemble.trimmed import learn_spread
from oddatom.kernels import formulas, pairs
from oddatom.kernels.functions import Kernel
from oddatom.scaling.asinh import fit_asinh
from oddatom.scaling.linear import Scaling
from oddatom.scores import code_statistics, description_length, loda, margin
from oddatom.scores.center_distance import distance
from oddatom.scores.margin import linear_formula
from oddatom.scores.terms import Terms, total

RNG = np.random.default_rng(0)
X = RNG.standard_t(4, (150, 7)) * 10.0 ** np.linspace(-3, 3, 7)
SCALING = fit_asinh(X)
MODEL = (
    SCALING,
    fit_histogram(X * SCALING.unit),
    pack([random_member(RNG, 7, *s) for s in ((5, 4, 3), (1, 9, 3), (8, 1, 3))], learn_spread(X, 3, 0.3, RNG)),
)
WITH_GROUPS = (*BUILT_IN[:4], "group", *BUILT_IN[4:])
LACKING = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)  # of missing cells
LACKING[5] = np.nan
MIXED = mixed(300)
LEVELS = levels.fit_levels(MIXED, np.isin(np.arange(8), CATEGORICAL))
UNKNOWN = np.where(np.isin(np.arange(8), CATEGORICAL) & (np.arange(300) % 3 == 0)[:, None], 12.0, MIXED)
CONTEXT = naive_bayes.fit_context(MIXED, np.isin(np.arange(8), CATEGORICAL) * 1.0, np.arange(8) == 7)
PARTS = row_parts.row_parts(X, *MODEL)
SOME_MISSING = row_parts.row_parts(LACKING, *MODEL)
CALIBRATION = joining.fit_calibration(SOME_MISSING, BUILT_IN)
TAILS = tails.fit_tails(np.column_stack([np.abs(X[:, :3]), X[:, 3] > 0, X[:, 3] > 3, X[:, 5:]]))
D = RNG.standard_normal((12, 7))
D /= np.linalg.norm(D, axis=1, keepdims=True)
ROWS = RNG.standard_normal((50, 7))
ROWS[3] = 0.0  # a code without an atom
CODES = batch_omp(ROWS, D, 3)
OF_CODES = (CODES, RNG.standard_normal(12), code_statistics(CODES, 12, 7))
OF_HISTOGRAMS = (*OF_CODES[:2], OF_CODES[2]._replace(histograms=code_histograms(CODES, 12)))
FULL = linear_codes(ROWS @ D.T, 12)
OTHERS = RNG.standard_normal((31, 7))
OTHERS[5], OTHERS[6] = ROWS[8], 0.0
WEIGHTS = ((0.7, 2.0, 0.3), (0.2, 1.5, -0.4), (3.0, 0.0, 0.0))
VALUES = [(ROWS @ OTHERS.T, Kernel("poly", *weights)) for weights in WEIGHTS]
FAR = X * np.append(np.ones(149), 1e302)[:, None]
HINGE = tuple(RNG.standard_normal((3, 60)) * np.append(np.ones(59), 0.0))
EXAMPLES = {
    joining.z_formula: [(PARTS, CALIBRATION), (PARTS, CALIBRATION, slice(1, 3)), (SOME_MISSING, CALIBRATION)],
    joining.join_formula: [(joining.z_scores(PARTS, CALIBRATION), np.array([0.3, 0.2, 0.1, 0.0, 0.25, 0.15]))],
    row_parts.formula_parts: [(LACKING, *MODEL), (LACKING, *MODEL, WITH_GROUPS)],
    levels.shift_formula: [(MIXED, LEVELS), (UNKNOWN, LEVELS), (-1e300 * np.abs(UNKNOWN), LEVELS)],
    naive_bayes.context_formula: [(MIXED, CONTEXT), (MIXED, CONTEXT, True), (mixed(90, seed=1), CONTEXT)],
    tails.tail_formula: [(U, TAILS) for U in (X, 30.0 * X, -X, 0.01 * X, 1e300 * X, LACKING)],
    coded.choose: [(X, SCALING, MODEL[2]), (LACKING, SCALING, MODEL[2])],
    margin: [OF_CODES],
    hinge_codes: [(*HINGE, 0.7, h, p) for h in (0.0, 1.0) for p in (1.0, 1.8)],
    distance: [OF_CODES],
    description_length: [OF_CODES],
    loda: [OF_HISTOGRAMS, (FULL, OF_CODES[1], OF_CODES[2]._replace(histograms=code_histograms(FULL, 12)))],
    linear_formula: [
        (FAR, Scaling(None, None, 3.0), RNG.standard_normal(7)),
        (FAR, Scaling(RNG.standard_normal(7), RNG.uniform(0.1, 10, 7), 1e-8), RNG.standard_normal(7)),
    ],
    pairs.squared_distances: [(ROWS, OTHERS), (1e100 * ROWS, 1e-100 * OTHERS)],
    pairs.absolute_distances: [(ROWS, OTHERS), (1e200 * ROWS, 1e-200 * OTHERS)],
    pairs.products: [(ROWS, OTHERS), (1e200 * ROWS, 1e-200 * OTHERS)],
    pairs.own_product: [(ROWS,), (RNG.standard_normal((200, 7)),)],
    formulas.exponential: [(t * t, kernel) for t, kernel in VALUES],
    formulas.power: VALUES[:2],
    formulas.tanh: VALUES,
    formulas.matrix: [(ROWS, OTHERS, Kernel(name, *weights)) for name in formulas.KERNELS for weights in WEIGHTS[:2]],
}


@pytest.mark.parametrize("formula", TWINS, ids=lambda formula: f"{formula.__module__}.{formula.__name__}")
def test_a_twin_gives_what_its_formula_gives(formula):
    for arguments in EXAMPLES[formula]:
        wanted, found = formula(*arguments), TWINS[formula](*arguments)
        if isinstance(wanted, Terms):
            wanted = total(wanted, arguments[0])
        for one, two in zip(*((each if isinstance(each, tuple) else (each,)) for each in (wanted, found)), strict=True):
            assert np.ptp(one[~np.isnan(one)]) > 0
            if one.dtype.kind == "i":
                assert_array_equal(one, two)
            else:
                assert_allclose(two, one, rtol=1e-9, atol=1e-11)
