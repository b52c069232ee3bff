#!/usr/bin/env python3
"""What --project writes for Zephyr, ESP-IDF, PlatformIO, Arduino and CMSIS-Pack: each description has what
its format asks for, and the sources that it selects, compiled with its flags and the machine's,
make the verifier's code.

None of these tools is needed: Zephyr's and ESP-IDF's CMake functions are stood in for, the selections are
followed here. Exit code 77: a compiler is missing.
"""

import argparse
import json
import pathlib
import re
import shutil
import sys
import tempfile
import xml.etree.ElementTree

import embedded_verifier_test
import machine
from embedded_verifier_test import check

# Zephyr's functions, as far as modules of one library use them.
ZEPHYR = """cmake_minimum_required(VERSION 3.16)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
project(app LANGUAGES C CXX ASM)
set(CONFIG_NET_VERIFIER {enabled})
macro(zephyr_library_named name)
  add_library(${{name}} STATIC)
  set(ZEPHYR_CURRENT_LIBRARY ${{name}})
  target_include_directories(${{name}} PRIVATE ${{included}})
endmacro()
macro(zephyr_include_directories)
  list(APPEND included ${{ARGN}})
endmacro()
macro(zephyr_library_sources)
  target_sources(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(${{ZEPHYR_CURRENT_LIBRARY}} PRIVATE ${{ARGN}})
endmacro()
add_subdirectory({module} module)
"""

# ESP-IDF's functions: it reads a component as a script first, for what it requires.
ESP_IDF_SCRIPT = """set(ESP_PLATFORM 1)
macro(idf_component_register)
  return()
endmacro()
function(requirements)
  include({component}/CMakeLists.txt)
endfunction()
requirements()
message("read as a script")
"""
ESP_IDF = """cmake_minimum_required(VERSION 3.16)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
project(app LANGUAGES C CXX ASM)
set(ESP_PLATFORM 1)
macro(idf_component_register)
  cmake_parse_arguments(_ "" "" "SRCS;INCLUDE_DIRS" ${{ARGN}})
  set(COMPONENT_LIB __idf_net)
  add_library(__idf_net STATIC ${{__SRCS}})
  set_target_properties(__idf_net PROPERTIES OUTPUT_NAME net)
  target_include_directories(__idf_net PUBLIC ${{__INCLUDE_DIRS}})
endmacro()
add_subdirectory({component} net)
"""


class Package:
    def __init__(self, options, folder):
        self.cpu = machine.CPUS.get(options.target, machine.Cpu("g++"))
        self.folder = pathlib.Path(folder)
        if options.target in machine.CPUS:
            machine.Machine(options.target, folder)  # raises Unavailable
        self.prefix = self.cpu.compiler.removesuffix("g++")
        self.project = self.folder / "project"
        model, _ = embedded_verifier_test.find_network(options.network, self.folder)
        machine.run([options.bf_aot, model, "--name", "net", "--method", "ibp", "--project",
                     self.project, "--target", options.target])
        # The processor's, as the build system knows it.
        manifest = json.loads((self.project / "net.json").read_text())
        self.flags = [flag.replace("+nomve", "") for flag in manifest["build"]["flags"]
                      if flag.startswith("-m")]
        self.code = self.code_of(self.project / "libnet.a")

    def code_of(self, file):
        """Bytes of code of the verifier's functions, by name: not those of the runtime's texts."""
        listed = machine.run([self.prefix + "nm", "-S", "--defined-only", file])
        rows = re.findall(r"^[0-9a-f]+ ([0-9a-f]+) [Tt] (\S+)$", listed, re.MULTILINE)
        return {name: int(size, 16) for size, name in rows if not name.startswith("bf_")}

    def compile(self, name, sources, flags):
        objects = []
        for source in sources:
            objects.append(self.folder / f"{name}_{source.name}.o")
            machine.run([self.prefix + "g++", *self.flags, *flags, "-c", source, "-o", objects[-1]])
        archive = self.folder / f"{name}.a"
        machine.run([self.prefix + "ar", "rcs", archive, *objects])
        return archive

    def build_by_cmake(self, app, build):
        """As a build system for the processor does; returns the verifier's libraries."""
        flags = " ".join(self.flags)
        machine.run(["cmake", "-S", app, "-B", build, "-DCMAKE_SYSTEM_NAME=Generic",
                     *(f"-DCMAKE_{kind}_COMPILER={self.prefix}{tool}"
                       for kind, tool in (("C", "gcc"), ("CXX", "g++"), ("ASM", "gcc"))),
                     *(f"-DCMAKE_{kind}_FLAGS={flags}" for kind in ("C", "CXX", "ASM"))])
        machine.run(["cmake", "--build", build])
        return list(build.rglob("libnet.a"))

    def check_code(self, archive, what):
        made = self.code_of(archive)
        check(made == self.code, f"{what}: functions and sizes {made}, of the project {self.code}")


