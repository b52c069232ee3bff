"""Several cores by threads: threads.py MODEL.

Each thread bounds boxes of its own, on the same model, or decides a property of its own: the
interpreter's lock is free meanwhile. For one large array `threads=` of bounds() does the same.
"""

import concurrent.futures
import os
import sys

import numpy as np

import bf_aot


def main():
    model = bf_aot.load(sys.argv[1])
    points = np.random.default_rng(0).uniform(-0.2, 0.2, (12, model.input_count))
    labels = model.evaluate(points).argmax(axis=1)

    def decide(i):
        prop = bf_aot.Property.robustness(points[i], 0.005, int(labels[i]), model.output_count)
        return model.verify(prop, timeout=20).verdict

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = pool.map(lambda part: model.bounds(part - 0.005, part + 0.005),
                         np.array_split(points, 4))
        lower = np.concatenate([bounds.lower for bounds in parts])
        verdicts = list(pool.map(decide, range(len(points))))
    for label, low, verdict in zip(labels, lower, verdicts):
        print(f"label {label}: its output is at least {low[label]:.4f}; robust: {verdict}")


if __name__ == "__main__":
    main()
