#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "frontend/diagnostic.h"
#include "planner/verify/verify_entry.h"
#include "planner/verify/verify_layer.h"

// Tiles of rows that workers share: what one writes, no other touches. Tiles are of neurons of
// their own, so that bounds, which are tightened one by one, are written by one tile each.
namespace bf_aot {
namespace {

class WorkersCheck {
 public:
  WorkersCheck(const Plan& plan, const Entry& entry) : plan_(plan), entry_(entry) {}

  void run() const {
    require(entry_.workers >= 1 && entry_.workers <= plan_.config.workers, "{} workers of {}",
            entry_.workers, plan_.config.workers);
    const bool own = std::ranges::any_of(entry_.buffers, &Buffer::per_worker);
    require(own == (entry_.workers > 1), "{} workers, and {} has parts of its own", entry_.workers,
            own ? "each" : "none");
    if (entry_.workers == 1) return require(entry_.worker_storage == StorageTotals{}, "a part");
    require(entry_.kind == EntryKind::kBounds || entry_.kind == EntryKind::kSpecBounds,
            "workers share rows of calls that keep something, or of several boxes");
    for (const Buffer& buffer : entry_.buffers)
      require(!buffer.per_worker || buffer.scope == CacheScope::kRun,
              "'{}' is a worker's own, and kept", buffer.name);
    for (int i = 0; i < static_cast<int>(entry_.steps.size()); ++i) {
      const CheckScope scope(describe_step(plan_, entry_, i));
      const Step& step = entry_.step(i);
      const auto* const rows = std::get_if<BackwardRows>(&step);
      rows != nullptr ? check_rows(step, *rows) : check_step(step);
    }
  }

 private:
  bool own(BufferId id) const { return entry_.buffer(id).per_worker; }

  void check_step(const Step& step) const {
    for (const Use& use : uses_of(plan_, entry_, step))
      require(!own(use.id), "{} touches '{}', of which each worker has its own", step_name(step),
              entry_.buffer(use.id).name);
  }

  // Scratch of tiles is a worker's; what else a tile touches it reads, but for the bounds that it
  // tightens, which no other op of a tile reads.
  void check_rows(const Step& step, const BackwardRows& rows) const {
    for (const Use& use : uses_of(plan_, entry_, step)) {
      const std::string& name = entry_.buffer(use.id).name;
      const bool tightened = use.id == rows.below || use.id == rows.above;
      if (use.role == Role::kScratch && use.id != rows.neurons)
        require(own(use.id), "tiles write '{}', which workers share", name);
      else
        require(!own(use.id), "tiles read '{}', of which each worker has its own", name);
      require(!use.writes || use.role == Role::kScratch || (tightened && use.layer == rows.layer),
              "tiles write '{}', which workers share", name);
      require(!tightened || use.writes, "tiles read '{}' while others tighten it", name);
    }
  }

  const Plan& plan_;
  const Entry& entry_;
};

}  // namespace

void verify_workers(const Plan& plan, const Entry& entry) {
  WorkersCheck(plan, entry).run();
}

}  // namespace bf_aot
