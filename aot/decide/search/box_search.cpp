#include "aot/decide/search/box_search.h"

#include <algorithm>
#include <bit>

#include "aot/decide/boxes/box_node.h"
#include "aot/decide/boxes/box_worker.h"
#include "aot/decide/search/held_out.h"
#include "frontend/sha256.h"
#include "planner/entries/keep_coefficients.h"
#include "planner/plan/plan.h"
#include "planner/split_neurons.h"

namespace bf_aot::decide {
namespace {

std::vector<BallPart> balls_of(const Cases& cases) {
  std::vector<BallPart> balls;
  for (std::size_t i = 0; cases.norm() != Norm::kLargest && i < cases.count(); ++i)
    balls.emplace_back(cases.norm(), cases.box(i));
  return balls;
}

}  // namespace

BoxSearch::BoxSearch(const engine::HostVerifier& verifier, const Plan& plan, const Cases& cases,
                     std::size_t threads, AwaitedDevice* device)
    : SplitSearch(cases, case_states(cases.boxes(), static_cast<std::size_t>(plan.input_count)),
                  threads),
      verifier_(verifier),
      plan_(plan),
      device_(device),
      exact_(ExactBoxes::make(cases.property(), plan)),
      balls_(balls_of(cases)),
      twins_(threads) {}

BoxSearch::~BoxSearch() = default;

std::unique_ptr<tree::TreeWorker> BoxSearch::make_worker(std::size_t thread) {
  const engine::HostVerifier* own = &verifier_;
  if (thread > 0) own = (twins_[thread] = verifier_.twin()).get();
  return make_box_worker(
      {plan_, cases().tables(), cases().boxes(), exact_ ? &*exact_ : nullptr, balls_}, *own, thread,
      device_);
}

std::optional<SplitRule> BoxSearch::rule() const {
  const bool there = device_ != nullptr && device_->bounded() > 0;
  return keeps_coefficients(there ? *device_->get()->plan : plan_) ? SplitRule::kLines
                                                                   : SplitRule::kWeights;
}

// The largest open boxes: which of all lacks most is not known without bounding them.
std::optional<HeldOut> BoxSearch::held_out(double seconds) {
  constexpr std::size_t kMost = 16;
  std::vector<const tree::Node*> nodes;
  for (const tree::Node& node : state.open) nodes.push_back(&node);
  std::ranges::stable_sort(nodes, {}, &tree::Node::depth);
  nodes.resize(std::min(nodes.size(), kMost));
  const auto inputs = static_cast<std::size_t>(plan_.input_count);
  std::vector<OpenBox> boxes;
  for (const tree::Node* const node : nodes) {
    OpenBox& made = boxes.emplace_back();
    made.property_case = node->root;
    made.splits = node->depth;
    made.box = {std::vector<float>(inputs), std::vector<float>(inputs)};
    read_box(*node, inputs, made.box.lower.data(), made.box.upper.data());
  }
  return most_lacking(plan_, verifier_, cases(), boxes, phase(), seconds);
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
