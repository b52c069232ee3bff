#pragma once

#include <cmath>
#include <initializer_list>
#include <vector>

#include "frontend/diagnostic.h"
#include "planner/verify/verify_entry.h"
#include "runtime/bf/contract/lists.h"

// Helpers that the checks of single steps share.
namespace bf_aot {

inline constexpr Element kFloat = Element::kFloat32;

inline const Layer& checked_layer(const Plan& plan, LayerId index) {
  BF_CHECK(plan.layers.has(index));
  return plan.layer(index);
}

inline const Kernel& kernel_at(const Plan& plan, KernelId id, KernelKind kind) {
  BF_CHECK(id >= 0 && static_cast<std::size_t>(id) < plan.kernels.size());
  const Kernel& kernel = plan.kernel(id);
  BF_CHECK(kernel.kind == kind);
  return kernel;
}

// A kernel for a map of `in` numbers to `out`.
inline const Kernel& kernel_of(const Plan& plan, KernelId id, KernelKind kind, int in, int out) {
  const Kernel& kernel = kernel_at(plan, id, kind);
  BF_CHECK(kernel.in == in && kernel.out == out);
  return kernel;
}

inline void check_error_terms(std::initializer_list<double> terms) {
  for (double term : terms) BF_CHECK(std::isfinite(term) && term >= 0);
}

// Collects uses. kNone is left out where it stands for the caller's arrays.
class Uses {
 public:
  void read(BufferId id, Role role, LayerId layer, Element element, std::int64_t count) {
    add(id, role, layer, element, count).reads = true;
  }
  void write(BufferId id, Role role, LayerId layer, Element element, std::int64_t count) {
    add(id, role, layer, element, count).writes = true;
  }
  void update(BufferId id, Role role, LayerId layer, Element element, std::int64_t count) {
    Use& use = add(id, role, layer, element, count);
    use.reads = use.writes = true;
  }
  void scratch(BufferId id, Element element, std::int64_t count, int op = -1) {
    Use& use = add(id, Role::kScratch, -1, element, count);
    use.writes = true;
    use.op = op;
  }
  // A write whose element i comes after the last read of element i of `from`, and of no other.
  void overwrite(BufferId id, BufferId from, Role role, LayerId layer, Element element,
                 std::int64_t count) {
    Use& use = add(id, role, layer, element, count);
    use.writes = true;
    use.in_place_of = from;
  }

  // A write of the numbers that `from` holds, element by element: both may be read.
  void repeat(BufferId id, BufferId from, Role role, LayerId layer, Element element,
              std::int64_t count) {
    overwrite(id, from, role, layer, element, count);
    list.back().repeats = true;
  }

  std::vector<Use> list;

 private:
  Use& add(BufferId id, Role role, LayerId layer, Element element, std::int64_t count) {
    BF_CHECK(id != BufferId::kNone);
    return list.emplace_back(
        Use{.id = id, .role = role, .layer = layer, .element = element, .count = count});
  }
};

// The list of a layer's live neurons, where a step reads it: kNone, or the layer's.
inline void read_live(const Plan& plan, BufferId id, LayerId layer, Uses& uses) {
  if (id == BufferId::kNone) return;
  BF_CHECK(checked_layer(plan, layer).relu);
  uses.read(id, Role::kLiveList, layer, Element::kInt32,
            bf::live_list_size(checked_layer(plan, layer).out));
}

// See verify_rows.cpp.
std::vector<Use> uses_of_rows(const Plan& plan, const Entry& entry, const BackwardRows& step);

// See verify_remake.cpp: the steps of BackwardLink::remake make the table that the layer's own
// relaxation made. `op`: of the link. Adds their uses.
void follow_remake(const Plan& plan, const Entry& entry, const BackwardRows& step,
                   const BackwardLink& link, int op, Uses& uses);

// See verify_live.cpp: numbers of the list of a layer's live channels, and whether a link and
// what it passes on to have coefficients where they are read.
std::int64_t live_list(const Layer& layer);

// Returns true if the tensor is no head, and one term of one layer reads it.
bool read_by_one(const Plan& plan, LayerId tensor);
void check_live(const Plan& plan, const BackwardRows& step, const BackwardLink& link);

// See verify_windows.cpp.
void check_windows(const Plan& plan, const BackwardRows& step);

}  // namespace bf_aot
