#include "planner/search/space.h"

#include <algorithm>
#include <utility>

#include "frontend/diagnostic.h"
#include "planner/entries/build_entries.h"
#include "planner/plan/prebuilt.h"

namespace bf_aot {
namespace {

const std::vector<LayerId>& timed_heads(const Plan& plan) {
  return plan.spec_heads.empty() ? plan.output_heads : plan.spec_heads;
}

PerLayer<bool> needed_for(const Plan& plan, const std::vector<LayerId>& heads) {
  PerLayer<bool> needed(plan.layers.size(), false);
  for (const LayerId head : heads) needed[head] = true;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i])
      for (const LayerId input : inputs_of(plan.layers[i]))
        if (input >= 0) needed[input] = true;
  return needed;
}

bool contains(const std::vector<LayerId>& list, LayerId value) {
  return std::ranges::count(list, value) > 0;
}

// Rows of a tile: 1 to 4 vectors, the planner's own choice first.
std::vector<int> tile_options(const Plan& plan) {
  const PlannerConfig& config = plan.config;
  if (config.row_tile > 0) return {};
  const bool vector = uses_vectors(config.lowering) && config.target.vector_bytes > 4;
  const int unit = vector ? config.target.vector_bytes / 4 : 2;
  if (config.lowering != Lowering::kPrebuilt) return {0, unit, 3 * unit, 4 * unit};
  std::vector<int> options = {0};
  for (const int rows : kPrebuiltRows)
    if (is_prebuilt_rows(vector ? unit : 1, false, rows) && rows != 2 * unit)
      options.push_back(rows);
  return options;
}

}  // namespace

std::vector<int> SearchSpace::options() const {
  std::vector<int> counts;
  for (const Decision& d : decisions) counts.push_back(static_cast<int>(d.options.size()));
  if (!tiles.empty()) counts.push_back(static_cast<int>(tiles.size()));
  return counts;
}

int Decision::find(Domain domain) const {
  const auto found = std::ranges::find(options, domain, &DomainChoice::domain);
  BF_CHECK(found != options.end());
  return static_cast<int>(found - options.begin());
}

bool Decision::has(Domain domain) const {
  return std::ranges::count(options, domain, &DomainChoice::domain) > 0;
}

bool SearchSpace::has(Domain domain) const {
  return std::ranges::any_of(decisions, [&](const Decision& d) { return d.has(domain); });
}

Candidate SearchSpace::ibp() const {
  return Candidate(options().size(), 0);
}

Candidate SearchSpace::crown_ibp() const {
  Candidate candidate = ibp();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    if (decisions[i].head) candidate[i] = decisions[i].find(Domain::kBackward);
  return candidate;
}

Candidate SearchSpace::crown() const {
  Candidate candidate = ibp();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    candidate[i] = decisions[i].find(Domain::kBackward);
  return candidate;
}

Candidate SearchSpace::alpha_crown() const {
  Candidate candidate = crown();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    if (decisions[i].head && decisions[i].has(Domain::kOptimised))
      candidate[i] = decisions[i].find(Domain::kOptimised);
  return candidate;
}

Candidate SearchSpace::tightest() const {
  Candidate candidate = ibp();
  for (std::size_t i = 0; i < decisions.size(); ++i)
    candidate[i] = static_cast<int>(decisions[i].options.size()) - 1;
  return candidate;
}

SearchSpace make_space(const Plan& plan) {
  SearchSpace space;
  const PerLayer<bool> needed = needed_for(plan, timed_heads(plan));
  for (const DomainChoice& choice : plan.domains) {
    if (choice.domain == Domain::kInterval || !needed[choice.layer]) continue;
    DomainChoice interval = choice;
    interval.domain = Domain::kInterval;
    interval.unstable_only = true;
    Decision decision{choice.layer, contains(timed_heads(plan), choice.layer), {interval, choice}};
    if (plan.config.method == Method::kAuto && has_slopes(plan, choice.layer)) {
      decision.options.push_back(choice);
      decision.options.back().domain = Domain::kOptimised;
    }
    space.decisions.push_back(std::move(decision));
  }
  if (!space.decisions.empty()) space.tiles = tile_options(plan);
  return space;
}

void apply(const SearchSpace& space, const Candidate& candidate, Plan& plan) {
  bool any_head = std::ranges::none_of(space.decisions, &Decision::head);
  for (std::size_t i = 0; i < space.decisions.size(); ++i) {
    const Decision& decision = space.decisions[i];
    const DomainChoice& taken = decision.options.at(static_cast<std::size_t>(candidate[i]));
    plan.domain(decision.layer) = taken;
    any_head = any_head || (decision.head && taken.domain != Domain::kInterval);
  }
  for (DomainChoice& choice : plan.domains) {
    if (!space.tiles.empty())
      choice.row_tile = space.tiles.at(static_cast<std::size_t>(candidate.back()));
    const bool searched = std::ranges::any_of(
        space.decisions, [&](const Decision& d) { return d.layer == choice.layer; });
    if (searched || any_head || choice.domain == Domain::kInterval) continue;
    choice.domain = Domain::kInterval;
    choice.reason = "as the rows that are asked for";
  }
}

void leave_out_optimised(SearchSpace& space, bool heads) {
  for (Decision& d : space.decisions)
    if (heads || !d.head)
      std::erase_if(d.options,
                    [](const DomainChoice& c) { return c.domain == Domain::kOptimised; });
}

}  // namespace bf_aot
