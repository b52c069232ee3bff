"""bf_aot.train: bounds of torch modules with gradients."""

import numpy as np
import pytest

import bf_aot

torch = pytest.importorskip("torch", reason="torch is not installed")
from bf_aot import train  # noqa: E402
from torch import nn  # noqa: E402

torch.set_num_threads(1)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.pool, self.last = nn.Conv2d(4, 4, 3, padding=1), nn.AvgPool2d(2), nn.Linear(64, 5)

    def forward(self, x):
        h = torch.relu(self.norm(self.first(x)))
        h = torch.relu(self.second(h) + h)
        return self.last(torch.flatten(self.pool(h), 1))


@pytest.fixture(params=["residual", "dense"])
def net(request):
    torch.manual_seed(3)
    if request.param == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 20), nn.ReLU(), nn.Linear(20, 5)).eval()
    made = Residual().eval()
    made.norm.running_mean.normal_()
    made.norm.weight.data.normal_()
    return made


@pytest.fixture
def boxes():
    x = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    return x - 0.05, x + 0.05


@pytest.mark.parametrize("method", ["ibp", "crown-ibp"])
def test_bounds_hold_and_are_those_of_bf_aot(net, boxes, method):
    network = train.Network(net)
    lower, upper = network.bounds(*boxes, method=method)
    rows = train.rivals(torch.tensor([0, 1, 2]), 5)
    least, most = network.bounds(*boxes, rows, method)
    for trial in range(200):
        share = torch.rand(boxes[0].shape).round() if trial % 2 else torch.rand(boxes[0].shape)
        y = net(boxes[0] + (boxes[1] - boxes[0]) * share)
        assert torch.all(lower <= y + 1e-4) and torch.all(y <= upper + 1e-4)
        z = (rows @ y[..., None])[..., 0]
        assert torch.all(least <= z + 1e-4) and torch.all(z <= most + 1e-4)
    sound = bf_aot.load(net, example=boxes[0][:1]).bounds(*boxes, method=method)
    if method == "ibp":  # as wide, but for what normalisation and pooling lose between layers here
        assert np.all(np.asarray(sound.lower).reshape(3, 5) >= lower.detach().numpy() - 1e-4)


@pytest.mark.parametrize("method", ["ibp", "crown-ibp"])
def test_gradients_are_those_of_differences(net, boxes, method):
    net, (low, high) = net.double(), (each.double() for each in boxes)
    rows = train.rivals(torch.tensor([0, 1, 2]), 5, torch.float64)
    network = train.Network(net)
    for parameter in net.parameters():
        net.zero_grad()
        network.bounds(low, high, rows, method)[0].sum().backward()
        way = torch.randn_like(parameter)
        expected = float((parameter.grad * way).sum())
        step = 1e-6
        with torch.no_grad():
            parameter += step * way
            above = network.bounds(low, high, rows, method)[0].sum()
            parameter -= 2 * step * way
            below = network.bounds(low, high, rows, method)[0].sum()
            parameter += step * way
        assert float(above - below) / (2 * step) == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_training_certifies_more():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(400, 6, generator=generator)
    y = ((X[:, 0] + X[:, 1] > X[:, 2] + X[:, 3]).long() + 2 * (X[:, 4] > X[:, 5]).long())
    shares = []
    for share in (0.0, 0.7):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
        losses = []
        train.fit(net, X, y, 0.05, clip=(0, 1), epochs=30, batch=64, rate=1e-2, share=share,
                  progress=lambda epoch, loss: losses.append(loss))
        assert len(losses) == 30 and not net.training
        found = bf_aot.certify(net, X[:200].numpy(), y[:200].numpy(), "0.05", clip=(0, 1), method="ibp")
        shares.append(found.accuracy)
    assert shares[1] > shares[0] + 0.1


def test_what_has_no_bounds_is_named():
    with pytest.raises(TypeError, match="GELU"):
        train.Network(nn.Sequential(nn.Linear(2, 2), nn.GELU()))
    tanh = train.Network(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)))
    ends = torch.zeros(1, 2), torch.ones(1, 2)
    assert torch.all(tanh.bounds(*ends)[0] <= tanh.bounds(*ends)[1])
    with pytest.raises(TypeError, match="ReLU alone"):
        tanh.bounds(*ends, method="crown-ibp")
    with pytest.raises(ValueError, match="neither"):
        tanh.bounds(*ends, method="crown")