def check_zephyr(package):
    module = (package.project / "zephyr" / "module.yml").read_text()
    lines = [line for line in module.splitlines() if not line.startswith("#")]
    check(lines == ["name: net", "build:", "  cmake: zephyr", "  kconfig: zephyr/Kconfig"],
          f"module.yml: {lines}")
    options = (package.project / "zephyr" / "Kconfig").read_text()
    check(re.search(r"^config NET_VERIFIER\n\tbool \".+\"\n\tdepends on CPP\n", options), options)
    hard = "-mfloat-abi=hard" in package.flags
    check(("depends on FPU" in options) == hard, options)
    for enabled in ("y", "n"):
        app, build = package.folder / f"app_{enabled}", package.folder / f"build_{enabled}"
        app.mkdir()
        (app / "CMakeLists.txt").write_text(
            ZEPHYR.format(enabled=enabled, module=package.project / "zephyr"))
        made = package.build_by_cmake(app, build)
        check(bool(made) == (enabled == "y"), f"CONFIG_NET_VERIFIER={enabled}: {made}")
        if made:
            package.check_code(made[0], "Zephyr")


def check_esp_idf(package):
    """On the processors of ESP-IDF, which are no Arm: a compiler's flags are its own there."""
    if package.cpu.compiler.startswith("arm"):
        return
    lines = (package.project / "idf_component.yml").read_text().splitlines()
    check(re.fullmatch(r'version: "\d+\.\d+\.\d+"', lines[1]), lines)
    check(re.fullmatch(r'description: "Proven bounds .+"', lines[2]) and len(lines) == 3, lines)
    script = package.folder / "requirements.cmake"
    script.write_text(ESP_IDF_SCRIPT.format(component=package.project))
    check("read as a script" in machine.run(["cmake", "-P", script]), "read as a script")
    app = package.folder / "idf"
    app.mkdir()
    (app / "CMakeLists.txt").write_text(ESP_IDF.format(component=package.project))
    made = package.build_by_cmake(app, package.folder / "build_idf")
    check(len(made) == 1, f"libraries of ESP-IDF: {made}")
    package.check_code(made[0], "ESP-IDF")


def check_platformio(package):
    """As its documentation of library.json has it."""
    library = json.loads((package.project / "library.json").read_text())
    check(re.fullmatch(r"[a-z0-9_-]+", library["name"]), library["name"])
    check(re.fullmatch(r"\d+\.\d+\.\d+", library["version"]), library["version"])
    check(len(library["description"]) < 256, "a long description")
    check((package.project / library["headers"]).exists(), library["headers"])
    build = library["build"]
    check(set(build) == {"srcDir", "includeDir", "srcFilter", "flags"}, build)
    check(build["srcFilter"][0] == "-<*>", build["srcFilter"])
    folder = package.project / build["srcDir"]
    sources = [folder / re.fullmatch(r"\+<(.+)>", one)[1] for one in build["srcFilter"][1:]]
    archive = package.compile("platformio", sources,
                              [*build["flags"], f"-I{package.project / build['includeDir']}"])
    package.check_code(archive, "PlatformIO")


