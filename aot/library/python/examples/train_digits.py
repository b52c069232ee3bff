"""Trains a classifier of digits to certified accuracy, and certifies it: train_digits.py [EPOCHS [EPS]].

It needs torch, scikit-learn, whose digits it learns, and bf_aot. Two networks learn the same: one for its samples alone,
one with bounds of their boxes.
"""

import sys
import time

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import bf_aot
from bf_aot.train import fit

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
EPS = sys.argv[2] if len(sys.argv) > 2 else "0.1"
torch.set_num_threads(1)  # the layers are too small for more


def network():
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(),
                         nn.Linear(100, 10))


images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 1, 8, 8).astype("float32")
X, X_test, y, y_test = train_test_split(images, labels, test_size=0.3, random_state=0)
for name, share in (("plain", 0.0), ("certified", 0.7)):
    began = time.monotonic()
    net = fit(network(), X, y, float(EPS), clip=(0, 1), epochs=EPOCHS, batch=64, rate=3e-3, share=share)
    seconds = time.monotonic() - began
    found = bf_aot.certify(net, X_test, y_test, EPS, clip=(0, 1))
    clean = sum(each != "wrong" for each in found.status) / len(y_test)
    print(f"{name}: {seconds:.1f} s, right {clean:.3f}, certified at {EPS} {found.accuracy:.3f}")
