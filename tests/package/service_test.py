"""Builds models/examples/service with the installed package and talks to it.

    python3 service_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
MODEL = SOURCE / "models/collision_avoidance_6x50.onnx"
BOX = json.loads((SOURCE / "models/boxes/collision_avoidance_6x50.json").read_text())


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"failed ({done.returncode}): {command}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def line(lower, upper):
    return " ".join(map(repr, [*lower, *upper])) + "\n"


def ask(path, text):
    """The answers to lines of requests, through a connection of its own."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(str(path))
        connection.sendall(text.encode())
        connection.shutdown(socket.SHUT_WR)
        answers = b""
        while block := connection.recv(65536):
            answers += block
    return answers.decode().splitlines()


def main():
    with tempfile.TemporaryDirectory(prefix="bf-service-") as name:
        folder = pathlib.Path(name)
        run("cmake", "--install", BUILD, "--prefix", folder / "prefix")
        run("cmake", "-S", SOURCE / "models/examples/service", "-B", folder / "build",
            "-DCMAKE_PREFIX_PATH=" + str(folder / "prefix"), "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", folder / "build")
        box = folder / "box.json"
        box.write_text(json.dumps(BOX))
        # The same plan, in the engine: sums may differ in the last place of float32.
        found = json.loads(run(folder / "prefix/bin/bf-aot", "run", MODEL, "--box", box, "--json"))
        expected = found["outputs"]["lower"] + found["outputs"]["upper"]

        path = folder / "socket"
        service = subprocess.Popen([folder / "build/service", path], stdout=subprocess.PIPE,
                                   text=True)
        try:
            assert "5 inputs, 5 outputs" in service.stdout.readline()
            good = line(BOX["lower"], BOX["upper"])
            answers = ask(path, good * 200)
            assert len(answers) == 200 and len(set(answers)) == 1, answers[:3]
            numbers = list(map(float, answers[0].split()))
            assert len(numbers) == 10
            for one, other in zip(numbers, expected):
                assert abs(one - other) <= 1e-4 * (1 + abs(other)), (numbers, expected)
            turned = line(BOX["upper"], BOX["lower"])
            mixed = ask(path, good + turned + "1 2 3\n" + good)
            assert mixed[0] == mixed[3] == answers[0], mixed
            assert mixed[1].startswith("error: ") and mixed[2] == "error: a request is 10 numbers", mixed
        finally:
            service.send_signal(signal.SIGTERM)
            assert service.wait(timeout=30) == 0
        assert not path.exists()


if __name__ == "__main__":
    main()
