#include "frontend/graph/exact_constants.h"

namespace bf_aot {
namespace {

template <class... Constants>
bool are_exact(const Constants&... constants) {
  return (constants.is_exact() && ...);
}

bool has_exact(const Literal& op) {
  return are_exact(op.value);
}
bool has_exact(const MatMul&) {
  return true;
}
bool has_exact(const Gemm&) {
  return true;
}
bool has_exact(const Binary&) {
  return true;
}
bool has_exact(const Relu&) {
  return true;
}
bool has_exact(const IndexMap&) {
  return true;
}
bool has_exact(const Scale& op) {
  return are_exact(op.factor, op.offset);
}
bool has_exact(const Affine& op) {
  return are_exact(op.weight, op.bias);
}
bool has_exact(const Unary&) {
  return true;
}
bool has_exact(const Conv& op) {
  return are_exact(op.weight, op.bias);
}
bool has_exact(const SparseAffine& op) {
  return are_exact(op.value, op.bias);
}
bool has_exact(const GroupMax&) {
  return true;
}
bool has_exact(const LogSoftmax&) {
  return true;
}
bool has_exact(const Contraction&) {
  return true;
}

}  // namespace

bool has_exact_constants(const Op& op) {
  return std::visit([](const auto& each) { return has_exact(each); }, op);
}

}  // namespace bf_aot
