"""bf_aot.reach: closed loops."""

import contextlib
import json
import subprocess
import sys
import types
from fractions import Fraction

import numpy as np
import pytest

import bf_aot
from bf_aot import Verdict
from bf_aot._reach import _result as reach_result

BOX = ([0.2, -0.2], [0.4, 0.2])
UPRIGHT = "(<= -0.5 x[0] 0.5)"


@pytest.fixture(scope="module")
def loops(models):
    return models / "examples" / "loops"


@pytest.fixture(scope="module")
def pendulum(loops):
    return bf_aot.load(loops / "controller.onnx"), bf_aot.load(loops / "plant.onnx")


def test_a_loop(pendulum):
    seen = []
    found = bf_aot.reach(*pendulum, BOX, period=0.05, steps=20, always=[UPRIGHT], state_names=["angle", "speed"],
                         progress=lambda tubes, proven: seen.append((tubes, proven)))
    assert found.verdict is Verdict.VERIFIED and found.verified and not found.falsified
    assert found.lower.shape == found.upper.shape == (len(found.times), 2)
    assert np.all(found.lower <= found.upper) and found.times[-1].tolist() == [1, 1]
    assert found.violation is None and found.obstacle is None
    assert "<svg" in found._repr_html_() and "verified" in repr(found)
    assert list(found._columns()) == ["from", "to", "angle lower", "angle upper", "speed lower", "speed upper"]
    with pytest.raises(TypeError, match="may be unknown"):
        bool(found)


def test_trajectories_stay_in_the_tube(pendulum):
    controller, plant = pendulum
    found = bf_aot.reach(controller, plant, BOX, period=0.05, steps=20, kind="euler", drawing=False)
    assert found.verdict is None and found.svg == ""
    rng = np.random.default_rng(1)
    x = rng.uniform(*BOX, size=(100, 2))
    for time, lower, upper in zip(found.times[:, 0], found.lower, found.upper):
        k = round(time / 0.05)
        assert time == pytest.approx(0.05 * k)
        assert np.all((lower - 1e-5 <= x) & (x <= upper + 1e-5))
        u = controller.evaluate(x.reshape(-1, 1, 2))
        dx = np.array([plant.evaluate([each, control]) for each, control in zip(x[:, None], u.reshape(-1, 1, 1))])
        x = x + 0.05 * dx.reshape(-1, 2)


def test_a_violation(pendulum):
    found = bf_aot.reach(*pendulum, BOX, period=Fraction(1, 20), steps=10, at=[("end", UPRIGHT)], never=["(> x[0] 0.3)"],
                         within=[(0.1, 0.2, "true")])
    assert found.falsified and found.violation["requirement"] == 0
    assert found.violation["start"][0] > 0.2


def test_a_file_and_the_program(loops, program):
    found = bf_aot.reach(loops / "discrete.json")
    printed = json.loads(subprocess.run([program, "reach", loops / "discrete.json", "--json"], check=True,
                                        stdout=subprocess.PIPE).stdout)
    assert found.verified and found.state_names == ["angle", "speed"]
    assert {**found.details, "seconds": 0} == {**printed, "seconds": 0}


def test_modules_of_torch():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Mass(torch.nn.Module):
        def forward(self, x, u, wind):
            return torch.cat([x[:, 1:], u + wind], 1)

    controller = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        controller.weight.copy_(torch.tensor([[-1.0, -1.5]]))
    found = bf_aot.reach(controller, Mass(), ([0.9, -0.1], [1.1, 0.1]), period=0.1, steps=10, always=["(<= -1 x[0] 1.3)"],
                         disturbances={"wind": ([-0.1], [0.1])})
    assert found.verified


def test_what_modules_are_exported_with(loops, monkeypatch):
    """A stand-in for torch: sizes and names of the examples, from which its exporter makes files."""
    class Module:
        training = False

        def __init__(self, name):
            self.name = name

        eval = train = lambda self, *_: self

    calls = {}

    def export(module, arguments, to, input_names=None, **_):
        calls[module.name] = (arguments, input_names)
        to.write((loops / module.name).read_bytes())

    torch = types.SimpleNamespace(nn=types.SimpleNamespace(Module=Module), zeros=lambda *shape: shape,
                                  no_grad=contextlib.nullcontext, onnx=types.SimpleNamespace(export=export))
    monkeypatch.setitem(sys.modules, "torch", torch)
    found = bf_aot.reach(Module("controller.onnx"), Module("plant.onnx"), BOX, period=0.05, steps=10, always=[UPRIGHT])
    assert found.verified
    assert calls == {"controller.onnx": (((1, 2),), ["x"]), "plant.onnx": (((1, 2), (1, 1)), ["x", "u"])}
    with pytest.raises(bf_aot.Error, match="BF3602"):  # this plant has no such input
        bf_aot.reach(Module("controller.onnx"), Module("plant.onnx"), BOX, period=0.05, steps=10,
                     constants={"wind": ([0, 0, 0], [1, 1, 1])})
    assert calls["plant.onnx"] == (((1, 2), (1, 1), (1, 3)), ["x", "u", "wind"])


def test_stop_and_errors(pendulum, loops):
    class Stop:
        def is_set(self):
            return True

    given = {"period": 0.05, "steps": 10}
    for _ in range(20):  # some are stopped before the first piece of a tube
        found = bf_aot.reach(*pendulum, BOX, always=["(<= x[0] 0.4)"], stop=Stop(), timeout=60, **given)
        assert found.verdict in (Verdict.UNKNOWN, Verdict.FALSIFIED) and found.lower.shape == (len(found.times), 2)
        assert found.state_names == ["x[0]", "x[1]"] and found._repr_html_() is not None
    answer = {**found.details, "tube": [], "answer": "unknown"}
    empty = reach_result({"json": json.dumps(answer), "svg": ""}, 2)
    assert empty.lower.shape == empty.upper.shape == empty.times.shape == (0, 2) and list(empty._columns())
    for code, more in (("BF3603", {"steps": 10}), ("BF3611", {**given, "always": ["(<= y 1)"]}),
                       ("BF3605", {**given, "at": [(1, "true")]}), ("BF3604", {**given, "delayed": True}),
                       ("BF3602", {**given, "constants": {"w": ([0], [1])}}), ("BF3501", {**given, "jobs": -1})):
        with pytest.raises(bf_aot.Error, match=code):
            bf_aot.reach(*pendulum, BOX, **more)
    with pytest.raises(bf_aot.Error, match="BF3008"):
        bf_aot.reach(*pendulum, BOX[::-1], **given)
    with pytest.raises(TypeError, match="give a controller, a plant and a box"):
        bf_aot.reach(pendulum[0])
    with pytest.raises(TypeError, match="needs a box"):
        bf_aot.reach(*pendulum)
    with pytest.raises(TypeError, match="always is a list"):
        bf_aot.reach(*pendulum, BOX, always=UPRIGHT, **given)
    with pytest.raises(TypeError, match="controller: a model is a path"):
        bf_aot.reach(3, pendulum[1], BOX, **given)
