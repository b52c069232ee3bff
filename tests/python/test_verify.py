"""Model.verify: verdicts, witnesses, how it ends."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import bf_aot
from bf_aot import Verdict


def test_verdicts(avoid, tiny, models):
    files = models / "properties"
    result = avoid.verify(files / "collision_avoidance_6x50.vnnlib")
    assert result.verified and result.verdict == "verified" and str(result.verdict) == "verified"
    assert result.cases == result.verified_cases == 1 and result.witness is None
    assert result.seconds >= result.plan_seconds > 0 and result.methods
    split = avoid.verify(str(files / "collision_avoidance_6x50_wide.vnnlib"))
    assert split.verdict is Verdict.VERIFIED and split.boxes > 1
    assert tiny.verify((files / "tiny_holds.vnnlib").read_text()).verified
    with pytest.raises(TypeError, match="verified"):
        bool(result)
    assert "verified" in repr(result)


def test_balls(tiny):
    """The least value in the box is at a corner, which no ball holds."""
    axis = np.linspace(-1, 1, 101)
    points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    values = tiny.evaluate(points)[:, 0]
    least = {norm: values[inside].min() for norm, inside in
             (("l1", np.abs(points).sum(axis=1) <= 1), ("l2", (points ** 2).sum(axis=1) <= 1),
              ("linf", np.abs(points).max(axis=1) <= 1))}
    assert least["l1"] > least["linf"] + 0.1
    y = bf_aot.outputs(2)
    for norm, given in (("l1", 1), ("l2", 2), ("linf", "linf")):
        for limit, verdict in ((least[norm] - 0.05, "verified"), (least[norm] + 0.05, "falsified")):
            found = tiny.verify(bf_aot.Property([-1, -1], [1, 1], violated=[y[0] <= float(limit)]), norm=given)
            assert found.verdict == verdict, norm
            if found.witness is not None:
                parts = [abs(each) for each in found.exact_witness]
                assert {"l1": sum(parts), "l2": sum(p * p for p in parts), "linf": max(parts)}[norm] <= 1


def test_the_tree_is_the_same_for_any_number_of_threads(avoid):
    y = bf_aot.outputs(5)
    question = bf_aot.Property([-0.1] * 5, [0.1] * 5, [[y[0] - y[1] >= 1]])
    one = avoid.verify(question)
    assert one.verified and one.boxes > 1000
    for jobs in (0, 3):
        assert avoid.verify(question, jobs=jobs).boxes == one.boxes
    with pytest.raises(bf_aot.Error, match="BF3501"):
        avoid.verify(question, jobs=-1)


def test_a_witness_is_exact(tiny, models):
    result = tiny.verify(models / "properties/tiny_violated.vnnlib")
    assert result.falsified and result.witness.shape == tuple(tiny.inputs[0][1])
    assert result.witness.reshape(-1).tolist() == [float(each) for each in result.exact_witness]
    x0, x1 = result.exact_witness
    h0, h1 = max(0, x0 - 2 * x1), max(0, x0 / 2 + 3 * x1 + 1)
    assert np.allclose(result.output, [float(h0 - h1 + 0.5), float(-h0 / 2 + h1 / 4 - 1)])
    assert result.case == 0 and result.clause is not None


def test_errors_are_no_verdicts(tiny, avoid, models, tmp_path):
    with pytest.raises(bf_aot.Error, match="BF34"):
        tiny.verify("(assert (<= X_0")
    with pytest.raises(bf_aot.Error, match="BF3408"):
        tiny.verify(models / "properties/collision_avoidance_6x50.vnnlib")
    with pytest.raises(bf_aot.Error):
        tiny.verify(tmp_path / "none.vnnlib")
    with pytest.raises(bf_aot.Error, match="BF3501"):
        avoid.verify(models / "properties/collision_avoidance_6x50.vnnlib", timeout=-1)


def hard(model):
    """Neither proven nor falsified in a short time: all inputs, and a limit that is not reached."""
    y = bf_aot.outputs(5)
    return bf_aot.Property([-0.5] * 5, [0.5] * 5, [[y[0] - y[1] >= 2.2, y[2] <= 100]])


def test_a_timeout_and_an_event_end_it(avoid):
    start = time.monotonic()
    result = avoid.verify(hard(avoid), timeout=0.3, branch_seconds=60)
    if result.verdict is not Verdict.UNKNOWN:
        pytest.skip("the property is decided")
    assert result.stopped and time.monotonic() - start < 30
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    result = avoid.verify(hard(avoid), branch_seconds=60, search_seconds=60, stop=stop)
    assert result.stopped and result.verdict is Verdict.UNKNOWN


def test_progress(avoid, models):
    told = []
    avoid.verify(models / "properties/collision_avoidance_6x50_wide.vnnlib", progress=told.append)
    assert told[0].phase == "bound"
    assert {each.phase for each in told} <= {"bound", "search", "split"}

    def fail(progress):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        avoid.verify(models / "properties/collision_avoidance_6x50_wide.vnnlib", progress=fail)


def test_an_interrupt_ends_it(avoid):
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        avoid.verify(hard(avoid), branch_seconds=60, search_seconds=60)
        time.sleep(1)  # where it was decided sooner
    assert time.monotonic() - start < 30


def test_a_model_whose_file_has_changed_has_no_certificate(models, tmp_path):
    """Neither is one made of the file's new bytes, nor does one of these answer for the model."""
    path, proof = tmp_path / "m.onnx", tmp_path / "m.bfc"
    holds = models / "properties/tiny_holds.vnnlib"
    path.write_bytes((models / "tiny.onnx").read_bytes())
    before = bf_aot.load(path)
    path.write_bytes((models / "tiny.onnx").read_bytes() + b"\x32\x01x")  # domain "x"
    assert not bf_aot.load(path).verify(holds, proof=proof).proof.rechecked
    assert bf_aot.load(path).verify(holds, proof=proof, recheck=True).proof.rechecked
    with pytest.raises(bf_aot.Error, match="BF3024.*no longer the one that was read"):
        before.verify(holds, proof=proof, recheck=True)
