#include "planner/manifest/plan_hash.h"

#include <nlohmann/json.hpp>
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

  // Adds numbers after their count, so that what follows cannot be taken for a part of them.
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

// The tables of a step of integers, one overload for each kind.
struct TablesHash {
  Hash& hash;

  void operator()(const QuantizeBox& step) const {
    for (const auto& keys : step.keys) hash.add_all(keys);
    hash.add_all(step.source);
    hash.add_all(step.table);
  }
  void operator()(const GridDense& step) const {
    hash.add_all(step.weight);
    add(step.codes);
  }
  void operator()(const GridConv& step) const {
    hash.add_all(step.weight);
    add(step.codes);
  }
  void operator()(const GridSparse& step) const {
    hash.add_all(step.row_start);
    hash.add_all(step.column);
    hash.add_all(step.weight);
    add(step.codes);
  }
  void operator()(const GridSum& step) const { hash.add_all(step.code); }
  void operator()(const GridMax& step) const {
    hash.add_all(step.row_start);
    hash.add_all(step.source);
  }
  void operator()(const GridTable& step) const {
    for (const CodeTable& table : step.tables) hash.add(std::as_bytes(std::span(table.code)));
    hash.add_all(step.source);
    hash.add_all(step.table);
  }
  void operator()(const DequantizeBounds& step) const {
    for (const BoundTable& table : step.tables) {
      hash.add(std::as_bytes(std::span(table.lower)));
      hash.add(std::as_bytes(std::span(table.upper)));
    }
    hash.add_all(step.source);
    hash.add_all(step.table);
  }

  void operator()(const GridParts& step) const {
    for (const GridPart& part : step.parts) {
      hash.add_all(part.source);
      hash.add(std::as_bytes(std::span(part.table.code)));
    }
  }
  void operator()(const GridLoose&) const {}
  void operator()(const DequantizeSums& step) const {
    hash.add_all(step.weight);
    for (const SumBounds& row : step.bounds)
      hash.add_all(std::vector{row.multiplier, row.low_addend, row.high_addend});
  }

  void add(const Requantization& codes) const {
    for (const Requantizer& row : codes.rows) {
      hash.add_all(std::vector{row.multiplier, row.addend, row.least, row.most});
      hash.add_all(row.steps);
    }
  }
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
  if (plan.integer)
    for (const IntegerStep& step : plan.integer->steps) std::visit(TablesHash{hash}, step);
  if (plan.integer && plan.integer->property)
    for (const PropertySums& sums : plan.integer->property->sums) hash.add_all(sums.weight);
  return hash.value();
}

}  // namespace bf_aot
