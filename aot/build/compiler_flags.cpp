#include "aot/build/compiler_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>

#include "frontend/diagnostic.h"

namespace bf_aot::build {
namespace {

// Flags that are let through as they stand.
constexpr std::string_view kWhole[] = {
    "-O", "-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Oz", "-w", "-v", "-s", "-c", "-S", "-E",
    "-pipe", "-pthread", "-static", "-shared", "-rdynamic", "-nostdlib", "-nostartfiles",
    "-nodefaultlibs", "-nostdinc", "-nostdinc++", "-pedantic", "-pedantic-errors", "-ansi",
    "-save-temps",
    // machines
    "-m32", "-m64", "-mx32", "-mthumb", "-marm", "-mfma", "-mno-fma", "-mf16c", "-mbmi", "-mbmi2",
    "-mlzcnt", "-mpopcnt", "-msse2", "-msse3", "-mssse3", "-msse4", "-msse4.1", "-msse4.2",
    "-mfpmath=sse", "-mvzeroupper", "-mno-red-zone", "-mcmodel=small", "-mcmodel=medium",
    "-mcmodel=large", "-mstackrealign", "-mlong-calls", "-mgeneral-regs-only", "-munaligned-access",
    "-mno-unaligned-access",
    // code
    "-fPIC", "-fpic", "-fPIE", "-fpie", "-fno-pic", "-fno-pie", "-fno-plt", "-fno-exceptions",
    "-fexceptions", "-fno-rtti", "-frtti", "-fno-math-errno", "-fmath-errno", "-ffreestanding",
    "-fhosted", "-fno-builtin", "-ffunction-sections", "-fdata-sections", "-fno-common", "-fcommon",
    "-flto", "-fno-lto", "-fstack-usage", "-fomit-frame-pointer", "-fno-omit-frame-pointer",
    "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fstrict-aliasing",
    "-fno-strict-aliasing", "-fwrapv", "-fno-delete-null-pointer-checks", "-fno-ident",
    "-funroll-loops", "-fno-unroll-loops", "-ftree-vectorize", "-fno-tree-vectorize", "-fvectorize",
    "-fno-vectorize", "-fslp-vectorize", "-fno-slp-vectorize", "-fno-inline", "-finline-functions",
    "-fno-inline-functions", "-fno-threadsafe-statics", "-fno-use-cxa-atexit",
    "-fno-semantic-interposition", "-fpch-preprocess", "-fcoverage-mapping", "-fprofile-arcs",
    "-ftest-coverage", "--coverage",
    // arithmetic: what every proof allows, or stricter than the default
    "-ffp-contract=off", "-ffp-contract=on", "-ffp-contract=fast",
    "-ffp-contract=fast-honor-pragmas", "-ffp-model=strict", "-ffp-model=precise",
    "-frounding-math", "-ftrapping-math", "-fsigned-zeros", "-fhonor-nans", "-fhonor-infinities",
    "-fno-fast-math", "-fno-unsafe-math-optimizations", "-fno-associative-math",
    "-fno-reciprocal-math", "-fno-finite-math-only", "-fno-approx-func",
    "-fexcess-precision=standard", "-fdenormal-fp-math=ieee", "-fno-single-precision-constant"};

// Beginnings of flags that are let through whatever follows them.
constexpr std::string_view kBegins[] = {"-g",
                                        "-W",
                                        "-I",
                                        "-L",
                                        "-B",
                                        "-std=c++",
                                        "-std=gnu++",
                                        "--sysroot=",
                                        "--target=",
                                        "--gcc-toolchain=",
                                        "-march=",
                                        "-mtune=",
                                        "-mcpu=",
                                        "-mfpu=fpv",
                                        "-mfloat-abi=",
                                        "-mabi=",
                                        "-mprefer-vector-width=",
                                        "-mavx",
                                        "-mno-avx",
                                        "-mbranch-protection=",
                                        "-mstack-protector-guard",
                                        "-fsanitize",
                                        "-fno-sanitize",
                                        "-fstack-protector",
                                        "-fno-stack-protector",
                                        "-fcf-protection",
                                        "-fvisibility",
                                        "-flto=",
                                        "-fuse-ld=",
                                        "-fdiagnostics",
                                        "-fno-diagnostics",
                                        "-fcolor-diagnostics",
                                        "-fno-color-diagnostics",
                                        "-fmessage-length=",
                                        "-fmax-errors=",
                                        "-ferror-limit=",
                                        "-ftemplate-depth=",
                                        "-fconstexpr-",
                                        "-fdebug-prefix-map=",
                                        "-ffile-prefix-map=",
                                        "-fmacro-prefix-map=",
                                        "-fdump-",
                                        "-finline-limit=",
                                        "-fprofile-update=",
                                        "-falign-",
                                        "-fno-align-",
                                        "-save-temps="};

// Flags that are followed by a word of their own.
constexpr std::string_view kWithValue[] = {"-I",      "-isystem",  "-L",       "-B",
                                           "-target", "-isysroot", "--sysroot"};

// Macros of the runtime and of the headers that it includes.
constexpr std::string_view kStandardNames[] = {"BF",   "NAN",  "INFINITY", "HUGE_VAL",
                                               "NULL", "FLT_", "DBL_",     "LDBL_",
                                               "INT",  "UINT", "SIZE_",    "PTRDIFF_"};

// Arguments for other programs, which could be flags of the compiler proper.
constexpr std::string_view kPassedOn[] = {"-Wp,", "-Wa,", "-Wl,"};

bool holds(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

bool begins_with_one_of(std::span<const std::string_view> list, std::string_view word) {
  return std::ranges::any_of(list, [&](std::string_view begin) { return word.starts_with(begin); });
}

// Macros of the user's own. Names of the language, of the compiler and of the runtime could change
// what the code means.
bool is_harmless_macro(std::string_view word) {
  if (!word.starts_with("-D") && !word.starts_with("-U")) return false;
  const std::string_view name = word.substr(2);
  return !name.empty() && std::isupper(static_cast<unsigned char>(name.front())) != 0 &&
         !begins_with_one_of(kStandardNames, name);
}

bool is_known(std::string_view word) {
  if (begins_with_one_of(kPassedOn, word)) return false;
  return holds(kWhole, word) || begins_with_one_of(kBegins, word) || is_harmless_macro(word);
}

}  // namespace

void judge_compiler_words(const std::vector<std::string>& words, const std::string& where,
                          bool programs) {
  const auto refuse = [&](const std::string& word) {
    fail("BF3204", where,
         fmt::format("'{}' is not among the flags that are known to keep the proven bounds", word),
         "leave it out; --no-library writes the source alone");
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool flag = !word.empty() && (word.front() == '-' || word.front() == '@');
    if (flag)
      programs = false;  // what follows is an object, whose code may change the processor's mode
    if (holds(kWithValue, word)) {
      if (++i < words.size() && (words[i].starts_with('-') || words[i].starts_with('@')))
        refuse(words[i]);
    } else if (!(programs && !flag) && !is_known(word)) {
      refuse(word);
    }
  }
}

}  // namespace bf_aot::build
