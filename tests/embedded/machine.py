"""Compilers, QEMU and memory figures for the programs of this folder."""

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

MEMORY = {".text": "code", ".rodata": "constants", ".bf_weights": "constants",
          ".srodata": "constants", ".sdata": "data", ".sbss": "data",
          ".data": "data", ".bss": "data", "COMMON": "data"}  # by the sections' first letters


class Unavailable(Exception):
    """Something that the machine needs is not installed; the text says what."""


class Failure(Exception):
    """A command failed or a program printed an error; the text is for the user."""


@dataclasses.dataclass(frozen=True)
class Cpu:
    compiler: str
    flags: tuple = ()
    board: str = ""     # QEMU's machine, where there is no operating system
    emulator: str = ""  # QEMU, without operating system or for processes of another processor
    memory: str = ""    # linker script with the board's memories, of runtime/board/
    port: str = "port_host.cpp"
    options: tuple = ()  # of QEMU
    instruction: int = 5  # on a board takes 2^this nanoseconds of its time


def cortex(board, *flags, memory="mps2.ld", port="port_cortex_m.cpp", options=(), instruction=5):
    return Cpu("arm-none-eabi-g++", ("-mthumb", *flags), board, "qemu-system-arm", memory, port,
               options, instruction)


# The microbit's memories are enlarged; its clock has 16 MHz, the others' 25 (an500, an386, an385),
# 20 (an505) and 32 (an547): port_cortex_m.cpp turns ticks into instructions.
LARGE_MICROBIT = ("-global", "nrf51-soc.flash-size=4194304",
                  "-global", "nrf51-soc.sram-size=4194304")

