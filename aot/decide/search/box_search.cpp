#include "aot/decide/search/box_search.h"

#include <algorithm>
#include <bit>

#include "aot/decide/boxes/box_node.h"
#include "aot/decide/boxes/box_worker.h"
#include "frontend/sha256.h"
#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {

BoxSearch::BoxSearch(const engine::HostVerifier& verifier, const Plan& plan, const Cases& cases,
                     std::size_t threads)
    : SplitSearch(cases, case_states(cases.boxes(), static_cast<std::size_t>(plan.input_count)),
                  threads),
      verifier_(verifier),
      plan_(plan),
      exact_(ExactBoxes::make(cases.property(), plan)),
      twins_(threads) {}

BoxSearch::~BoxSearch() = default;

std::unique_ptr<tree::TreeWorker> BoxSearch::make_worker(std::size_t thread) {
  const engine::HostVerifier* own = &verifier_;
  if (thread > 0) own = (twins_[thread] = verifier_.twin()).get();
  return make_box_worker({plan_, cases().tables(), cases().boxes(), exact_ ? &*exact_ : nullptr},
                         *own, thread);
}

// The states of boxes speak of inputs alone. Sums of all weights tell networks apart, also where
// their numbers lie in a file of their own.
std::string BoxSearch::identity() {
  std::string bytes = "boxes";
  for (const float weight : plan_.split_weights)
    for (int i = 0; i < 4; ++i)
      bytes.push_back(static_cast<char>(std::bit_cast<std::uint32_t>(weight) >> (8 * i)));
  return sha256(bytes);
}

const char* BoxSearch::fault_of(const tree::Node& node) {
  return box_fault(node, cases().boxes(), static_cast<std::size_t>(plan_.input_count));
}

}  // namespace bf_aot::decide
