#pragma once

#include <vector>

#include "bf/search/verdict.h"
#include "frontend/property/property.h"
#include "frontend/property/verdict_tables.h"

namespace bf_aot::engine {

// The tables of a property that its verifier has, in memory. They are valid as long as this lives.
class PropertyMemory {
 public:
  explicit PropertyMemory(const Property& property);
  PropertyMemory(const PropertyMemory&) = delete;
  PropertyMemory& operator=(const PropertyMemory&) = delete;

  const bf::PropertyTables& tables() const { return tables_; }

 private:
  FloatBoxes boxes_;
  VerdictTables verdicts_;
  std::vector<bf::VerdictTerm> terms_;
  bf::PropertyTables tables_;
};

}  // namespace bf_aot::engine
