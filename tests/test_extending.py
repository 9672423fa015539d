"""A part, a score, a scaling and kernels from outside the package: on NumPy, torch, in model files and ONNX files.

Nothing but the registries is touched.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oddatom
from ensembles import factors
from oddatom import DLOCSVM, KDLOCSVM, KDPLOCSVM, ModelFileError, OddAtomDetector
from oddatom.arrays.namespaces import namespace
from oddatom.ensemble.parts import PARTS, Part, register
from oddatom.kernels.formulas import KERNELS, KernelFormula
from oddatom.kernels.functions import Kernel
from oddatom.kernels.pairs import SQUARED_DISTANCES, Pairs
from oddatom.onnx import to_onnx
from oddatom.scaling.column_statistics import SCALINGS
from oddatom.scores import SCORES, Terms

X = factors(300)
NEW = factors(80, seed=1)
NEW[::7] *= 5.0


def fourth_powers(rows):
    """Σ_f e_f⁴ of each member."""
    return rows.residual**4


def sizes(rows):
    """Σ_f |y_f|, of the row alone."""
    return namespace(rows.scaled).abs(rows.scaled)


def absolute(codes, w, statistics):
    """−Σ_i |x_i| − 3 ‖y − x D‖²."""
    return Terms(slots=-namespace(codes.values).abs(codes.values), residual=-3.0)


def midrange(columns):
    """Centred half way between the 10th and the 90th percentile."""
    low, high = columns.quantiles((0.1, 0.9))
    return 0.5 * (low + high), high - low


def rational_quadratic(t, kernel):
    """1/(1 + gamma ‖y − z‖²)."""
    return 1.0 / (1.0 + kernel.gamma * t)


def overlaps(Y, Z):
    """Σ_f min(y_f, z_f), of rows at least 0."""
    xp = namespace(Y)
    return xp.sum(xp.minimum(xp.abs(Y)[:, None, :], xp.abs(Z)[None, :, :]), axis=-1)


NEW_KERNELS = {
    "rational": KernelFormula(SQUARED_DISTANCES, rational_quadratic, lambda kernel: True, bounded=True),
    "overlap": KernelFormula(Pairs(overlaps)),
}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    with monkeypatch.context() as patch:
        register(Part("fourth_powers", fourth_powers))
        register(Part("sizes", sizes, of_members=False))
        patch.setitem(SCORES, "absolute", absolute)
        patch.setitem(SCALINGS, "midrange", midrange)
        for name, formula in NEW_KERNELS.items():
            patch.setitem(KERNELS, name, formula)
        try:
            yield
        finally:
            del PARTS["fourth_powers"], PARTS["sizes"]


@pytest.fixture(params=["fourth_powers", "sizes", "joined", "margin", "score and scaling"])
def model(request):
    if request.param == "score and scaling":
        return DLOCSVM.paper(n_nonzero=3, beta=0.01, scoring="absolute", scaling="midrange", random_state=0).fit(X)
    return OddAtomDetector(request.param, random_state=0).fit(X)


def test_numpy(model):
    scores = model.score_samples(NEW)
    assert np.ptp(scores) > 0
    assert_array_equal(np.concatenate([model.score_samples(row[None]) for row in NEW]), scores)
    if isinstance(model, OddAtomDetector):
        assert model.weights_["fourth_powers"] > 0
        assert model.weights_["sizes"] > 0
        return
    scaling, low, high = model.scaling_, *np.quantile(X, [0.1, 0.9], axis=0)
    assert_allclose(scaling.center, 0.5 * (low + high), rtol=1e-12)
    codes = model.transform(NEW).toarray()
    left = scaling.apply(NEW) - codes @ model.components_
    assert_allclose(scores, -np.abs(codes).sum(axis=1) - 3 * np.sum(left**2, axis=1), rtol=1e-9)


def test_values_of_the_parts():
    ensemble = OddAtomDetector(random_state=0).fit(X).ensemble_
    values = ensemble.parts(NEW)
    Y = ensemble.scaling.apply(NEW)
    assert_allclose(values.rows[:, -1], np.abs(Y).sum(axis=1), rtol=1e-12)
    residual = values.members[..., 3]
    assert (values.members[..., -1] <= residual**2 * (1 + 1e-9)).all()
    assert (values.members[..., -1] >= residual**2 / NEW.shape[1] * (1 - 1e-9)).all()


def test_torch(model):
    torch = pytest.importorskip("torch")
    scores = model._device_scores(torch.tensor(NEW), torch.device("cpu"))
    assert_allclose(scores, model.score_samples(NEW), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", ["tensor", "blocks"])
def test_scaling_is_the_same_wherever_the_rows_are(kind):
    from oddatom.scaling.array_columns import fit_scaling

    wanted = fit_scaling(X, "midrange")[0]
    if kind == "tensor":
        torch = pytest.importorskip("torch")
        from oddatom.rows.device.tensor_source import TensorSource

        found = TensorSource(torch.tensor(X), torch.device("cpu")).fit_scaling("midrange")
    else:
        from block_source import BlockSource

        found = BlockSource(X, [100, 107]).fit_scaling("midrange")
    for one, two in zip(wanted, found, strict=True):
        assert_allclose(two, one, rtol=1e-12)


def test_saved_and_loaded(model, tmp_path):
    oddatom.save(model, tmp_path / "model")
    loaded = oddatom.load(tmp_path / "model")
    assert_array_equal(loaded.score_samples(NEW), model.score_samples(NEW))


def test_explain(model):
    contributions = model.explain(NEW).contributions
    assert_allclose(contributions.sum(axis=1), model.score_samples(NEW), rtol=1e-9, atol=1e-12)
    if model.scoring_ == "sizes":
        size = np.abs(model.ensemble_.scaling.apply(NEW))
        odd = model.score_samples(NEW) < 0
        wanted = size / size.sum(axis=1, keepdims=True) * model.score_samples(NEW)[:, None]
        assert_allclose(contributions[odd], wanted[odd], rtol=1e-9)


def test_onnx(model):
    pytest.importorskip("ndonnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    scores = session.run(["scores"], {"X": NEW})[0]
    assert_allclose(scores, model.score_samples(NEW), rtol=1e-8, atol=1e-10)


# Kernels


def in_plain_numpy(name, Y, Z, gamma):
    if name == "overlap":
        return np.array([[np.minimum(np.abs(y), np.abs(z)).sum() for z in Z] for y in Y])
    return np.array([[1 / (1 + gamma * np.sum((y - z) ** 2)) for z in Z] for y in Y])


@pytest.mark.parametrize("name", NEW_KERNELS)
def test_values_of_a_kernel(name):
    kernel, wanted = Kernel(name, 0.7), in_plain_numpy(name, NEW, X[:90], 0.7)
    assert_allclose(kernel(NEW, X[:90]), wanted, rtol=1e-12)
    assert_array_equal(kernel.diagonal(X), np.diag(kernel(X, X)))
    torch = pytest.importorskip("torch")
    formula = KERNELS[name]
    found = formula.of(formula.pairs.of(torch.tensor(NEW), torch.tensor(X[:90])), kernel)
    assert_allclose(found, wanted, rtol=1e-12)


@pytest.fixture(params=NEW_KERNELS)
def kernel_model(request):
    return KDLOCSVM.paper(kernel=request.param, scoring="description_length", approximation=40, random_state=0).fit(X)


def test_a_kernel_on_numpy(kernel_model):
    scores = kernel_model.score_samples(NEW)
    assert np.ptp(scores) > 0
    assert_array_equal(np.concatenate([kernel_model.score_samples(row[None]) for row in NEW]), scores)
    fitted = kernel_model.kernel_map_
    Phi = fitted.apply(kernel_model.scaling_.apply(X))
    Y = kernel_model.scaling_.apply(X)
    assert_allclose(
        (Phi @ Phi.T)[fitted.indices][:, fitted.indices],
        in_plain_numpy(fitted.kernel.function, Y[fitted.indices], Y[fitted.indices], kernel_model.gamma_),
        atol=1e-7 * np.abs(Phi).max() ** 2,
    )


def test_a_kernel_on_torch(kernel_model):
    torch = pytest.importorskip("torch")
    scores = kernel_model._device_scores(torch.tensor(NEW), torch.device("cpu"))
    assert_allclose(scores, kernel_model.score_samples(NEW), rtol=1e-7, atol=1e-9)
    far = np.array(NEW[:5]) * np.logspace(0, 200, 5)[:, None]
    scores = kernel_model._device_scores(torch.tensor(far), torch.device("cpu"))
    assert_allclose(scores, kernel_model.score_samples(far), rtol=1e-6)


def test_a_kernel_fitted_on_torch():
    torch = pytest.importorskip("torch")
    settings = {"kernel": "rational", "max_iter": 2, "approximation": 40, "random_state": 0}
    here = KDPLOCSVM.paper(**settings).fit(X)
    there = KDPLOCSVM.paper(**settings).fit(torch.tensor(X))
    assert_allclose(there.score_samples(NEW), here.score_samples(NEW), rtol=1e-6, atol=1e-9)


def test_a_kernel_saved_and_loaded(kernel_model, tmp_path, monkeypatch):
    oddatom.save(kernel_model, tmp_path / "model")
    assert_array_equal(oddatom.load(tmp_path / "model").score_samples(NEW), kernel_model.score_samples(NEW))
    with monkeypatch.context() as patch:
        patch.delitem(KERNELS, kernel_model.kernel)
        with pytest.raises(ModelFileError, match=r"'kernel' parameter of KDLOCSVM must be a str among \{'rbf', "):
            oddatom.load(tmp_path / "model")


@pytest.mark.parametrize("name", ["distance", "joined", "margin", "sizes"])
def test_a_name_is_taken_once(name):
    with pytest.raises(ValueError, match=f"a score or part called '{name}' already. Give the part another name"):
        register(Part(name, sizes, of_members=False))


def test_a_largest_term_leaves_no_rest():
    with pytest.raises(ValueError, match="which leaves no rest"):
        register(Part("both", sizes, rest=sizes, largest=True))
