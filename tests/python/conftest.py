"""Networks of the repository."""

import os
import pathlib
import signal

import pytest

import bf_aot

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODELS = SOURCE / "models"
# Shells have what runs in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def models():
    return MODELS


@pytest.fixture(scope="session")
def tiny():
    """y = [h0 - h1 + 0.5, -0.5 h0 + 0.25 h1 - 1], h = relu([x0 - 2 x1, 0.5 x0 + 3 x1 + 1])."""
    return bf_aot.load(MODELS / "tiny.onnx")


@pytest.fixture(scope="session")
def avoid():
    return bf_aot.load(MODELS / "collision_avoidance_6x50.onnx")


@pytest.fixture(scope="session")
def digits():
    return bf_aot.load(MODELS / "digits_64x2.onnx")


@pytest.fixture(scope="session")
def program():
    """The program bf-aot of the same build."""
    path = os.environ.get("BF_AOT")
    if not path:
        pytest.skip("BF_AOT does not name the program")
    return path
