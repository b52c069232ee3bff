"""A fully connected ReLU network trained by Adam, in numpy float32, on one thread."""

import numpy as np


def initial(rng, sizes):
    """He initialisation: a list of [weight (in x out), bias] for each layer."""
    return [
        [
            rng.normal(0.0, np.sqrt(2.0 / fan_in), (fan_in, fan_out)).astype(np.float32),
            np.zeros(fan_out, np.float32),
        ]
        for fan_in, fan_out in zip(sizes, sizes[1:])
    ]


def forward(layers, x):
    """The inputs of every layer, and the outputs of the last."""
    values = [x]
    for weight, bias in layers[:-1]:
        values.append(np.maximum(values[-1] @ weight + bias, 0))
    weight, bias = layers[-1]
    return values, values[-1] @ weight + bias


def gradients(layers, values, delta):
    """Gradients of the loss, given delta = its gradient in the network's outputs."""
    result = [None] * len(layers)
    for k in range(len(layers) - 1, -1, -1):
        result[k] = [values[k].T @ delta, delta.sum(axis=0)]
        if k > 0:
            delta = (delta @ layers[k][0].T) * (values[k] > 0)
    return result


def squared_error(outputs, targets):
    return 2 * (outputs - targets) / len(outputs)


def cross_entropy(outputs, labels):
    """Gradient of the mean softmax cross-entropy; labels are one-hot rows."""
    exponent = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return (exponent / exponent.sum(axis=1, keepdims=True) - labels) / len(outputs)


def train(rng, sizes, x, y, loss_gradient, **schedule):
    """Layers of the sizes fitted to (x, y); see fit()."""
    return fit(rng, initial(rng, sizes), forward, gradients, x, y, loss_gradient, **schedule)


def fit(rng, layers, forward, gradients, x, y, loss_gradient, *, epochs, batch, rate, decay):
    """The layers fitted to (x, y); Adam with decoupled weight decay and a cosine schedule.

    forward(layers, x) gives (values, outputs), gradients(layers, values, delta) those of layers.
    """
    x, y = x.astype(np.float32), y.astype(np.float32)
    moment = [[np.zeros_like(p) for p in layer] for layer in layers]
    square = [[np.zeros_like(p) for p in layer] for layer in layers]
    batches = len(x) // batch
    steps, step = epochs * batches, 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for k in range(batches):
            pick = order[k * batch : (k + 1) * batch]
            values, outputs = forward(layers, x[pick])
            grads = gradients(layers, values, loss_gradient(outputs, y[pick]))
            step += 1
            now = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            _adam(layers, grads, moment, square, step, now, decay)
    return layers


def _adam(layers, grads, moment, square, step, rate, decay):
    first, second = 1 - 0.9**step, 1 - 0.999**step
    for layer, grad, m, s in zip(layers, grads, moment, square):
        for i in range(2):
            m[i] += np.float32(0.1) * (grad[i] - m[i])
            s[i] += np.float32(0.001) * (grad[i] ** 2 - s[i])
            layer[i] -= np.float32(rate) * (
                (m[i] / np.float32(first)) / (np.sqrt(s[i] / np.float32(second)) + np.float32(1e-8))
                + np.float32(decay) * layer[i]
            )
