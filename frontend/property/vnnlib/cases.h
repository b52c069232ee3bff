#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/property/property.h"
#include "frontend/property/vnnlib/formula.h"

namespace bf_aot::vnnlib {

// Makes the cases of a property from the disjuncts of its formula: boxes of equal numbers become
// one case, what cannot hold contributes nothing.
class CaseBuilder {
 public:
  // rows: those that the conditions speak of. They, `file_name` and `declarations`, for messages,
  // outlive the builder.
  CaseBuilder(const Declarations& declarations, const std::vector<PropertyRow>& rows,
              const PropertyLimits& limits, const std::string& file_name);

  // Sets what all disjuncts have in common. To be called before the first add().
  void set_common(const Disjunct& common);

  // Throws: BF3404, BF3407 an input without bounds, BF3411 beyond the range of float32.
  void add(const Disjunct& disjunct);

  std::vector<PropertyCase> take() { return std::move(cases_); }

 private:
  struct End {
    Number value;
    bool given = false;
    bool strict = false;
  };
  struct Interval {
    End lower, upper;
  };

  static void tighten(End& end, const InputBound& bound);
  bool is_empty(std::size_t input) const;
  void keep_end(std::size_t input, const End& end, std::vector<ExactEnd>& ends) const;
  void write_interval(std::size_t input, PropertyCase& to) const;
  void check_bounded() const;
  PropertyCase& find_case(PropertyCase made);

  const Declarations& declarations_;
  const std::vector<PropertyRow>& rows_;
  const std::string& file_name_;
  const PropertyLimits& limits_;
  std::vector<Interval> intervals_;      // the common ones, but while add() runs
  std::vector<std::size_t> incomplete_;  // inputs whose common interval lacks an end
  bool common_empty_ = false;
  PropertyCase common_;  // box of the common intervals, where they are complete
  std::vector<Condition> common_conditions_;
  std::vector<PropertyCase> cases_;
  std::vector<std::unordered_map<std::string, bool>> seen_;  // clauses of each case
  std::unordered_multimap<std::size_t, std::size_t> by_hash_;
};

}  // namespace bf_aot::vnnlib
