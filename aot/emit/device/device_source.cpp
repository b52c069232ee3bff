#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "aot/emit/calls/calls.h"
#include "aot/emit/constants/shapes.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/device/device.h"
#include "aot/emit/interface/signature.h"
#include "aot/emit/kernels/kernels.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/lowering/walk.h"
#include "runtime/bf/contract/workspace.h"

namespace bf_aot::emit {
namespace {

// The entries call these kernels, and read these tables.
struct Used {
  std::set<KernelId> kernels;
  std::set<std::string> tables;
};

Used used_by(const Lowered& lowered, const Entry& entry) {
  Used used;
  calls::for_each_call(lowered.program(entry), [&](const calls::Call& call) {
    if (const auto* const kernel = std::get_if<calls::KernelCall>(&call.callee))
      used.kernels.insert(kernel->id);
    for (const calls::Argument& argument : call.arguments)
      if (const auto* const table = std::get_if<calls::Table>(&argument))
        for (const WeightTable& each : lowered.tables())
          if (each.layer == table->layer && each.term == table->term && each.kind == table->kind)
            used.tables.insert(each.name);
  });
  return used;
}

std::string kernels(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  std::set<KernelId> called;
  for (const DeviceEntry& each : device_entries(plan))
    called.merge(used_by(lowered, *each.entry).kernels);
  loop::Needs needs;
  std::string text;
  for (const KernelId id : called)
    if (plan.kernel(id).code == KernelCode::kPrinted)
      text += print_kernel(plan.kernel(id), needs, dialect_of(plan)) + "\n";
  return text;
}

// The most that an entry point's kernels share at a time.
std::int64_t staged_floats(const Plan& plan) {
  std::int64_t most = 0;
  for (const Kernel& kernel : plan.kernels) most = std::max(most, emit::staged_floats(kernel));
  return most;
}

struct TableWords {
  std::string_view type, place;
};

TableWords words_of(const WeightTable& table) {
  switch (element_of(table.kind)) {
    case Element::kFloat64:
      return {"double", "BF_DOUBLE_AT"};
    case Element::kInt32:
      return {"int32_t", "BF_INT32_AT"};
    case Element::kFloat32:
    case Element::kUint8:
      break;
  }
  return {"float", "BF_FLOAT_AT"};
}

// The tables that an entry reads, at their places among the weights.
std::string tables(const Lowered& lowered, const Entry& entry) {
  const Used used = used_by(lowered, entry);
  std::string text = "  // The weights: what holds how many.\n";
  for (const WeightTable& table : lowered.tables()) {
    if (table.same_as >= 0 || !used.tables.contains(table.name)) continue;
    const TableWords words = words_of(table);
    text += fmt::format("  BF_GLOBAL const {}* const {} = {}(weights, {});  // [{}]\n", words.type,
                        table.name, words.place, table.offset, table.count);
  }
  return text + "\n";
}

constexpr std::string_view kHead = R"(// Group i bounds box i.
BF_ENTRY @entry@(BF_GLOBAL const unsigned char* weights, BF_GLOBAL unsigned char* arenas,
                 BF_GLOBAL const float* lowers, BF_GLOBAL const float* uppers,
                 BF_GLOBAL float* out_lowers, BF_GLOBAL float* out_uppers@given@ BF_GIVEN_TEAM) {
  const size_t box = BF_BOX;
  BF_GLOBAL unsigned char* const workspace = arenas + box * @arena@;
  BF_GLOBAL const float* const lower = lowers + box * @inputs@;
  BF_GLOBAL const float* const upper = uppers + box * @inputs@;
  BF_GLOBAL float* const out_lower = out_lowers + box * @outputs@;
  BF_GLOBAL float* const out_upper = out_uppers + box * @outputs@;
@lines@@shared@
)";

constexpr std::string_view kGivenLines = ",\n                 BF_GLOBAL float* out_lines";
constexpr std::string_view kLines =
    "  BF_GLOBAL float* const coefficients = out_lines + box * {};\n";

std::string entry_point(const Lowered& lowered, const DeviceEntry& entry,
                        const calls::Bodies& bodies) {
  const Plan& plan = lowered.plan();
  bool together = false;
  calls::for_each_call(lowered.program(*entry.entry), [&](const calls::Call& call) {
    together = together || calls::takes_team(plan, call);
  });
  return fill_in(kHead, {{"entry", entry.name},
                         {"arena", device_arena_bytes(plan)},
                         {"inputs", plan.input_count},
                         {"given", entry.lines > 0 ? kGivenLines : ""},
                         {"lines", entry.lines > 0 ? fmt::format(kLines, entry.lines) : ""},
                         {"shared", together ? "  BF_OWN_TEAM\n" : ""},
                         {"outputs", entry.outputs}}) +
         tables(lowered, *entry.entry) + bodies.of(*entry.entry) + "}\n\n";
}

}  // namespace

std::vector<DeviceEntry> device_entries(const Plan& plan) {
  std::vector<DeviceEntry> made;
  if (const Entry* const bounds = plan.find_entry(EntryKind::kBounds))
    made.push_back({bounds, plan.name + "_bounds", plan.output_count});
  if (const Entry* const rows = plan.find_entry(EntryKind::kSpecBounds)) {
    made.push_back({rows, plan.name + "_spec_bounds", plan.spec_rows});
    if (keeps_coefficients(*rows))
      made.back().lines =
          plan.spec_rows *
          static_cast<std::int64_t>(bf::lines_of_row(static_cast<std::size_t>(plan.input_count)));
  }
  return made;
}

std::int64_t device_arena_bytes(const Plan& plan) {
  const std::int64_t align = plan.config.target.align;
  return (plan.arena_bytes() + align - 1) / align * align;
}

std::int64_t device_team_bytes(int items, std::int64_t staged) {
  constexpr std::int64_t kCount = 4, kSums = std::int64_t{2} * 8 * 8, kWeight = 4;
  const auto whole = [](std::int64_t bytes) { return (bytes + 7) / 8 * 8; };
  return items == 1 ? 0 : whole(items * kCount) + kSums + whole(staged * kWeight);
}

std::int64_t device_team_bytes(const Plan& plan) {
  return device_team_bytes(plan.config.items, staged_floats(plan));
}

std::string emit_device_source(const Lowered& lowered) {
  const Plan& plan = lowered.plan();
  const std::vector<calls::Program>& programs = lowered.programs();
  const calls::Bodies bodies(lowered, {});
  std::string text = emit_banner(plan, "guaranteed bounds on a network's outputs", "//");
  text += fmt::format(
      "\n// The items of a group, weights that they share at a time, and bytes of the memory that\n"
      "// they share.\n"
      "#define BF_ITEMS {}\n#define BF_STAGED {}\n#define BF_TEAM_BYTES {}\n",
      plan.config.items, staged_floats(plan), device_team_bytes(plan));
  text += "\n" + calls::c_includes(plan, programs) + "#include \"bf/c/probe.h\"\n\n";
  text += emit_conv_shapes(plan, programs) + emit_max_groups(plan, programs) +
          emit_function_tables(plan, programs);
  text += "// ---- kernels\n\n" + kernels(lowered);
  text += bodies.error_constants();
  text += "// ---- entry points\n\n";
  for (const DeviceEntry& entry : device_entries(plan)) text += entry_point(lowered, entry, bodies);
  text.pop_back();
  return text;
}

}  // namespace bf_aot::emit
