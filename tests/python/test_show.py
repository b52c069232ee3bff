"""What a notebook, pandas and pictures get; boxes; certify() as a function; tensors of torch."""

import doctest
import importlib
import json
import os
import pkgutil
from fractions import Fraction

import numpy as np
import pytest

import bf_aot

from conftest import MODELS, SOURCE

DIGITS = MODELS / "examples/robustness"


@pytest.fixture(scope="module")
def samples():
    with np.load(DIGITS / "digits_test.npz") as file:
        return file["x"][:30] / 16, file["y"][:30]


@pytest.fixture(scope="module")
def network():
    return bf_aot.load(DIGITS / "digits_cnn.onnx")


def test_boxes_hold_all_points():
    generator = np.random.default_rng(1)
    x = generator.normal(0, 1, (20, 3))
    for eps in ["8/255", 0.1, generator.uniform(0, 1, 20), generator.uniform(0, 1, (20, 3))]:
        if isinstance(eps, str):
            x = np.clip(x, -0.3, 1)
        low, high = bf_aot.box(x, eps, clip="-1/3, 1" if isinstance(eps, str) else None)
        assert low.dtype == high.dtype == np.float32 and low.shape == x.shape
        for i, j in np.ndindex(x.shape):
            radius = (Fraction(eps) if isinstance(eps, (str, float)) else
                      Fraction(float(eps[i] if eps.ndim == 1 else eps[i, j])))
            a, b = Fraction(x[i, j]) - radius, Fraction(x[i, j]) + radius
            if isinstance(eps, str):
                a, b = max(a, Fraction(-1, 3)), min(b, Fraction(1))
            assert Fraction(float(low[i, j])) <= a and b <= Fraction(float(high[i, j]))
            # No float lies between.
            assert Fraction(float(np.nextafter(low[i, j], np.float32(np.inf)))) > a
            assert Fraction(float(np.nextafter(high[i, j], np.float32(-np.inf)))) < b
    with pytest.raises(ValueError, match="eps"):
        bf_aot.box(x, -1)
    with pytest.raises(ValueError, match="clip"):
        bf_aot.box([[3.0]], 0.1, clip=(0, 1))


def test_rows_for_each_box(avoid):
    generator = np.random.default_rng(2)
    x = generator.normal(0, 0.1, (2, 3, 5))
    C = generator.integers(-1, 2, (2, 3, 4, 5)).astype(float)
    C[1, 2] = C[0, 0]
    d = generator.normal(0, 1, (2, 3, 4))
    d[1, 2] = d[0, 0]
    found = avoid.bounds(x - 0.01, x + 0.01, C=C, d=d)
    assert found.lower.shape == (2, 3, 4) and found.methods.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        alone = avoid.bounds(x[i, j] - 0.01, x[i, j] + 0.01, C=C[i, j], d=d[i, j])
        assert np.array_equal(alone.lower, found.lower[i, j])
        assert np.array_equal(alone.upper, found.upper[i, j])
    for wrong in (C[..., :4], C[:, :2]):
        with pytest.raises(ValueError, match="C has shape"):
            avoid.bounds(x - 0.01, x + 0.01, C=wrong)


def test_intermediate_bounds(avoid):
    x = np.random.default_rng(3).normal(0, 0.1, (2, 4, 5))
    name = avoid.outputs[0][0]
    found = avoid.intermediate_bounds(x - 0.01, x + 0.01, ["relu_2", name])
    assert found["relu_2"].lower.shape == (2, 4, 50)
    inner = bf_aot.load(MODELS / "collision_avoidance_6x50.onnx", output_tensor="relu_2").evaluate(x)
    assert np.all(found["relu_2"].lower <= inner) and np.all(inner <= found["relu_2"].upper)
    plain = avoid.bounds(x - 0.01, x + 0.01)
    assert np.allclose(found[name].lower, plain.lower, atol=1e-5)
    with pytest.raises(bf_aot.Error, match="BF1017"):
        avoid.intermediate_bounds(x, x, "none")
    with pytest.raises(TypeError, match="C and d"):
        avoid.intermediate_bounds(x, x, "relu_2", C=[[1]])


def test_a_radius_for_each_sample(network, samples):
    x, y = samples
    radii = np.linspace(0.001, 0.05, len(y))
    found = network.certify(x, y, radii[:, None], clip=(0, 1))
    for i in range(0, len(y), 7):
        alone = network.certify(x[i:i + 1], y[i:i + 1], radii[i], clip=(0, 1))
        assert (alone.status[0], alone.margin[0]) == (found.status[i], found.margin[i])


