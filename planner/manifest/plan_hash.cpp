#include "planner/manifest/plan_hash.h"

#include <span>
#include <string>
#include <vector>

#include "planner/manifest/plan_json.h"

namespace bf_aot {
namespace {

class Hash {
 public:
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes)
      value_ = (value_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3ULL;
  }

  // With its length: what follows cannot be taken for a part of it.
  template <typename T>
  void add_all(const std::vector<T>& numbers) {
    const std::uint64_t count = numbers.size();
    add(std::as_bytes(std::span(&count, 1)));
    add(std::as_bytes(std::span(numbers)));
  }

  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

std::uint64_t plan_hash(const Plan& plan) {
  Hash hash;
  const std::string text = to_json(plan).dump();
  hash.add(std::as_bytes(std::span(text)));
  for (const Layer& layer : plan.layers) {
    hash.add_all(layer.weight);
    hash.add_all(layer.residual);
    hash.add_all(layer.bias);
    for (const Term& term : layer.terms) {
      hash.add_all(term.weight);
      hash.add_all(term.residual);
      if (const auto* sparse = std::get_if<SparseMap>(&term.map)) hash.add_all(sparse->column);
      if (const auto* gather = std::get_if<GatherMap>(&term.map)) hash.add_all(gather->source);
    }
  }
  return hash.value();
}

}  // namespace bf_aot
