"""bench/compile_report.py on networks of models/: compile_report_test.py SOURCE_FOLDER BF_AOT."""

import os
import pathlib
import subprocess
import sys


def run(source, program, *arguments):
    return subprocess.run(
        [sys.executable, source / "bench" / "compile_report.py", "--bf-aot", program, *arguments],
        capture_output=True, text=True, check=False, timeout=300)


def main():
    source, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    tiny = source / "models" / "tiny.onnx"
    good = run(source, program, "--worst", "50", source / "models")
    few_bytes = run(source, program, "--most-code", "100", tiny)
    no_time = run(source, program, "--most", "0", tiny)
    relative = run(source, os.path.relpath(program), tiny)
    no_program = run(source, "no/such/program", tiny)
    no_network = run(source, program, source / "models" / "README.md")
    checks = {
        "all models within the limits": good.returncode == 0,
        "a row per model": all(f"models/{path.name} |" in good.stdout
                               for path in (source / "models").glob("*.onnx")),
        "too much code is said": few_bytes.returncode == 1 and "bytes of code" in few_bytes.stdout,
        "too much time is said": no_time.returncode == 1 and "over the limit" in no_time.stdout,
        "the program may be a relative path": relative.returncode == 0,
        "a missing program is said": no_program.returncode == 1
        and "no such program: no/such/program" in no_program.stderr,
        "nothing measured is no success": no_network.returncode == 1,
    }
    for text, held in checks.items():
        if not held:
            print(f"failed: {text}\n{good.stdout}\n{few_bytes.stdout}\n{no_time.stdout}")
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