def check_arduino(package):
    """As the specification of Arduino libraries has it: src/ is compiled, and searched for headers.
    Its flags are the core's, of which these are typical."""
    properties = dict(line.split("=", 1) for line in
                      (package.project / "library.properties").read_text().splitlines())
    check(set(properties) == {"name", "version", "author", "maintainer", "sentence", "paragraph",
                              "category", "url", "architectures", "includes"}, properties)
    check(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", properties["name"]), properties)
    check(re.fullmatch(r"\d+\.\d+\.\d+", properties["version"]), properties)
    alone = package.folder / "arduino"
    shutil.copytree(package.project / "src", alone)
    check((alone / properties["includes"]).exists(), properties["includes"])
    sources = sorted(path for path in alone.rglob("*") if path.suffix in (".c", ".cpp", ".S"))
    nomve = ["-mcpu=cortex-m55+nomve"] if "-mcpu=cortex-m55" in package.flags else []
    archive = package.compile("arduino", sources,
                              ["-std=gnu++17", "-Os", "-fno-exceptions", "-fno-rtti",
                               "-ffunction-sections", "-fdata-sections", "-ffreestanding",
                               *nomve, f"-I{alone}"])
    check(set(package.code_of(archive)) >= {"net_bounds", "net_evaluate"}, "functions are missing")


def check_pack(package):
    """The order and the attributes that PACK.xsd asks for."""
    found = list(package.project.glob("*.pdsc"))
    if not package.cpu.compiler.startswith("arm"):
        return check(not found, f"a pack for another processor: {found}")
    root = xml.etree.ElementTree.parse(found[0]).getroot()
    check(root.tag == "package" and root.get("schemaVersion"), root.attrib)
    check([child.tag for child in root] == ["vendor", "name", "description", "url", "releases",
                                            "conditions", "components"], list(root))
    check(found[0].name == f"{root.findtext('vendor')}.{root.findtext('name')}.pdsc", found[0].name)
    check(re.fullmatch(r"\d+\.\d+\.\d+", root.find("releases/release").get("version")), "version")
    condition = root.find("conditions/condition")
    core = condition.find("require").get("Dcore")
    cpu = next(flag for flag in package.flags if flag.startswith("-mcpu=")).removeprefix("-mcpu=")
    check(core.lower().replace("+", "plus") == cpu, f"{core} for {cpu}")
    component = root.find("components/component")
    check(component.get("condition") == condition.get("id"), "another condition")
    check({"Cclass", "Cgroup", "Cversion"} <= set(component.attrib), component.attrib)
    flags = component.findtext("description").removeprefix("Compile with ").split()
    files = collect(component)
    check(files["include"] == ["./"] and files["header"] == ["net.h"], files)
    archive = package.compile("pack", [package.project / name for name in files["source"]],
                              [*flags, f"-I{package.project}"])
    package.check_code(archive, "CMSIS-Pack")
    return None


def collect(component):
    files = {}
    for file in component.findall("files/file"):
        files.setdefault(file.get("category"), []).append(file.get("name"))
    return files


def test(options, folder):
    package = Package(options, folder)
    check_zephyr(package)
    check_esp_idf(package)
    others = [package.project / name for name in ("library.json", "library.properties", "src")]
    if (package.project / "net_weights.S").exists():
        check(not any(path.exists() for path in others), "weights in assembler: Zephyr's and ESP-IDF's alone")
        return
    check_platformio(package)
    check_arduino(package)
    check_pack(package)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bf-aot", required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--network", default="collision_avoidance_6x50")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            test(options, folder)
    except machine.Unavailable as missing:
        print(f"skipped: {missing}")
        return machine.SKIP
    except machine.Failure as failure:
        print(f"failed: {failure}")
        return 1
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
