"""What is installed, and that uninstalling removes it: content_test.py BUILD_FOLDER."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

FILES = [
    "bin/bf-aot",
    "bin/bf-check",
    "bin/bf-check-set",
    "include/bf_aot/bf.h",
    "include/bf_aot/bf.cpp",
    "lib*/**/libbf_runtime.a",
    "share/cmake/bf_aot/bf_add_verifier.cmake",
    "lib*/**/pkgconfig/bf_aot-runtime.pc",
    "lib*/**/pkgconfig/bf_aot-c.pc",
    "lib*/**/libbf_aot.so",
    "lib*/**/libbf_aot.so.1",
    "include/bf_aot.h",
    "share/man/man1/bf-aot.1",
    "share/man/man1/bf-aot-verify.1",
    "share/bash-completion/completions/bf-aot",
    "share/zsh/vendor-completions/_bf-aot",
    "share/fish/vendor_completions.d/bf-aot.fish",
    "share/doc/bf-aot/copyright",
    "share/doc/bf-aot/LICENSE",
    "share/doc/bf-aot/LICENSE.runtime",
    "share/doc/bf-aot/README.md",
    "share/doc/bf-aot/bf-aot.spdx.json",
    "share/doc/bf-aot/docs/reference/diagnostics.md",
    "share/doc/bf-aot/docs/start/verify.md",
    "share/doc/bf-aot/docs/reference/manifest-schema.json",
    "share/doc/bf-aot/docs/reference/trace-schema.json",
    "share/doc/bf-aot/docs/reference/reach-schema.json",
    "share/doc/bf-aot/models/collision_avoidance_6x50.onnx",
    "share/doc/bf-aot/models/boxes/collision_avoidance_6x50.json",
    "share/doc/bf-aot/models/properties/collision_avoidance_6x50.vnnlib",
]
ALLOWED = re.compile(r"(bin/bf-(aot(-mpi)?|check(-set)?)|include/bf_aot(/.*|\.h)|lib[^/]*/(.*/)?(lib(bf_aot|bf_runtime)\.a|libbf_aot\.so[.0-9]*"
                     r"|pkgconfig/bf_aot.*\.pc)|share/(man/man1/bf-aot.*|cmake/bf_aot/.*|doc/bf-aot/.*"
                     r"|bash-completion/completions/bf-aot|zsh/vendor-completions/_bf-aot"
                     r"|fish/vendor_completions\.d/bf-aot\.fish))")


def run(*command, **more):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True, **more).stdout


def install_parts(build, folder):
    """A build of the program alone installs, too: the script, where others were not built."""
    script = (build / "cmake_install.cmake").read_text()
    parts = re.findall(r'"[^"\n]*/(bf-aot-mpi|libbf_aot\.a|libbf_aot\.so[.0-9]*)"', script)
    for part in parts:
        script = re.sub(rf"/{re.escape(part)}\"", '/not-built"', script)
    changed = folder / "install.cmake"
    changed.write_text(script)
    for component in ("", "library", "mpi"):
        prefix = folder / f"parts_{component}"
        run("cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_COMPONENT={component}", "-P", changed)
        if not component and not (prefix / "bin/bf-aot").exists():
            yield "without other parts the program is not installed"
    if not parts:
        yield "nothing that is installed may be missing: the check sees nothing"


def main():
    build = pathlib.Path(sys.argv[1])
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        problems += install_parts(build, pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        prefix = pathlib.Path(folder) / "usr"
        run("cmake", "--install", build, "--prefix", prefix)
        problems += [f"missing: {each}" for each in FILES if not list(prefix.glob(each))]
        names = [str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()]
        problems += [f"unexpected: {name}" for name in names if not ALLOWED.fullmatch(name)]

        # The program speaks of the pages that came with it.
        pages = str(prefix / "share/doc/bf-aot/docs/")
        tool = prefix / "bin/bf-aot"
        said = [run(tool, "help"), run(tool, "verify", "--help"),
                subprocess.run([tool, "tune", "--help"], capture_output=True, text=True,
                               check=True).stdout]
        problems += [f"no word of {pages}: {text[-200:]}" for text in said if pages not in text]
        for page in re.findall(rf"{re.escape(pages)}/?([\w/-]+\.md)", "".join(said)):
            if not (pathlib.Path(pages) / page).exists():
                problems.append(f"named, not installed: {page}")

        environment = dict(os.environ, PKG_CONFIG_PATH=str(next(prefix.rglob("pkgconfig"))))
        flags = run("pkg-config", "--cflags", "bf_aot-runtime", env=environment).split()
        if not any((pathlib.Path(flag[2:]) / "bf.h").exists() for flag in flags):
            problems.append(f"pkg-config names no folder of bf.h: {flags}")

        run("cmake", "-P", build / "uninstall.cmake")
        problems += [f"left by uninstall: {path}" for path in prefix.rglob("*")
                     if path.is_file() or "bf" in path.name]
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
