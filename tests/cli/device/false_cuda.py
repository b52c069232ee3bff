"""Puts a driver of CUDA in a program's way whose device is this processor, see false_cuda.c."""

import fcntl
import pathlib
import shutil
import subprocess


def false_cuda(folder, environment):
    """Builds it in the folder, and sets the environment of programs that are to find it."""
    libraries = pathlib.Path(folder) / "cuda"
    libraries.mkdir()
    source = pathlib.Path(__file__).with_name("false_cuda.c")
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", libraries / "libcuda.so.1"], check=True)
    shutil.copy(libraries / "libcuda.so.1", libraries / "libnvrtc.so.13")
    environment["LD_LIBRARY_PATH"] = environment["BF_FALSE_FOLDER"] = str(libraries)


def settle(folder):
    """Waits for the compilers that programs left behind when they ended."""
    libraries = pathlib.Path(folder) / "cuda"
    if libraries.exists():
        with (libraries / "busy").open("a") as busy:
            fcntl.flock(busy, fcntl.LOCK_EX)


def has_compiled(folder, entry):
    """Whether a program with this entry point is compiled, so that the device has it at once."""
    objects = (pathlib.Path(folder) / "cuda").glob("*.so")
    return any("_" not in path.name and entry.encode() in path.read_bytes() for path in objects)
