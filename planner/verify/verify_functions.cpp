#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "frontend/functions/function_facts.h"
#include "planner/verify/verify.h"
#include "planner/verify/verify_entry.h"
#include "planner/verify/verify_layer.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot {
namespace {

// The least workspace for a function's own steps, or those of the functions that it calls.
std::int64_t bytes_of_entries(const Plan& plan, bool batch) {
  std::int64_t bytes = 0;
  for (const Entry& entry : plan.entries)
    if (batch || !is_batch(entry.kind)) bytes = std::max(bytes, entry.arena_bytes());
  return bytes;
}

std::int64_t bytes_of_nodes(const Plan& plan) {
  const DecidePlan& decide = plan.decide;
  verify_split_network(plan, decide.network);
  bf::SplitExtents extents = {};
  bool multiplies = false;
  for (const SplitLayerPlan& each : decide.network.layers) {
    const Layer& layer = plan.layer(each.layer);
    const auto out = static_cast<std::size_t>(layer.out);
    const bool curve = each.role == SplitRole::kFunction || each.role == SplitRole::kFactor;
    const bool product = each.role == SplitRole::kProduct;
    require(!layer.function || !is_staircase(layer.function->kind), "neurons of layer {} are split",
            layer.name);
    extents.choices += out * (curve ? 4u : product ? 2u : 1u);
    extents.curves += curve ? out : 0;
    multiplies = multiplies || product;
    extents.neurons += out;
    extents.widest = std::max(extents.widest, out);
    ++extents.layers;
  }
  extents.activations = multiplies ? extents.neurons : 0;
  extents.inputs = static_cast<std::size_t>(plan.input_count);
  extents.rows = static_cast<std::size_t>(plan.spec_rows);
  extents.terms = static_cast<std::size_t>(decide.terms);
  const std::size_t node = bf::open_node_bytes(extents.choices, extents.terms);
  require(decide.terms > 0 && decide.open_boxes >= 2 &&
              decide.open_box_bytes == static_cast<std::int64_t>(node),
          "decide: {} open nodes of {} bytes", decide.open_boxes, decide.open_box_bytes);
  const auto bytes = static_cast<std::int64_t>(bf::split_bytes(extents) +
                                               static_cast<std::size_t>(decide.open_boxes) * node);
  require(decide.bytes == bytes, "decide: {} bytes, not {}", decide.bytes, bytes);
  return bytes;
}

std::int64_t bytes_on_top(const Plan& plan, const Signature& signature) {
  const auto inputs = static_cast<std::size_t>(plan.input_count);
  const auto rows = static_cast<std::size_t>(std::max(plan.spec_rows, 1));
  const auto boxes = static_cast<std::size_t>(plan.config.batch);
  std::size_t bytes = 0;
  if (signature.purpose == Purpose::kBounds && signature.within)
    bytes = 2 * sizeof(float) * std::max(static_cast<std::size_t>(plan.output_count), rows);
  if (signature.purpose == Purpose::kVerify && plan.integer) {
    require(plan.integer->property.has_value(), "there is no property");
    bytes =
        bf::integer_verify_bytes(inputs, static_cast<std::size_t>(plan.integer->property->rows));
  } else if (signature.purpose == Purpose::kVerify)
    bytes = signature.batch && plan.batch.side_by_side > 1
                ? bf::verify_boxes_bytes(inputs, rows, boxes)
                : bf::verify_bytes(inputs, rows);
  if (signature.purpose == Purpose::kDecide && plan.config.splits == Splits::kNeurons)
    return bytes_of_nodes(plan);
  if (signature.purpose == Purpose::kDecide) {
    const bool kept = std::ranges::any_of(
        plan.functions, [](const ExportedFunction& each) { return each.signature.coefficients; });
    require(plan.decide.open_boxes > 2 &&
                plan.decide.open_box_bytes == static_cast<std::int64_t>(bf::open_box_bytes(inputs)),
            "decide: {} open boxes of {} bytes", plan.decide.open_boxes,
            plan.decide.open_box_bytes);
    bytes = bf::round_bytes(inputs, rows, boxes, kept) +
            static_cast<std::size_t>(plan.decide.open_boxes) * bf::open_box_bytes(inputs);
    require(plan.decide.bytes == static_cast<std::int64_t>(bytes), "decide: {} bytes, not {}",
            plan.decide.bytes, bytes);
  }
  return static_cast<std::int64_t>(bytes);
}

void verify_function(const Plan& plan, const ExportedFunction& function) {
  const Signature& s = function.signature;
  const std::string name = suffix_of(s);
  require(has_workspace(s) == !function.workspace.macro.empty(), "{}: a workspace or none", name);
  require(s.parallel == !function.workspace.worker_macro.empty(), "{}: workers or none", name);
  if (!has_workspace(s)) return;
  const bool batch = s.batch || (s.purpose == Purpose::kDecide && plan.config.batch > 1 &&
                                 plan.config.splits == Splits::kInputs);
  const std::int64_t least = bytes_of_entries(plan, batch) + bytes_on_top(plan, s);
  const std::int64_t most = least + plan.config.target.align;
  require(function.workspace.bytes >= least && function.workspace.bytes < most,
          "{}: {} bytes of workspace, needs {}", name, function.workspace.bytes, least);
  if (!s.parallel) return;
  std::int64_t worker = s.batch ? function.workspace.bytes : 0;
  if (!s.batch)
    for (const Entry& entry : plan.entries)
      if (!is_batch(entry.kind)) worker = std::max(worker, entry.worker_storage.planned_bytes);
  require(function.workspace.worker_bytes == worker, "{}: {} bytes of a worker, needs {}", name,
          function.workspace.worker_bytes, worker);
}

}  // namespace

void verify_functions(const Plan& plan) {
  if (plan.functions.empty()) return;
  const WeightStorage storage =
      plan.integer ? WeightStorage::kInline  // small numbers: short text
                   : weight_storage_for(plan.weights_bytes(), plan.config.language);
  require(plan.weight_storage == storage, "{} bytes of weights {}", plan.weights_bytes(),
          to_string(plan.weight_storage));
  std::set<std::string> names;
  std::set<std::string> entries;
  for (const ExportedFunction& function : plan.functions) {
    const std::string name = suffix_of(function.signature);
    require(names.insert(name).second, "two functions are named {}", name);
    if (function.entry) {
      const Entry* const entry = plan.entry_of(function);
      require(entry != nullptr, "{}: there is no such entry", name);
      entries.insert(name_of(*entry));
    }
    verify_function(plan, function);
  }
  for (const Entry& entry : plan.entries)
    require(entries.contains(name_of(entry)), "no function runs the entry {}", name_of(entry));
}

}  // namespace bf_aot
