#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/boxes/ball_part.h"
#include "aot/decide/boxes/box_device.h"
#include "aot/decide/boxes/exact_boxes.h"
#include "aot/decide/property/cases.h"
#include "aot/decide/search/split_search.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/property/property.h"
#include "planner/plan/plan_fwd.h"

namespace bf_aot::decide {

// The boxes of a round; fills the lanes of every target several times.
constexpr int kBranchBatch = 64;

// Splits the boxes of the property's cases; root k is case k. Where the question is about balls in
// them, parts that a ball has in common with a box are bounded. See
// docs/proofs/branch-and-bound.md. Workers throw BF3306 when the verifier refuses a box.
class BoxSearch final : public SplitSearch {
 public:
  // The verifier runs the plan, which was made with `decide` and a batch, for boxes. The thread
  // that calls run() uses it; each of at most threads - 1 others uses a twin of it. device: bounds
  // the boxes once it is ready, with twins for all threads; until then, and where it is null, the
  // verifier does. All arguments must outlive this.
  BoxSearch(const engine::HostVerifier& verifier, const Plan& plan, const Cases& cases,
            std::size_t threads, AwaitedDevice* device = nullptr);
  ~BoxSearch() override;

  std::optional<SplitRule> rule() const override;
  std::optional<HeldOut> held_out(double seconds) override;
  DecisionPhase phase() const override { return DecisionPhase::kBoxes; }
  std::string identity() override;
  const char* fault_of(const tree::Node& node) override;

 private:
  std::unique_ptr<tree::TreeWorker> make_worker(std::size_t thread) override;
  std::size_t case_of(std::uint32_t root) const override { return root; }
  bool prepare(std::uint32_t) override { return true; }

  const engine::HostVerifier& verifier_;
  const Plan& plan_;
  AwaitedDevice* const device_;
  const std::optional<ExactBoxes> exact_;
  const std::vector<BallPart> balls_;  // by case; empty: the question is about boxes
  std::vector<std::unique_ptr<const engine::HostVerifier>> twins_;  // by thread, without the first
};

}  // namespace bf_aot::decide
