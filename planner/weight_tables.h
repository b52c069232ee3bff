#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/plan.h"

namespace bf {

enum class TableKind : std::uint8_t {
  kWeight,      // float32 [out / panel][in][panel], zero-padded
  kResidual,    // the same layout
  kBiasFloat,   // float32 [out], padded to whole panels
  kBiasDouble,  // float64 [out], padded to whole panels
};

// A constant table of the verifier.
struct WeightTable {
  std::string name;  // "fc1_weight"
  TableKind kind = TableKind::kWeight;
  int layer = 0;
  int panel = 1;
  std::int64_t count = 0;   // elements, padding included
  std::int64_t offset = 0;  // bytes from the start of the weight blob
  std::int64_t bytes = 0;   // without the gap to the next table
};

// The tables that the plan's entries read, each once, in layer order, aligned for the target.
std::vector<WeightTable> weight_tables(const Plan& plan);

// Total bytes of the blob that they make.
std::int64_t blob_bytes(const std::vector<WeightTable>& tables, int align);

}  // namespace bf
