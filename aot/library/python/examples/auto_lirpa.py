"""The quick start of auto_LiRPA, and the same steps here: auto_lirpa.py [--time].

Both bound the same network on the same boxes. With --time a table of what each step takes, of which
docs/measurements/python.md holds one.
"""

import sys
import timeit

import numpy as np

import bf_aot

try:
    import torch
    from auto_LiRPA import BoundedModule, BoundedTensor
    from auto_LiRPA.perturbations import PerturbationLpNorm
except ImportError as error:
    sys.exit(f"this needs torch and auto_LiRPA: {error}")

EPS = 0.02
CLASSES = 10


def network():
    """A small convolutional network for images of 1 x 28 x 28, as that of the quick start."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 4, stride=2, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 4, stride=2, padding=1), torch.nn.ReLU(),
        torch.nn.Flatten(), torch.nn.Linear(16 * 7 * 7, 100), torch.nn.ReLU(),
        torch.nn.Linear(100, CLASSES)).eval()


def rows_against(label):
    """y_label - y_i for all others: positive lower bounds prove the label."""
    rows = -np.eye(CLASSES)
    rows[:, label] += 1
    return np.delete(rows, label, axis=0)


def seconds(step, repeats=5):
    step()
    return min(timeit.repeat(step, number=1, repeat=repeats))


def main():
    net = network()
    images = np.random.default_rng(0).uniform(0, 1, (2, 1, 28, 28)).astype(np.float32)
    tensors = torch.from_numpy(images)
    rows = rows_against(int(net(tensors[:1]).argmax()))
    steps = []

    # 1. Wrap the network.
    def theirs_load():
        return BoundedModule(net, torch.empty_like(tensors), device="cpu")

    def ours_load():
        return bf_aot.load(net, example=tensors[:1])

    module, model = theirs_load(), ours_load()
    steps.append(("wrap the network", theirs_load, ours_load))

    # 2. Say what may be perturbed.
    bounded = BoundedTensor(tensors, PerturbationLpNorm(norm=np.inf, eps=EPS))
    lower, upper = bf_aot.box(tensors, EPS)

    # 3. Bound the outputs by intervals, and by backward bounds.
    def theirs(method, c=None):
        with torch.no_grad():
            return module.compute_bounds(x=(bounded,), method=method, C=c)

    for name, method in (("IBP", "IBP"), ("CROWN-IBP", "CROWN-IBP"), ("CROWN", "backward")):
        steps.append((f"{name} of 2 images", lambda method=method: theirs(method),
                      lambda name=name: model.bounds(lower, upper, method=name)))

    # 4. The same of differences of outputs, by a matrix C.
    c = torch.from_numpy(np.stack([rows, rows]).astype(np.float32))
    steps.append(("CROWN of 9 differences", lambda: theirs("backward", c),
                  lambda: model.bounds(lower, upper, method="CROWN", C=c)))

    for name, their_step, our_step in steps[1:]:
        a, b = [each.detach().numpy() for each in their_step()], our_step()
        apart = max(float(np.abs(x - y).max()) for x, y in zip(a, b))
        width = float((b.upper - b.lower).mean())
        print(f"{name}: at most {apart:.1e} apart, widths of {width:.4f}")
        assert apart < 1e-3
    if "--time" in sys.argv:
        print("\n| step | auto_LiRPA | bf_aot |\n|---|---|---|")
        for name, their_step, our_step in steps:
            print(f"| {name} | {1000 * seconds(their_step):.2f} | {1000 * seconds(our_step):.2f} |")
        planned = [seconds(lambda: ours_load().verifier(method=name)) for name in ("ibp", "crown")]
        print(f"\nOur first call plans: {1000 * planned[0]:.0f} ms (IBP), "
              f"{1000 * planned[1]:.0f} ms (CROWN), the reading included.")


if __name__ == "__main__":
    main()
