#include "aot/engine/run/property.h"

#include <algorithm>

namespace bf_aot::engine {

PropertyMemory::PropertyMemory(const Property& property)
    : boxes_(float_boxes(property)), verdicts_(verdict_tables(property)), tables_() {
  for (const VerdictCondition& term : verdicts_.terms)
    terms_.push_back({term.row, term.at_least, term.threshold});
  tables_ = {static_cast<std::int32_t>(property.input_count),
             static_cast<std::int32_t>(std::max<std::size_t>(property.rows.size(), 1)),
             static_cast<std::int32_t>(property.cases.size()),
             boxes_.lower.data(),
             boxes_.upper.data(),
             boxes_.inside.data(),
             verdicts_.case_clauses.data(),
             verdicts_.clause_terms.data(),
             terms_.data()};
}

}  // namespace bf_aot::engine