def test_balls_are_as_the_program_has_them(network, program, samples, tmp_path):
    import json
    import subprocess

    x, y = samples
    for norm, eps in (("l2", "0.1"), ("L1", "0.2")):
        done = subprocess.run([program, "certify", DIGITS / "digits_cnn.onnx", "--data",
                               DIGITS / "digits_test.npz", "--scale", "16", "--clip", "0", "1",
                               "--count", str(len(y)), "--norm", norm, "--eps", eps, "--json"],
                              check=True, capture_output=True, text=True)
        row = json.loads(done.stdout)["radii"][0]
        found = bf_aot.certify(network, x, y, eps, clip=(0, 1), norm=norm)
        assert found.status.count("certified") == row["certified"]
        # A ball is within its box.
        assert np.all(found.margin >= network.certify(x, y, eps).margin - 1e-4)


def test_a_ball_holds_that_of_the_exact_radius():
    """Points of the circle, which are rational, are in the ellipse of the box, which is too."""
    from bf_aot._certified import boxes_around
    from bf_aot._arrays import clip_ends

    generator = np.random.default_rng(5)
    outside = 0
    for _ in range(200):
        x = generator.normal(0, 10, (1, 2))
        eps = generator.uniform(1e-6, 1e-4)
        ends = boxes_around(x, (np.full((1, 2), eps),) * 2, clip_ends(None))[:2]
        held = tuple(each.copy() for each in ends)
        bf_aot._native.hold_balls(*held, "l2")
        for t in map(Fraction, generator.integers(-50, 50, 4).tolist()):
            t /= 17
            point = [Fraction(x[0, k]) + Fraction(eps) * u
                     for k, u in enumerate(((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)))]

            def size(box):
                low, high = ([Fraction(float(each)) for each in end[0]] for end in box)
                return sum((2 * p - a - b) ** 2 / (b - a) ** 2 for p, a, b in zip(point, low, high))

            outside += size(ends) > 1
            assert size(held) <= 1
    assert outside > 0  # of the box that is rounded alone


def test_certify_as_a_function(network, samples):
    x, y = samples
    one = bf_aot.certify(DIGITS / "digits_cnn.onnx", x, y, "0.01", clip=(0, 1))
    assert np.array_equal(one.margin, network.certify(x, y, "0.01", clip=(0, 1)).margin)
    curve = bf_aot.certify(network, x, list(y), ["1/100", 0.03], clip=(0, 1))
    assert curve.eps == ["1/100", 0.03] and len(curve.accuracy) == 2
    assert curve.accuracy[0] == one.accuracy >= curve.accuracy[1]
    assert "1/100" in curve._repr_html_() and "%" in repr(curve)


def test_notebooks(avoid, tiny, network, samples):
    x = np.full((3, 5), 0.1)
    shown = avoid.bounds(x, x + 0.1)._repr_html_()
    assert shown.count("<tr>") == 1 + 15 and "<th>lower</th>" in shown
    many = avoid.bounds(np.zeros((9, 5)), np.ones((9, 5)), method="ibp")._repr_html_()
    assert "25 more" in many
    assert "certified" in network.certify(*samples, 0.01)._repr_html_()
    result = tiny.verify(MODELS / "properties/tiny_violated.vnnlib")
    assert result._repr_html_().count("<tr>") == 3


def test_pandas(avoid, tiny, network, samples):
    pytest.importorskip("pandas", reason="pandas is not installed")
    x = np.full((2, 3, 5), 0.1)
    bounds = avoid.bounds(x, x + 0.1)
    frame = bounds.to_pandas()
    assert list(frame.columns) == ["box_0", "box_1", "row", "lower", "upper", "method"]
    assert len(frame) == 30 and frame.lower[17] == bounds.lower.reshape(-1)[17]
    assert frame.row[17] == 2 and (frame.box_0[17], frame.box_1[17]) == (1, 0)
    certified = network.certify(*samples, 0.01)
    assert list(certified.to_pandas().status) == certified.status
    curve = bf_aot.certify(network, *samples, [0.01, 0.02]).to_pandas()
    assert list(curve.certified) == sorted(curve.certified, reverse=True)
    result = tiny.verify(MODELS / "properties/tiny_violated.vnnlib")
    assert list(result.to_pandas().value) == [float(each) for each in result.exact_witness]
    tables = tiny.report().to_pandas()
    assert len(tables) > 2 and all(len(table) for table in tables.values())
    assert "dense · relu" in list(tables["Network"].computes)


