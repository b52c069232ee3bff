"""bench/decide_report.py on properties of models/: decide_report_test.py SOURCE_FOLDER BF_AOT."""

import os
import pathlib
import subprocess
import sys
import tempfile

INSTANCES = """./tiny.onnx,tiny_holds.vnnlib,10
tiny.onnx,tiny_violated.vnnlib,10
"""
RIGHT = "onnx,vnnlib,verdict\ntiny.onnx,tiny_holds.vnnlib,unsat\ntiny.onnx,tiny_violated.vnnlib,sat\n"


def main():
    source, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        environment = dict(os.environ, XDG_CACHE_HOME=temporary)

        def run(expected, *arguments, instances=INSTANCES):
            (folder / "instances.csv").write_text(instances, encoding="utf-8")
            (folder / "expected.csv").write_text(expected, encoding="utf-8")
            return subprocess.run(
                [sys.executable, source / "bench" / "decide_report.py", "--bf-aot", program, folder,
                 *arguments], capture_output=True, text=True, check=False, timeout=300,
                env=environment)

        (folder / "tiny.onnx").symlink_to(source / "models" / "tiny.onnx")
        for name in ("tiny_holds.vnnlib", "tiny_violated.vnnlib"):
            (folder / name).symlink_to(source / "models" / "properties" / name)
        good = run(RIGHT)
        wrong = run(RIGHT.replace("unsat", "sat"))
        slow = run(RIGHT, "--most-total", "0")
        broken = run(RIGHT, instances=INSTANCES + "none.onnx,tiny_holds.vnnlib,10\n")
        none = run(RIGHT, "--only", "huge")
    checks = {
        "what is expected is found": good.returncode == 0 and "2 of 2 decided" in good.stdout,
        "an instance per row": good.stdout.count("| tiny.onnx |") == 2,
        "another verdict is said": wrong.returncode == 1
        and "verified, but falsified is expected" in wrong.stdout,
        "too much time is said": slow.returncode == 1 and "in all, more than 0" in slow.stdout,
        "a failure is said": broken.returncode == 1 and "none.onnx" in broken.stdout,
        "nothing decided is no success": none.returncode == 1,
    }
    for text, held in checks.items():
        if not held:
            print(f"failed: {text}")
            for done in (good, wrong, slow, broken, none):
                print(done.returncode, done.stdout, done.stderr, sep="\n")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
