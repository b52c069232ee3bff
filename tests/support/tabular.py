"""Random rows of features, and numbers and classes to learn from them."""

import numpy as np

FEATURES = 4


class Rows:
    """inputs: [rows, FEATURES], float32. numbers, two, three: [rows], a smooth function of them, and its 2 and 3
    classes. random: the generator after it has drawn the inputs."""

    def __init__(self, rows):
        self.random = np.random.default_rng(3)
        self.inputs = self.random.uniform(-1, 1, (rows, FEATURES)).astype(np.float32)
        self.numbers = np.sin(3 * self.inputs[:, 0]) + self.inputs[:, 1] * self.inputs[:, 2]
        self.two = (self.numbers > 0).astype(int)
        self.three = np.digitize(self.numbers, (-0.5, 0.5))
