#!/usr/bin/env python3
"""The descriptions that --project writes, read by the readers of the tools that they are for:
kconfiglib, which Zephyr's builds use; ESP-IDF's component manager; PlatformIO's of its own format and
of Arduino's. package_tools.py BF_AOT MODEL, by a Python that has platformio, kconfiglib and
idf-component-manager. The sources are built by packages_test.py."""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import kconfiglib
from platformio.package.manifest.parser import ManifestParserFactory
from platformio.package.manifest.schema import ManifestSchema

# The symbols of Zephyr that the option depends on.
ZEPHYR = """config CPP
\tbool
\tdefault y

config FPU
\tbool
\tdefault y

source "{}"
"""


def check(condition, text):
    if not condition:
        sys.exit(f"failed: {text}")


def check_kconfig(project, work):
    top = work / "Kconfig"
    top.write_text(ZEPHYR.format(project / "zephyr/Kconfig"))
    found = kconfiglib.Kconfig(str(top), warn_to_stderr=False)
    check(not found.warnings, found.warnings)
    symbol = found.syms["NET_VERIFIER"]
    check(symbol.set_value(2) and symbol.str_value == "y", "the option cannot be chosen")


def check_component(project, work):
    done = subprocess.run([pathlib.Path(sys.executable).parent / "compote", "component", "pack",
                           "--name", "net", "--dest-dir", work], cwd=project,
                          env=os.environ | {"IDF_COMPONENT_CHECK_NEW_VERSION": "0"},
                          capture_output=True, text=True, timeout=120, check=False)
    check(done.returncode == 0 and "WARNING" not in done.stderr, done.stdout + done.stderr)
    with tarfile.open(next(work.glob("net_*.tgz"))) as packed:
        names = {name.removeprefix("./") for name in packed.getnames()}
    check({"CMakeLists.txt", "verifier.cmake", "net.cpp", "bf.h", "idf_component.yml"} <= names, names)


def check_libraries(project):
    for name, frameworks in (("library.json", ["*"]), ("library.properties", ["arduino"])):
        parsed = ManifestParserFactory.new_from_file(str(project / name)).as_dict()
        manifest = ManifestSchema().load_manifest(parsed)
        check(manifest["name"] == "net_verifier", manifest)
        check(manifest["headers"] == ["net.h"], manifest)
        check(manifest["frameworks"] == frameworks, manifest)


def main():
    bf_aot, model = sys.argv[1:]
    for target in ("cortex-m4", "riscv32", "generic"):
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            project = work / "project"
            subprocess.run([bf_aot, model, "--name", "net", "--method", "ibp", "--target", target,
                            "--project", project], check=True, stdout=subprocess.DEVNULL)
            check_kconfig(project, work)
            check_component(project, work)
            check_libraries(project)
    print("passed")


if __name__ == "__main__":
    main()
