#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/property/property.h"
#include "frontend/property/vnnlib/lexer.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::vnnlib {

// An element of the inputs, of the outputs, or a derived value, as one number that orders inputs
// before outputs before derived values.
using Variable = std::int64_t;
inline constexpr Variable kFirstOutput = Variable{1} << 40;
inline constexpr Variable kFirstDerived = Variable{1} << 41;

inline bool is_input(Variable variable) {
  return variable < kFirstOutput;
}

// The variables that a file declares.
class Declarations {
 public:
  Declarations(Lexer& lexer, const PropertyLimits& limits) : lexer_(lexer), limits_(limits) {}

  // Reads on from "(declare-const" or "(declare-fun" to the closing parenthesis. Throws: BF3403,
  // BF3405.
  void read_constant(bool function);

  // Reads on from "(declare-network". Throws: BF3403, BF3405, BF3409, BF3410.
  void read_network();

  // Throws: BF3405 when the name is not declared.
  Variable resolve(const Token& token) const;

  // The name that the file gives an input: "X_3", "image[0,1]".
  std::string input_name(std::int64_t index) const;

  std::int64_t input_count() const { return count_[0]; }

  // Checks that nothing is missing, and describes the tensors. Throws: BF3405.
  void finish(Property& property) const;

 private:
  struct Tensor {
    bool output = false;
    std::int64_t first = 0;  // index of its first element among the inputs or outputs
    Shape shape;
  };

  void declare_scalar(const Token& name);
  void read_tensor(const Token& keyword);
  Shape read_shape();
  Variable resolve_element(const Token& token) const;
  void check_name(const Token& name) const;
  [[noreturn]] void fail_undeclared(const Token& token) const;

  Lexer& lexer_;
  const PropertyLimits& limits_;
  std::vector<bool> scalars_[2];    // X_i, Y_i: declared
  std::int64_t count_[2] = {0, 0};  // inputs, outputs
  std::string network_;             // VNN-LIB 2.0
  std::vector<PropertyTensor> tensors_[2];
  std::unordered_map<std::string, Tensor> by_name_;
};

}  // namespace bf_aot::vnnlib
