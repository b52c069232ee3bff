#include "planner/tables/known_table.h"

// Where no program of the build can run.

namespace bf_aot {

std::span<const KnownTable> known_tables() {
  return {};
}

}  // namespace bf_aot
