"""Compilers, QEMU boards and memory figures for the programs of this folder."""

import dataclasses
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIP = 77  # exit code that CTest takes for "skipped"

COMMON = ["-std=c++17", "-Wall", "-Wextra", "-Werror"]
BARE = ["-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-unwind-tables",
        "-fno-asynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections"]
# The port's own memcpy must not be compiled into a call of itself.
PORT = ["-Os", "-fno-tree-loop-distribute-patterns"]


class Unavailable(Exception):
    """Something that the machine needs is not installed; the text says what."""


class Failure(Exception):
    """A command failed or a program printed an error; the text is for the user."""


@dataclasses.dataclass(frozen=True)
class Cpu:
    board: str  # QEMU's machine; empty for the host
    flags: tuple


CPUS = {
    "cortex-m3": Cpu("mps2-an385", ("-mcpu=cortex-m3", "-mthumb", "-mfloat-abi=soft")),
    "cortex-m4": Cpu("mps2-an386", ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16",
                                    "-mfloat-abi=hard")),
    "cortex-m7": Cpu("mps2-an500", ("-mcpu=cortex-m7", "-mthumb", "-mfpu=fpv5-d16",
                                    "-mfloat-abi=hard")),
    "host": Cpu("", ()),
}


def run(command, timeout=300):
    """Runs a command; returns what it wrote. Raises Failure with its output when it fails."""
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired as expired:
        raise Failure(f"no end after {timeout} s: {' '.join(command)}") from expired
    if done.returncode != 0:
        raise Failure(f"exit code {done.returncode}: {' '.join(command)}\n{done.stdout}")
    return done.stdout


class Machine:
    """Builds programs for one CPU in a folder of its own and runs them.

    Raises Unavailable when a tool is missing.
    """

    def __init__(self, cpu, folder, compiler=None):
        self.cpu = CPUS[cpu]
        self.bare = bool(self.cpu.board)
        self.folder = pathlib.Path(folder)
        self.compiler = compiler or ("arm-none-eabi-g++" if self.bare else "c++")
        tools = [self.compiler] + (["qemu-system-arm", "arm-none-eabi-readelf"] if self.bare else [])
        for tool in tools:
            if not shutil.which(tool):
                raise Unavailable(f"{tool} is not installed")
        if self.bare:
            self._check_headers()
            boards = run(["qemu-system-arm", "-machine", "help"])
            if self.cpu.board not in boards:
                raise Unavailable(f"qemu-system-arm has no machine {self.cpu.board}")

    def _check_headers(self):
        probe = self.folder / "probe.cpp"
        probe.write_text("#include <cstdint>\n")
        try:
            run([self.compiler, *self.cpu.flags, "-ffreestanding", "-fsyntax-only", probe])
        except Failure as failure:
            raise Unavailable(f"{self.compiler} lacks <cstdint>: install "
                              "libstdc++-arm-none-eabi-newlib") from failure

    def compile(self, source, flags=()):
        """Compiles one source; returns the object file."""
        source = pathlib.Path(source)
        target = self.folder / (source.name.replace(".", "_") + ".o")
        run([self.compiler, *self.cpu.flags, *COMMON, *(BARE if self.bare else []), f"-I{ROOT}",
             f"-I{HERE}", f"-I{self.folder}", *flags, "-c", source, "-o", target])
        return target

    def compile_port(self):
        """Compiles what lies below harness_main(); returns the object files."""
        name = "port_cortex_m.cpp" if self.bare else "port_host.cpp"
        return [self.compile(HERE / name, PORT)]

    def link(self, objects):
        """Links a program; returns its file. Its linker map lies beside it."""
        program = self.folder / "program.elf"
        extra = []
        if self.bare:
            extra = ["-nostdlib", "-T", HERE / "mps2.ld", "-Wl,--gc-sections",
                     f"-Wl,-Map={self.folder / 'program.map'}", "-lgcc"]
        run([self.compiler, *self.cpu.flags, *objects, "-o", program, *extra])
        return program

    def run(self, program, timeout):
        """Runs a program; returns the lines that begin with "bf ", without that."""
        command = [program]
        if self.bare:
            command = ["qemu-system-arm", "-machine", self.cpu.board, "-display", "none",
                       "-monitor", "none", "-serial", "none", "-icount", "shift=5,sleep=off",
                       "-semihosting-config", "enable=on,target=native", "-kernel", program]
        text = run(command, timeout)
        lines = [line[3:] for line in text.splitlines() if line.startswith("bf ")]
        if not lines or lines[-1] != "done":
            raise Failure(f"the program stopped early:\n{text}")
        return lines

    def sections(self, objects):
        """Bytes of code, constants and writable data in object files."""
        sizes = {"code": 0, "constants": 0, "data": 0}
        if not self.bare:
            return sizes
        row = re.compile(r"\]\s+(\S+)\s+(?:PROGBITS|NOBITS)\s+\S+\s+\S+\s+(\S+)\s+\S+\s+([A-Z]*)\s")
        for line in run(["arm-none-eabi-readelf", "-SW", *objects]).splitlines():
            match = row.search(line)
            if not match or "A" not in match[3]:
                continue
            kind = "code" if "X" in match[3] else "data" if "W" in match[3] else "constants"
            sizes[kind] += int(match[2], 16)
        return sizes

    def library_bytes(self):
        """Flash that the last program takes from libgcc: software floating point, divisions."""
        if not self.bare:
            return 0
        text = (self.folder / "program.map").read_text()
        linked = text[text.index("Linker script and memory map"):]
        rows = re.findall(r"^ \.(?:text|rodata)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+\S*libgcc\.a\(",
                          linked, re.MULTILINE)
        return sum(int(size, 16) for size in rows)
