#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
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

  // The name that the file gives an input: "X_3", "image[0,1]", of several networks "f.X[0]".
  std::string input_name(std::int64_t index) const;

  std::int64_t input_count() const { return input_count_.value_or(count_[0]); }
  bool has_several_networks() const { return networks_.size() > 1; }

  // Numbers inputs by `source` from now on, see Property::input_source.
  void tie_inputs(std::vector<std::int64_t> source, std::int64_t count) {
    source_ = std::move(source);
    input_count_ = count;
  }

  // Checks that nothing is missing, and describes the tensors. Throws: BF3405.
  void finish(Property& property) const;

 private:
  struct Tensor {
    bool output = false;
    std::int64_t first = 0;  // index of its first element among the inputs or outputs
    Shape shape;
    bool shared = false;  // several networks have a tensor of this name
  };

  void declare_scalar(const Token& name);
  void read_tensor(const Token& keyword);
  Shape read_shape();
  Variable resolve_element(const Token& token) const;
  void check_name(const Token& name) const;
  void read_congruence(const Token& keyword);
  void check_congruence(const Token& place, const std::string& other) const;
  std::vector<PropertyTensor> tensors_of(std::size_t network, bool outputs) const;
  [[noreturn]] void fail_undeclared(const Token& token) const;

  Lexer& lexer_;
  const PropertyLimits& limits_;
  std::vector<bool> scalars_[2];           // X_i, Y_i: declared
  std::int64_t count_[2] = {0, 0};         // inputs, outputs
  std::vector<PropertyNetwork> networks_;  // VNN-LIB 2.0
  std::vector<std::int64_t> source_;
  std::optional<std::int64_t> input_count_;
  std::vector<PropertyTensor> tensors_[2];
  std::unordered_map<std::string, Tensor> by_name_;
};

}  // namespace bf_aot::vnnlib
