// The stack of functions of an archive, from its code.

#include "aot/build/footprint/library_stack.h"

#include <gtest/gtest.h>

namespace bf_aot::build {
namespace {

std::string object(const std::string& name, const std::vector<std::string>& instructions,
                   const std::string& processor = "arm") {
  std::string text = "\n" + name + ":     file format elf32-little" + processor +
                     "\n\n\nDisassembly of section .text:\n\n"
                     "00000000 <f>:\n";
  for (const std::string& instruction : instructions)
    text += "   0:\tb5f0      \t" + instruction + "\n";
  return text;
}

std::optional<std::int64_t> of_one(const std::vector<std::string>& instructions,
                                   const std::string& processor = "arm") {
  return library_stack(object("a.o", instructions, processor), "\na.o:\n00000000 T f\n", {"f"});
}

TEST(LibraryStack, CountsWhatIsPushed) {
  EXPECT_EQ(of_one({"adds\tr0, r0, r1", "bx\tlr"}), 0);
  EXPECT_EQ(of_one({"push\t{r4, r5, lr}", "pop\t{r4, r5, pc}"}), 12);
  EXPECT_EQ(of_one({"stmdb\tsp!, {r4, r5, r6, lr}", "ldmia.w\tsp!, {r4, r5, r6, pc}"}), 16);
  EXPECT_EQ(of_one({"str.w\tlr, [sp, #-8]!", "ldr.w\tpc, [sp], #8"}), 8);
  EXPECT_EQ(of_one({"sub\tsp, #24", "str\tr0, [sp, #4]", "add\tr1, sp, #4", "add\tsp, #24"}), 24);
  EXPECT_EQ(of_one({"sub.w\tsp, sp, #520\t; 0x208", "add.w\tsp, sp, #520"}), 520);
  EXPECT_EQ(of_one({"vpush\t{d8-d11}", "vpop\t{d8-d11}"}), 32);
  EXPECT_EQ(of_one({"push\t{r4}", "push\t{r5}"}), 8) << "all of an object's functions are added";
}

TEST(LibraryStack, SaysNothingOfWhatIsNotInTheCode) {
  EXPECT_EQ(of_one({"sub.w\tsp, sp, r3"}), std::nullopt);
  EXPECT_EQ(of_one({"add\tsp, r3"}), std::nullopt) << "the register may be negative";
  EXPECT_EQ(of_one({"ldr\tsp, [r0]"}), std::nullopt);
  EXPECT_EQ(of_one({"str\tr0, [sp, r1]!"}), std::nullopt);
}

TEST(LibraryStack, ReadsRiscv) {
  const auto of_riscv = [](const std::vector<std::string>& code) { return of_one(code, "riscv"); };
  EXPECT_EQ(of_riscv({"add\ta0,a0,a1", "ret"}), 0);
  EXPECT_EQ(of_riscv({"add\tsp,sp,-32", "sw\ts0,24(sp)", "add\ta1,sp,16", "add\tsp,sp,32"}), 32);
  EXPECT_EQ(of_riscv({"addi\tsp,sp,-16", "addi\tsp,sp,-48"}), 64);
  EXPECT_EQ(of_riscv({"c.addi16sp\tsp,sp,-64"}), 64);
  EXPECT_EQ(of_riscv({"sub\tsp,sp,t0"}), std::nullopt);
  EXPECT_EQ(of_riscv({"add\tsp,sp,a4"}), std::nullopt);
  EXPECT_EQ(of_riscv({"add\tsp,s0,-64"}), std::nullopt);
  EXPECT_EQ(of_riscv({"mv\tsp,t0"}), std::nullopt);
}

TEST(LibraryStack, FollowsWhatObjectsNeed) {
  const std::string code = object("a.o", {"push\t{r4, lr}"}) + object("b.o", {"push\t{r4}"}) +
                           object("c.o", {"push\t{r4, r5, lr}"}) + object("d.o", {"push\t{lr}"});
  const std::string symbols =
      "\na.o:\n00000000 T f\n         U g\n         U h\n\nb.o:\n00000000 T g\n"
      "\nc.o:\n00000000 W h\n         U elsewhere\n\nd.o:\n00000000 T i\n         U i2\n";
  EXPECT_EQ(library_stack(code, symbols, {"g"}), 4);
  EXPECT_EQ(library_stack(code, symbols, {"g", "f"}), 8 + 12);
  EXPECT_EQ(library_stack(code, symbols, {"memset"}), 0);
  EXPECT_EQ(not_in_library(symbols, {"f", "memset"}), std::vector<std::string>{"memset"});
  const std::string circle =
      "\na.o:\n00000000 T f\n         U g\n\nb.o:\n00000000 T g\n         U f\n";
  EXPECT_EQ(library_stack(code, circle, {"f"}), std::nullopt);
}

// As GNU ld writes it; debug sections are not loaded.
constexpr const char* kMap = R"(Archive member included to satisfy reference by file (symbol)

/lib/libgcc.a(mul.o)          libv.a(v.o) (__aeabi_dmul)

Discarded input sections

 .text          0x00000000      0x100 /lib/libgcc.a(mul.o)

Linker script and memory map

LOAD libv.a
 .text          0x00008000       0x10 ./libv.a(v.o)
                0x00008000                v_bounds
 *(.glue_7)
 .text          0x00008010       0x20 /lib/libgcc.a(mul.o)
                0x00008010                __aeabi_dmul
                0x00008010                __muldf3
 .text.__very_long_name_of_a_section
                0x00008030        0x8 /lib/libgcc.a(mul.o)
                0x00008030                __aeabi_other
 .text          0x00008038        0x4 /lib/libc.a(lib_a-memset.o)
                0x00008038                memset
 .data          0x00009000        0x0 /lib/libgcc.a(empty.o)
 .bss           0x00009000        0x2 /lib/libc.a(lib_a-memset.o)
 .debug_info    0x00000000      0x500 /lib/libgcc.a(mul.o)
 .comment       0x00000000       0x30 /lib/libgcc.a(mul.o)
)";

TEST(LibraryObjects, AreThoseThatTheMapHolds) {
  const std::vector<LibraryObject> expected = {{"libgcc.a", "mul.o", 0x28, {"__aeabi_dmul"}},
                                               {"libc.a", "lib_a-memset.o", 6, {"memset"}}};
  EXPECT_EQ(library_objects(kMap, "libv.a", {"__aeabi_dmul", "memset", "memcpy"}), expected);
  EXPECT_TRUE(library_objects("no map", "libv.a", {}).empty());
}

}  // namespace
}  // namespace bf_aot::build
