#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aot/cli/ablate/ablate_table.h"

namespace bf_aot::cli {

// The rows of one network, in order.
struct NetworkRows {
  std::string model;  // file name
  std::string id;     // its name as part of a file name; distinct
  std::vector<const AblationRow*> rows;

  const AblationRow* find(std::string_view config) const;  // null: none, or it failed
  // Configurations that stand for themselves: the methods, or what --configs names.
  std::vector<const AblationRow*> bases() const;
};
std::vector<NetworkRows> by_network(const std::vector<AblationRow>& rows);

// A metric that leaving out a pass changes.
struct Movement {
  Column metric = Column::kCount;
  std::string model, config;
  double with = 0, without = 0;
  double change = 0;  // |with - without| over the larger magnitude; 2 when one is infinite
};

struct PassEffect {
  std::string pass;
  // Among metrics that do not differ from run to run: all but times.
  std::optional<Movement> largest;
  std::optional<Movement> time;    // if beyond the differences of repeated runs
  std::string needed_by, message;  // a network that cannot be compiled without it, and why
  bool moves() const { return largest || time || !needed_by.empty(); }
};
std::vector<PassEffect> pass_effects(const std::vector<NetworkRows>& networks);

// The relative change of a metric between two rows; none where one row lacks it.
std::optional<double> change_of(const AblationRow& with, const AblationRow& without, Column metric);

// Returns whether both rows are equal in everything but measured times.
bool same_plan(const AblationRow& a, const AblationRow& b);

// Metrics by which passes are judged, times last.
const std::vector<Column>& judged_columns();

// Returns whether `other` is both faster, beyond noise, and tighter.
bool dominates(const AblationRow& other, const AblationRow& row);

// The text of summary.md. `drawn`: the figures exist.
std::string ablation_summary(const std::vector<AblationRow>& rows, bool drawn);

}  // namespace bf_aot::cli
