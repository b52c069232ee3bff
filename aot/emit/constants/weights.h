#pragma once

#include <string>
#include <vector>

#include "aot/emit/text/emitted_file.h"
#include "planner/lowering/weight_tables.h"
#include "planner/plan/plan.h"

namespace bf_aot::emit {

// The expression by which the source refers to a table: "fc1_weight", or a place in the blob.
std::string table_reference(WeightStorage storage, const WeightTable& table);

// The files of weights beside the source: <stem>_weights.inc, or _weights.S and _weights.bin.
std::vector<EmittedFile> emit_weight_files(const Plan& plan, const std::string& stem,
                                           bool marks = false);

// Definitions of the tables as arrays, and declarations of the blob. `marks`: puts marks around
// each array's lines, see aot/emit/text/marks.h.
std::string emit_weight_arrays(const Plan& plan, bool marks = false);
std::string emit_weight_blob_declarations(const Plan& plan);

}  // namespace bf_aot::emit