CPUS = {
    "cortex-m0plus": cortex("microbit", "-mcpu=cortex-m0plus", "-mfloat-abi=soft", "-DTICK=250",
                            options=LARGE_MICROBIT),
    # QEMU has no board with a Cortex-M23; a Cortex-M33 runs its instructions.
    "cortex-m23": cortex("mps2-an505", "-mcpu=cortex-m23", "-mfloat-abi=soft", "-DTICK=200",
                         memory="mps2-an505.ld"),
    "cortex-m3": cortex("mps2-an385", "-mcpu=cortex-m3", "-mfloat-abi=soft"),
    "cortex-m4": cortex("mps2-an386", "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "cortex-m7": cortex("mps2-an500", "-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"),
    "cortex-m33": cortex("mps2-an505", "-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard",
                         "-DTICK=200", memory="mps2-an505.ld"),
    "cortex-m55": cortex("mps3-an547", "-mcpu=cortex-m55+nomve", "-mfloat-abi=hard",
                         "-DTICK=125", memory="mps3-an547.ld"),
    "cortex-m85": cortex("mps3-an547", "-mcpu=cortex-m55+nomve", "-mfloat-abi=hard",
                         "-DTICK=125", memory="mps3-an547.ld"),
    "cortex-r5": cortex("versatilepb", "-mcpu=cortex-r5", "-mfpu=vfpv3-d16", "-mfloat-abi=hard",
                        memory="versatilepb.ld", port="port_cortex_r.cpp",
                        options=("-cpu", "cortex-r5f", "-audiodev", "none,id=none")),
    "aarch64": Cpu("aarch64-linux-gnu-g++", emulator="qemu-aarch64"),
    "cortex-a53": Cpu("aarch64-linux-gnu-g++", ("-mcpu=cortex-a53",), emulator="qemu-aarch64",
                      options=("-cpu", "cortex-a53")),
    "cortex-a7": Cpu("arm-linux-gnueabihf-g++", ("-mcpu=cortex-a7", "-mfpu=vfpv4"), emulator="qemu-arm",
                     options=("-cpu", "cortex-a7")),
    "cortex-a9": Cpu("arm-linux-gnueabihf-g++", ("-mcpu=cortex-a9", "-mfpu=vfpv3"), emulator="qemu-arm",
                     options=("-cpu", "cortex-a9")),
    "riscv64": Cpu("riscv64-linux-gnu-g++", emulator="qemu-riscv64"),
    "riscv32": Cpu("riscv64-unknown-elf-g++", ("-march=rv32imac", "-mabi=ilp32"), "virt",
                   "qemu-system-riscv32", "virt.ld", "port_riscv32.cpp", ("-bios", "none")),
    # A processor that has no target of its own takes "generic".
    "powerpc": Cpu("powerpc-linux-gnu-g++", emulator="qemu-ppc"),  # big-endian
    "host": Cpu("c++"),
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
        self.compiler = compiler or self.cpu.compiler
        for tool in (self.compiler, self.cpu.emulator):
            if tool and not shutil.which(tool):
                raise Unavailable(f"{tool} is not installed")
        if self.bare:
            if self.cpu.board not in run([self.cpu.emulator, "-machine", "help"]):
                raise Unavailable(f"{self.cpu.emulator} has no machine {self.cpu.board}")

    def compile(self, source, flags=()):
        """Compiles one source; returns the object file."""
        source = pathlib.Path(source)
        target = self.folder / (source.name.replace(".", "_") + ".o")
        run([self.compiler, *self.cpu.flags, *COMMON, *(BARE if self.bare else []), f"-I{ROOT}",
             f"-I{ROOT / 'runtime'}", f"-I{HERE}", f"-I{self.folder}", *flags, "-c", source,
             "-o", target])
        return target

    def compile_port(self):
        """Compiles what lies below harness_main(); returns the object files."""
        return [self.compile(HERE / self.cpu.port, PORT)]

    def linker_script(self):
        """The board's, as --project joins it."""
        board = ROOT / "runtime" / "board"
        script = self.folder / "board.ld"
        script.write_text((board / self.cpu.memory).read_text() +
                          (board / "sections.ld").read_text())
        return script

    def link(self, objects):
        """Links a program; returns its file. Its linker map lies beside it."""
        program = self.folder / "program.elf"
        extra = []
        if self.bare:
            extra = ["-nostdlib", "-T", self.linker_script(), "-Wl,--gc-sections",
                     f"-Wl,-Map={self.folder / 'program.map'}", "-lgcc"]
        elif self.cpu.emulator:
            extra = ["-static"]
        run([self.compiler, *self.cpu.flags, *objects, "-o", program, *extra])
        return program

    def run(self, program, timeout):
        """Runs a program; returns the lines that begin with "bf ", without that."""
        command = [program]
        if self.bare:
            command = [self.cpu.emulator, "-machine", self.cpu.board, *self.cpu.options,
                       "-display", "none", "-monitor", "none", "-serial", "none",
                       "-icount", f"shift={self.cpu.instruction},sleep=off",
                       "-semihosting-config", "enable=on,target=native", "-kernel", program]
        elif self.cpu.emulator:
            command = [self.cpu.emulator, *self.cpu.options, program]
        text = run(command, timeout)
        lines = [line[3:] for line in text.splitlines() if line.startswith("bf ")]
        if not lines or lines[-1] != "done":
            raise Failure(f"the program stopped early:\n{text}")
        return lines

    def linked_bytes(self, files):
        """Bytes of code, constants and writable data of some objects or archives, and of libgcc,
        in the last program: what the linker kept."""
        sizes = {"code": 0, "constants": 0, "data": 0, "libgcc": 0}
        if not self.bare:
            return sizes
        text = (self.folder / "program.map").read_text()
        linked = text[text.index("Linker script and memory map"):]
        row = re.compile(r"^ (\.\S+|COMMON)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+(\S+)$", re.MULTILINE)
        wanted = tuple(str(file) for file in files)
        for section, size, origin in row.findall(linked):
            memory = next((kind for name, kind in MEMORY.items() if section.startswith(name)), None)
            if "libgcc.a(" in origin and memory:
                sizes["libgcc"] += int(size, 16)
            elif memory and origin.startswith(wanted):
                sizes[memory] += int(size, 16)
        return sizes
