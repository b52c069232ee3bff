#include "planner/network/fusion_classes.h"

#include <algorithm>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

constexpr FusionClass kInjective = FusionClass::kInjective;
constexpr FusionClass kReduction = FusionClass::kReduction;
constexpr FusionClass kComplexOutFusable = FusionClass::kComplexOutFusable;
constexpr FusionClass kOpaque = FusionClass::kOpaque;

// Returns true if the scale only adds. Its factors of 1 may be uncertain: then so are the weights
// that it joins.
bool adds_only(const Scale& op) {
  return std::ranges::all_of(op.factor.data, [](double x) { return x == 1; });
}

struct Table {
  FusionRule operator()(const Affine&) const {
    return {.kind = kComplexOutFusable,
            .waits = true,
            .why = "reads a stored tensor; an activation joins it"};
  }
  FusionRule operator()(const Conv&) const {
    return {
        .kind = kComplexOutFusable, .waits = true, .why = "a term of a sum over a stored tensor"};
  }
  FusionRule operator()(const SparseAffine&) const {
    return {.kind = kReduction, .waits = true, .why = "a term of a sum over a stored tensor"};
  }
  FusionRule operator()(const IndexMap&) const {
    return {.kind = kInjective,
            .waits = true,
            .why = "a term of a sum; its readers gather from a stored tensor"};
  }
  FusionRule operator()(const Scale& op) const {
    if (adds_only(op))
      return {
          .kind = kInjective, .joins = true, .waits = true, .why = "adds to the bias of the sum"};
    return {
        .kind = kInjective, .waits = true, .why = "a diagonal term of a sum over a stored tensor"};
  }
  FusionRule operator()(const Binary& op) const {
    if (op.kind == Binary::Kind::kAdd)
      return {.kind = kInjective, .joins = true, .waits = true, .why = "joins the terms of both"};
    return {.kind = kOpaque, .why = "two computed factors are relaxed by planes of their own"};
  }
  FusionRule operator()(const Relu&) const {
    return {.kind = kInjective, .joins = true, .why = "the activation of the sum before it"};
  }
  FusionRule operator()(const Unary&) const {
    return {.kind = kInjective, .joins = true, .why = "the activation of the sum before it"};
  }
  FusionRule operator()(const GroupMax&) const {
    return {.kind = kOpaque, .why = "bounded by the choice of one candidate"};
  }
  FusionRule operator()(const LogSoftmax&) const {
    return {.kind = kOpaque, .why = "bounded by planes that its groups share"};
  }
  FusionRule operator()(const Contraction&) const {
    return {.kind = kOpaque, .why = "two computed factors are relaxed by planes of their own"};
  }
  FusionRule operator()(const Literal&) const { return lowered(); }
  FusionRule operator()(const MatMul&) const { return lowered(); }
  FusionRule operator()(const Gemm&) const { return lowered(); }

 private:
  static FusionRule lowered() { return {.kind = kOpaque, .why = "no operator of a normal graph"}; }
};

}  // namespace

FusionRule fusion_rule(const Op& op) {
  return std::visit(Table{}, op);
}

bool is_activation(const Op& op) {
  const FusionRule rule = fusion_rule(op);
  return rule.joins && !rule.waits;
}

std::string_view to_string(FusionClass kind) {
  switch (kind) {
    case FusionClass::kInjective:
      return "injective";
    case FusionClass::kReduction:
      return "reduction";
    case FusionClass::kComplexOutFusable:
      return "complex-out-fusable";
    case FusionClass::kOpaque:
      return "opaque";
  }
  BF_CHECK(false);
  return {};
}

}  // namespace bf_aot
