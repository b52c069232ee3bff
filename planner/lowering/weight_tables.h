#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/tables.h"

namespace bf_aot {

// A constant table of the verifier.
struct WeightTable {
  std::string name;  // "fc1_weight"
  TableKind kind = TableKind::kWeight;
  LayerId layer = 0;
  int term = -1;  // -1: the layer's own
  int panel = 1;
  int run = 1;              // neurons that share an element: bias_run()
  std::int64_t count = 0;   // elements, padding included
  std::int64_t offset = 0;  // bytes from the start of the weight blob
  std::int64_t bytes = 0;   // without the gap to the next table
  // Several layers may read equal tables: this one is that one, of the same name and place.
  int same_as = -1;  // an earlier table, or -1
};

// The tables that the plan's entries read, in layer order, aligned for the target. Biases of sum
// layers that are all zero are left out.
std::vector<WeightTable> weight_tables(const Plan& plan);

// The number of neighbouring neurons of a sum layer that share each bias, as those of a channel do:
// its tables hold each bias once. It is 1, all, or whole vectors of the target.
int bias_run(const Plan& plan, LayerId layer);

// Element i of a table as the kernels read it; zero where it is padding.
double table_element(const Plan& plan, const WeightTable& table, std::int64_t i);

// All elements of a table, each as element_of() its kind: table.bytes from `to` on, which is
// aligned for them.
void pack_table(const Plan& plan, const WeightTable& table, void* to);

// Total bytes of the blob that they make.
std::int64_t blob_bytes(const std::vector<WeightTable>& tables, int align);

}  // namespace bf_aot
