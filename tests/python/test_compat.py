"""The calls of auto_LiRPA, as bf_aot answers them; beside auto_LiRPA itself where it is installed."""

import numpy as np
import pytest

import bf_aot

torch = pytest.importorskip("torch", reason="torch is not installed")
from bf_aot.compat.auto_lirpa import BoundedModule, BoundedTensor, PerturbationLpNorm  # noqa: E402

METHODS = {"IBP": "ibp", "CROWN-IBP": "crown-ibp", "CROWN": "crown", "backward": "crown",
           "CROWN-Optimized": "alpha-crown", "alpha-CROWN": "alpha-crown"}


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3, stride=2), torch.nn.ReLU(), torch.nn.Flatten(),
                               torch.nn.Linear(27, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()


def images(count=3):
    return torch.rand(count, 1, 8, 8, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("method", METHODS)
def test_bounds_are_those_of_the_model(method):
    net, x = network(), images()
    module = BoundedModule(net, torch.zeros(2, 1, 8, 8))
    bounded = BoundedTensor(x, PerturbationLpNorm(norm=np.inf, eps=0.02))
    lower, upper = module.compute_bounds(x=(bounded,), method=method)
    ours = bf_aot.load(net, example=x[:1]).bounds(*bf_aot.box(x, 0.02), method=METHODS[method])
    assert lower.shape == (3, 4) and lower.dtype == torch.float32
    np.testing.assert_array_equal(lower.numpy(), ours.lower)
    np.testing.assert_array_equal(upper.numpy(), ours.upper)
    assert torch.all(lower <= net(x)) and torch.all(net(x) <= upper)


def test_rows_sides_and_points():
    net, x = network(), images()
    module = BoundedModule(net, x)
    C = torch.tensor([[[1.0, -1, 0, 0], [0, 0, 1, -1]]]).repeat(3, 1, 1)
    lower, upper = module.compute_bounds(x=(x,), C=C, bound_upper=False)
    assert upper is None and lower.shape == (3, 2)
    assert torch.all((C @ net(x)[..., None])[..., 0] - lower < 1e-5)
    low, high = module.compute_bounds(x=(x,), method=None, IBP=True)
    assert torch.all(high - low < 1e-5)


def test_the_module_is_as_a_module():
    net, x = network(), images()
    module = BoundedModule(net, x)
    bounded = BoundedTensor(x, PerturbationLpNorm(eps=0.1))
    assert torch.equal(module(bounded), net(x)) and bounded.ptb.eps == 0.1
    assert isinstance(bounded, torch.Tensor) and type(bounded + 1) is torch.Tensor


def test_parameters_that_change():
    net, x = network(), images(1)
    module = BoundedModule(net, x)
    before, _ = module.compute_bounds(x=(x,))
    assert module.model is module.model
    with torch.no_grad():
        net[5].bias += 1
    after, _ = module.compute_bounds(x=(x,))
    assert torch.allclose(before + 1, after, atol=1e-5)


def test_ends_are_rounded_outward():
    x = torch.tensor([[0.1, 0.2]], dtype=torch.float64)
    low, high = PerturbationLpNorm(x_L=x - 0.3, x_U=x + 0.3).ends(x)
    assert np.all(low.astype(float) <= (x - 0.3).numpy()) and np.all((x + 0.3).numpy() <= high)
    with pytest.raises(ValueError, match="ends of a box"):
        PerturbationLpNorm(norm=2, x_L=x)


@pytest.mark.parametrize("norm", [1, 2])
def test_balls_hold_their_points(norm):
    """Of corners, whose ball is the one of the widest half width on each axis."""
    net = torch.nn.Sequential(torch.nn.Linear(2, 2)).eval()
    x = torch.tensor([[0.1, 0.7]])
    lower, upper = BoundedModule(net, x).compute_bounds(
        x=(BoundedTensor(x, PerturbationLpNorm(norm=norm, eps=0.3)),))
    weight, bias = (each.detach().double() for each in net[0].parameters())
    radius = 0.3 * weight.norm(p=2 if norm == 2 else np.inf, dim=1)
    centre = x.double() @ weight.T + bias
    assert torch.all(lower.double() <= centre - radius) and torch.all(centre + radius <= upper.double())
    assert torch.all(upper - lower < 2 * radius + 1e-5)


def test_what_is_not_answered():
    net, x = network(), images()
    module = BoundedModule(net, x)
    with pytest.raises(NotImplementedError, match="return_A"):
        module.compute_bounds(x=(x,), return_A=True)
    with pytest.raises(NotImplementedError, match="bound_opts"):
        BoundedModule(net, x, bound_opts={"relu": "same-slope"})
    with pytest.raises(NotImplementedError, match="device"):
        BoundedModule(net, x, device="cuda")
    with pytest.raises(ValueError, match="there is no method"):
        module.compute_bounds(x=(x,), method="nonsense")


@pytest.mark.parametrize("method", ["IBP", "CROWN-IBP", "backward"])
def test_beside_auto_lirpa(method):
    theirs = pytest.importorskip("auto_LiRPA", reason="auto_LiRPA is not installed")
    from auto_LiRPA.perturbations import PerturbationLpNorm as Theirs

    net, x = network(), images()
    C = torch.tensor([[[1.0, -1, 0, 0], [0, 0, 1, -1]]]).repeat(3, 1, 1)
    for norm, rows in ((np.inf, None), (np.inf, C), (2, None)):
        if norm == 2 and method != "backward":
            continue  # Intervals of theirs know the ball in the first layer, ours know the box alone.
        want = theirs.BoundedModule(net, torch.empty_like(x)).compute_bounds(
            x=(theirs.BoundedTensor(x, Theirs(norm=norm, eps=0.02)),), method=method, C=rows)
        got = BoundedModule(net, torch.empty_like(x)).compute_bounds(
            x=(BoundedTensor(x, PerturbationLpNorm(norm=norm, eps=0.02)),), method=method, C=rows)
        for a, b in zip(want, got):
            assert a.shape == b.shape
            np.testing.assert_allclose(a.detach().numpy(), b.numpy(), atol=2e-4)
