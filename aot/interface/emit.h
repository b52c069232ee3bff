#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aot/loop/print/print.h"
#include "aot/text/emitted_file.h"
#include "frontend/property.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"

namespace bf_aot {

// Where a verifier keeps its constants.
enum class WeightStorage : std::uint8_t {
  kInline,   // arrays in the source
  kInclude,  // arrays in <stem>_weights.inc
  kObject,   // <stem>_weights.bin, made an object by <stem>_weights.S
};

WeightStorage weight_storage(std::int64_t bytes);

// How the source names a table: "fc1_weight", or a place in the blob.
std::string table_reference(WeightStorage storage, const WeightTable& table);

// The version of bf.h that emitted code is for; the code asserts it.
constexpr int kAbi = 1;

// <stem>.h: C99 interface. `property`: what NAME_verify decides; null for a verifier without it.
std::string emit_header(const Plan& plan, const Property* property = nullptr);

// What the code does besides, for tests and measurements.
struct Instruments {
  // Fills the bytes of a buffer with this byte before the op that first writes them and after the
  // op that last touches them. Bounds that change by it come from stale memory.
  std::optional<unsigned char> poison;
  // Calls the hook before each call of a kernel or routine, and at the end of an entry point.
  bool trace = false;
};

// Lines that forbid fusing products into sums, where the plan makes anything anew; else none. They
// stand before the runtime's headers, whose functions they are for as well.
std::string emit_contraction(const Plan& plan);

// <stem>.cpp.
std::string emit_source(const Plan& plan, const std::string& stem,
                        const Property* property = nullptr, const Instruments& instruments = {});

// The hook of a traced verifier: NAME_trace(task, part), a pointer that the host program sets.
// `part` is the name of the TaskPart whose call follows; task -1: the entry point is done.
std::string emit_trace_hook(const Plan& plan);

// Files besides: <stem>_weights.inc, or _weights.S and _weights.bin.
std::vector<EmittedFile> emit_weight_files(const Plan& plan, const std::string& stem);

// Definitions of the tables as arrays, and declarations of the blob.
std::string emit_weight_arrays(const Plan& plan);
std::string emit_weight_blob_declarations(const Plan& plan);

// Macros, vector types and helpers of what kernels need.
std::string emit_prelude(const Plan& plan, const loop::Needs& needs);

// The body of an entry point after its checks: one block per task.
std::string emit_steps(const Plan& plan, const Entry& entry, const Instruments& instruments = {});

// The lines at the top of a file: what it is, what it was made from, who may use it.
std::string emit_banner(const Plan& plan, const std::string& title, const std::string& comment);

// "DIGITS_64X2"
std::string upper_case(const std::string& name);

}  // namespace bf_aot
