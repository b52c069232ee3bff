"""Compares calls from Python with the library's own: python_report.py MODEL PREFIX.

PREFIX is an installed bf_aot of the same kind of build as the package (`cmake --install`). Prints
the table of docs/measurements/python.md: least times of calls, on the same boxes, in turns.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import bf_aot

HERE = pathlib.Path(__file__).parent
LIBRARIES = ["-lprotobuf-lite", "-lfmt", "-lz", "-lnettle", "-lmpfr", "-lgmpxx", "-lgmp", "-pthread"]
ROUNDS = 3


def least(call):
    times, total = [], 0.0
    while len(times) < 5 or (total < 1 and len(times) < 20000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
        total += times[-1]
    return min(times)


def import_seconds():
    code = ("import time, numpy; t = time.perf_counter(); import bf_aot; "
            "print(time.perf_counter() - t)")
    return min(float(subprocess.run([sys.executable, "-c", code], check=True, text=True,
                                    capture_output=True).stdout) for _ in range(10))


def main():
    path, prefix = sys.argv[1], pathlib.Path(sys.argv[2])
    model = bf_aot.load(path)
    x = np.random.default_rng(0).uniform(-0.3, 0.3, (256, model.input_count)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        program, ends = f"{folder}/library_boxes", f"{folder}/boxes"
        subprocess.run(["c++", "-std=c++20", "-O2", f"-I{prefix}/include",
                        HERE / "library_boxes.cpp", prefix / "lib/libbf_aot.a", *LIBRARIES,
                        "-o", program], check=True)
        print("| method | boxes | C++, us | Python, us | ratio |\n|---|---|---|---|---|")
        for method in ("ibp", "crown-ibp", "crown"):
            for boxes, batch in ((1, 1), (256, 1 if method == "crown" else 16)):
                lower = np.ascontiguousarray(x[:boxes] - np.float32(0.01))
                upper = np.ascontiguousarray(x[:boxes] + np.float32(0.01))
                pathlib.Path(ends).write_bytes(lower.tobytes() + upper.tobytes())
                there, here = [], []
                for _ in range(ROUNDS):
                    done = subprocess.run([program, path, method, str(boxes), str(batch), ends],
                                          check=True, capture_output=True, text=True)
                    there.append(float(done.stdout))
                    here.append(least(lambda: model.bounds(lower, upper, method=method)))
                a, b = 1e6 * min(there), 1e6 * min(here)
                print(f"| {method} | {boxes} | {a:.1f} | {b:.1f} | {b / a:.2f} |")
    print(f"\nimport, NumPy aside: {1e3 * import_seconds():.1f} ms")


if __name__ == "__main__":
    main()
