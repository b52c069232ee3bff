#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "planner/verify/steps/verify_steps.h"

// Tables that rows make anew: the same steps as those that made them first, from the same numbers.
namespace bf_aot {
namespace {

int index_of(const Entry& entry, const BackwardRows& rows) {
  for (std::size_t i = 0; i < entry.steps.size(); ++i)
    if (std::get_if<BackwardRows>(&entry.steps[i]) == &rows) return static_cast<int>(i);
  BF_CHECK(!"rows of the entry");
  return -1;
}

// The step of the entry that a repeated one repeats.
int first_of(const Entry& entry, const Step& repeated) {
  for (std::size_t i = 0; i < entry.steps.size(); ++i)
    if (entry.steps[i].index() == repeated.index() &&
        layer_of(entry.steps[i]) == layer_of(repeated))
      return static_cast<int>(i);
  BF_CHECK(!"a step to repeat");
  return -1;
}

bool writes(const Step& step, BufferId id) {
  return std::ranges::count(access_of(step).writes, id) > 0;
}

// The step without its buffers, so that steps of equal meaning are equal.
Step bare(const Entry& entry, Step step) {
  rename_buffers(step, std::vector<BufferId>(entry.buffers.size(), BufferId::kNone));
  return step;
}

class Remake {
 public:
  Remake(const Plan& plan, const Entry& entry, const BackwardRows& rows, int op, Uses& uses)
      : plan_(plan), entry_(entry), rows_(index_of(entry, rows)), op_(op), uses_(uses) {}

  void follow(const RepeatedStep& repeated) {
    const Step step = widened(repeated);
    const int first = first_of(entry_, step);
    BF_CHECK(first < rows_);
    BF_CHECK(bare(entry_, step) == bare(entry_, entry_.step(first)));
    std::set<BufferId> reads, kept;
    for (const Use& use : uses_of(plan_, entry_, step)) {
      if (use.reads) {
        reads.insert(use.id);
        read(use, first);
      }
      if (!use.writes) continue;
      // The rule is that of an entry's steps: nothing is written over what is still read.
      BF_CHECK(use.reads || use.id == use.in_place_of ||
               (reads.count(use.id) == 0 && kept.count(use.id) == 0));
      BF_CHECK(stored_.count(use.id) == 0);
      kept.insert(use.id);
      const bool repeats = use.repeats && use.id == use.in_place_of;
      std::set<Role>& roles = made_[use.id].roles;
      if (!repeats) roles.clear();
      roles.insert(use.role);
      made_[use.id].layer = use.layer;
      uses_.scratch(use.id, use.element, use.count, op_);
    }
  }

  bool made(BufferId id, Role role, LayerId layer) const {
    const auto found = made_.find(id);
    return found != made_.end() && found->second.layer == layer &&
           found->second.roles.count(role) == 1;
  }

 private:
  struct Content {
    std::set<Role> roles;
    LayerId layer = -1;
  };

  // Checks that a repeated step reads the same numbers as the first one: made here, and there by
  // the same step alone; or stored, read by the first step too, and not changed since.
  void read(const Use& use, int first) {
    const Step& origin = entry_.step(first);
    if (made(use.id, use.role, use.layer)) {
      const bool bound = use.role == Role::kBelow || use.role == Role::kAbove;
      if (bound) BF_CHECK(!is_tightened(origin, use.role));
      return;
    }
    BF_CHECK(made_.count(use.id) == 0);
    bool same = false;
    for (const Use& other : uses_of(plan_, entry_, origin))
      same = same || (other.reads && other.id == use.id && other.role == use.role &&
                      other.layer == use.layer);
    BF_CHECK(same);
    for (int i = first; i < rows_; ++i) BF_CHECK(!writes(entry_.step(i), use.id));
    stored_.insert(use.id);
    uses_.read(use.id, use.role, use.layer, use.element, use.count);
  }

  // Returns true if more than the centre's step wrote the bounds that a relaxation read.
  bool is_tightened(const Step& origin, Role role) const {
    const auto& relax = std::get<Relax>(origin);
    const BufferId id = role == Role::kBelow ? relax.below : relax.above;
    int since = 0;  // writers after the last centre of this layer
    for (const Step& step : entry_.steps) {
      if (&step == &origin) break;
      if (!writes(step, id)) continue;
      const bool centre =
          std::holds_alternative<CentreAffine>(step) || std::holds_alternative<CentreSum>(step);
      since = centre && layer_of(step) == relax.layer ? 0 : since + 1;
    }
    return since > 0;
  }

  const Plan& plan_;
  const Entry& entry_;
  const int rows_;
  const int op_;
  Uses& uses_;
  std::map<BufferId, Content> made_;
  std::set<BufferId> stored_;
};

}  // namespace

void follow_remake(const Plan& plan, const Entry& entry, const BackwardRows& step,
                   const BackwardLink& link, int op, Uses& uses) {
  Remake remake(plan, entry, step, op, uses);
  for (const RepeatedStep& repeated : link.remake) remake.follow(repeated);
  BF_CHECK(remake.made(link.table, Role::kTable, link.layer));
}

}  // namespace bf_aot
