#include "aot/emit/calls/error_constants.h"

#include <fmt/format.h>

#include <string_view>

#include "aot/emit/text/literals.h"
#include "planner/lowering/walk.h"

namespace bf_aot::calls {
namespace {

// The proofs of the steps in docs/proofs/ derive the values.
struct Paid {
  std::string_view name;
  std::string_view what;
};

Paid paid_for(Pays pays) {
  switch (pays) {
    case Pays::kGamma:
      return {"kGamma", "gamma of the sums that a reader makes of it: times |x|"};
    case Pays::kGammaSum:
      return {"kGammaSum",
              "gamma of the sums that a reader makes of lines: times the sum of their magnitudes"};
    case Pays::kInflate:
      return {"kInflate", "the factor on a computed radius or spread"};
    case Pays::kMagnitude:
      return {"kMagnitude", "times a computed magnitude: roundings of what follows the sums"};
    case Pays::kAbsolute:
      return {"kAbsolute", "an addend for underflow and for what rounded biases lose"};
    case Pays::kCentreRelative:
      return {"kCentreRelative", "gamma of a centre in double"};
    case Pays::kPay:
      return {"kPay", "times what a centre may miss: prices relative to a radius pay that much"};
    case Pays::kRowNorm:
      return {"kRowNorm", "the largest sum of magnitudes of a row of weights"};
    case Pays::kBiasNorm:
      return {"kBiasNorm", "the largest magnitude of a bias"};
    case Pays::kRowBias:
      return {"kRowBias",
              "times a bias: 1, and what it may miss itself, relative to its centre's gamma"};
    case Pays::kProduct:
      return {"kProduct", "gamma of a product with weights, and what rounded weights lose"};
    case Pays::kWideProduct:
      return {"kWideProduct", "gamma of a product in double, and what rounded weights lose"};
    case Pays::kStored:
      return {"kStored", "rounding of a sum in double to float, relative"};
    case Pays::kSlope:
      return {"kSlope", "rounding of coefficient times slope, relative"};
    case Pays::kOffset:
      return {"kOffset", "gamma of the sum of coefficients times offsets"};
    case Pays::kFreeOffset:
      return {"kFreeOffset",
              "gamma of the sum of coefficients times offsets, of rows that choose their slopes"};
    case Pays::kAround:
      return {"kAround", "the factor on the computed radius around a centre"};
    case Pays::kConcretize:
      return {"kConcretize", "the factor on the computed sum of magnitudes of coefficients"};
    case Pays::kLeast:
      return {"kLeast", "an addend where numbers may be subnormal"};
    case Pays::kWeightRelative:
      return {"kWeightRelative", "what the rounded weights of a row lose, relative to its radius"};
    case Pays::kUnderflow:
      return {"kUnderflow", "a product that underflows, for each that relaxations counted"};
    case Pays::kMost:
      return {"kMost", "the largest magnitude of a product, for all inputs; 0: none is known"};
  }
  return {};
}

}  // namespace

std::string literal(const Constant& constant) {
  return constant.to_float ? emit::float_literal_up(constant.value)
                           : emit::double_literal(constant.value);
}

ErrorConstants::ErrorConstants(const std::vector<Program>& programs, const emit::Dialect& dialect)
    : dialect_(dialect) {
  struct Visitor {
    ErrorConstants& to;
    void operator()(const Call& call) const {
      for (const Argument& argument : call.arguments)
        if (const auto* const constant = std::get_if<Constant>(&argument))
          to.add(*constant);
        else if (const auto* const errors = std::get_if<Errors>(&argument))
          for (const Constant& each : errors->constants) to.add(each);
    }
    void operator()(const DefineRowErrors& node) const {
      for (const Constant& each : {node.concretize, node.weight, node.inflate, node.underflow})
        to.add(each);
    }
  };
  for (const Program& program : programs) for_each_call(program, Visitor{*this});
}

ErrorConstants::Key ErrorConstants::key_of(const Constant& constant) {
  return {constant.pays, constant.to_float, constant.value};
}

void ErrorConstants::add(const Constant& constant) {
  const auto [place, added] = names_.try_emplace(key_of(constant));
  if (!added) return;
  std::vector<Constant>& values = values_[constant.pays];
  values.push_back(constant);
  place->second = paid_for(constant.pays).name;
  if (values.size() > 1) place->second += std::to_string(values.size());
}

const std::string& ErrorConstants::name(const Constant& constant) const {
  return names_.at(key_of(constant));
}

std::string ErrorConstants::definitions() const {
  if (names_.empty()) return {};
  std::string text = "// ---- error constants: what rounding may cost, rounded up\n";
  for (const auto& [pays, values] : values_) {
    const Paid paid = paid_for(pays);
    text += fmt::format("\n// {}: {}.\n", paid.name, paid.what);
    for (const Constant& each : values)
      text += fmt::format("{} {} {} = {};\n", dialect_.constant(),
                          each.to_float ? "float" : "double", name(each), literal(each));
  }
  return text + "\n";
}

}  // namespace bf_aot::calls
