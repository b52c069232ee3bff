#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aot/cli/ablate/ablate_table.h"

namespace bf_aot::cli {

// Rows of one network, in order.
struct NetworkRows {
  std::string model;  // file name
  std::string id;     // the same as part of a file name; distinct
  std::vector<const AblationRow*> rows;

  const AblationRow* find(std::string_view config) const;  // null: none, or it failed
  // Configurations that stand for themselves: the methods, or what --configs names.
  std::vector<const AblationRow*> bases() const;
};
std::vector<NetworkRows> by_network(const std::vector<AblationRow>& rows);

// What leaving out a pass changes most.
struct Movement {
  Column metric = Column::kCount;
  std::string model, config;
  double with = 0, without = 0;
  double change = 0;  // |with - without| over the larger magnitude; 2 when one is infinite
};

struct PassEffect {
  std::string pass;
  std::optional<Movement> largest;  // of what is the same in every run: all but times
  std::optional<Movement> time;     // when beyond what repeats differ by
  std::string needed_by, message;   // a network that cannot be compiled without it, and why
  bool moves() const { return largest || time || !needed_by.empty(); }
};
std::vector<PassEffect> pass_effects(const std::vector<NetworkRows>& networks);

// The relative change of a metric between two rows; nothing where one has none.
std::optional<double> change_of(const AblationRow& with, const AblationRow& without, Column metric);

// Whether nothing but measured times tells them apart.
bool same_plan(const AblationRow& a, const AblationRow& b);

// Metrics by which passes are judged, times last.
const std::vector<Column>& judged_columns();

// Whether `other` is both faster, beyond noise, and tighter.
bool dominates(const AblationRow& other, const AblationRow& row);

// The text of summary.md. `drawn`: the figures exist.
std::string ablation_summary(const std::vector<AblationRow>& rows, bool drawn);

}  // namespace bf_aot::cli
