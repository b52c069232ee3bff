#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "aot/emit/constants/emit_functions.h"
#include "aot/emit/text/literals.h"
#include "tests/paths.h"

namespace bf_aot::emit {
namespace {

namespace fs = std::filesystem;

std::string all_tables() {
  std::string text;
  text += emit_function_table(make_function_table({FunctionKind::kSigmoid, 0, 0}), "kSigmoid");
  text += emit_function_table(make_function_table({FunctionKind::kExp, 0, 0}), "kExp");
  text += emit_function_table(make_function_table({FunctionKind::kSqrt, 0, 0}), "kSqrt");
  text += emit_function_table(make_function_table({FunctionKind::kSign, 0, 0}), "kSign");
  text += emit_function_table(make_function_table({FunctionKind::kFloor, 0, 0}), "kFloor");
  text += emit_function_table(make_function_table({FunctionKind::kPower, 3, 0}), "kCube");
  text += emit_function_table(make_function_table({FunctionKind::kLog, 0, 0}), "kLog");
  text += emit_float_table(make_float_table({FunctionKind::kSigmoid, 0, 0}), "kNarrowSigmoid");
  text += emit_float_table(make_float_table({FunctionKind::kExp, 0, 0}), "kNarrowExp");
  text += emit_float_table(make_float_table({FunctionKind::kPower, 2, 0}), "kNarrowSquare");
  return text;
}

TEST(EmitFunctions, IsDeterministic) {
  EXPECT_EQ(all_tables(), all_tables());
}

TEST(EmitFunctions, NamesTheFunctionAndPrintsInfinities) {
  const std::string text =
      emit_function_table(make_function_table({FunctionKind::kLeakyRelu, 0.5, 0}), "kLeaky");
  EXPECT_EQ(text.rfind("// leaky_relu(0.5)\nconstexpr bf::FunctionRun kLeakyRuns[2] = {\n", 0), 0u)
      << text;
  EXPECT_NE(text.find("-__builtin_inf()"), std::string::npos);
  EXPECT_NE(text.find("constexpr bf::FunctionView kLeaky = {"), std::string::npos);
}

// The text compiles as a verifier must, without a library, and does what the functions do.
TEST(EmitFunctions, CompilesAndRuns) {
  const fs::path folder = fs::path(BF_BINARY_DIR) / "emit_functions_test";
  fs::create_directories(folder);
  std::ofstream(folder / "tables.cpp") << "#include \"bf/functions/float_functions.h\"\n"
                                       << "#include \"bf/functions/functions.h\"\n"
                                       << all_tables() << R"(
static bool close(const bf::FloatFunction& f, float x, float y) {
  const bf::FloatRange range = bf::float_range(f, x, x);
  return range.low <= y && y <= range.high && range.high - range.low < 1e-5f;
}
static bool near(const bf::FunctionView& f, double x, double y) {
  const bf::FunctionRange range = bf::bound_function(f, x, x);
  const bf::Relaxation line = bf::relax_function(f, x, x, x + 1);
  return range.low <= y + 1e-15 && y - 1e-15 <= range.high && range.high - range.low < 1e-9 &&
         line.radius < 100;
}
int main() {
  const bool good = near(kSigmoid, 1, 0.73105857863000487925) &&
                    near(kExp, 1, 2.7182818284590452354) && near(kSqrt, 2, 1.41421356237309505) &&
                    near(kSign, -3, -1) && near(kFloor, 1.5, 1) && near(kCube, -2, -8) &&
                    near(kLog, 3, 1.09861228866810969) && close(kNarrowSigmoid, 1, 0.7310586f) &&
                    close(kNarrowExp, 1, 2.7182817f) && close(kNarrowSquare, -3, 9);
  return good ? 0 : 1;
}
)";
  const std::string program = (folder / "tables").string();
  const std::string command =
      std::string(BF_CXX) + " -std=c++17 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion" +
      " -Werror -Wno-unused-function -fno-exceptions -fno-rtti -I" BF_SOURCE_DIR "/runtime " +
      (folder / "tables.cpp").string() + " -o " + program;
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  EXPECT_EQ(std::system(program.c_str()), 0);
}

}  // namespace
}  // namespace bf_aot::emit