def test_plots(avoid, network, samples, tmp_path):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg")
    x = np.full((2, 5), 0.1)
    axes = avoid.bounds(x, x + 0.1).plot()
    assert len(axes.patches) == 10 and axes.get_legend() is not None
    axes.figure.savefig(tmp_path / "bounds.png")
    certified = network.certify(*samples, 0.01)
    assert "certified" in certified.plot().get_title()
    curve = bf_aot.certify(network, *samples, ["0.01", "1/50"])
    line = curve.plot().lines[0]
    assert line.get_xdata().tolist() == [0.01, 0.02]
    assert np.array_equal(line.get_ydata(), 100 * curve.accuracy)
    assert curve.plot(ax=axes) is axes


def test_tensors_of_torch(avoid, network, samples):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = np.random.default_rng(0).normal(0, 0.1, (4, 5)).astype(np.float32)
    plain = avoid.bounds(x, x + np.float32(0.1), C=[[1, -1, 0, 0, 0]])
    tensor = torch.from_numpy(x).requires_grad_()
    found = avoid.bounds(tensor, tensor + 0.1, C=torch.tensor([[1., -1, 0, 0, 0]]))
    assert np.array_equal(found.lower, plain.lower)
    assert np.array_equal(avoid.evaluate(tensor), avoid.evaluate(x))
    halves = torch.from_numpy(x).to(torch.bfloat16)
    assert np.array_equal(avoid.evaluate(halves), avoid.evaluate(halves.float()))
    images, labels = samples
    found = network.certify(torch.from_numpy(images), torch.from_numpy(np.asarray(labels)), 0.01)
    assert np.array_equal(found.margin, network.certify(images, labels, 0.01).margin)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    assert bf_aot.certify(module, torch.from_numpy(images).float(), labels, 0).status
    low, high = bf_aot.box(tensor, torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64))
    assert np.all(low < x) and np.all(x < high)


def test_examples_in_docstrings(monkeypatch):
    monkeypatch.chdir(SOURCE)
    tried = 0
    names = [f"bf_aot.{each.name}" for each in pkgutil.iter_modules(bf_aot.__path__)]
    for name in [name for name in names if not name.endswith("_native")]:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            assert (name, error.name) == ("bf_aot.train", "torch")
            continue
        done = doctest.testmod(module, extraglobs={"bf_aot": bf_aot, "np": np})
        assert done.failed == 0, name
        tried += done.attempted
    assert tried >= 8
    assert os.getcwd() == str(SOURCE)


def test_results_as_json(network, samples):
    """Each result, as a program of another language reads it."""
    x, y = samples
    avoid = bf_aot.load(MODELS / "collision_avoidance_6x50.onnx")
    point = np.array([0.234, -0.007, 0.496, 0.545, 0.5])
    results = {
        "bounds": avoid.bounds(point, point + 0.001),
        "certified": network.certify(x[:4], y[:4], "0.3", clip=(0, 1)),
        "curve": bf_aot.certify(network, x[:4], y[:4], [0.01, 0.3], clip=(0, 1)),
        "verdict": bf_aot.load(MODELS / "tiny.onnx").verify(MODELS / "properties/tiny_violated.vnnlib"),
        "comparison": bf_aot.compare(avoid, avoid, point, point + 0.001)}
    for name, result in results.items():
        again = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert again, name
    bounds = results["bounds"].to_dict()
    assert bounds["lower"] == results["bounds"].lower.tolist() and bounds["methods"] == "crown"
    verdict = results["verdict"].to_dict()
    assert verdict["verdict"] == "falsified" and verdict["proof"] is None
    assert [Fraction(each) for each in verdict["exact_witness"]] == results["verdict"].exact_witness
    empty = bf_aot.Bounds(np.array([-np.inf], np.float32), np.array([np.inf], np.float32))
    empty.methods = np.array("ibp")
    assert empty.to_dict() == {"lower": ["-inf"], "upper": ["inf"], "methods": "ibp"}


def test_errors_have_the_package_s_name():
    with pytest.raises(bf_aot.Error) as raised:
        bf_aot.load("none.onnx")
    assert type(raised.value).__module__ == "bf_aot"
