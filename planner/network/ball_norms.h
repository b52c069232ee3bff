#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// Norms of the map of a term with `out` outputs, whose exact weights are within `relative` of the
// stored ones.
BallNorms norms_of(const Term& term, int out, double relative);

// Bounds the norms of a dense layer's map.
BallNorms norms_of(const Layer& dense);

// The norms that take long to find, each found once for all plans that share them, as long as it is
// kept. Several threads may use it: one that asks for what another one is finding waits for that,
// and for nothing else.
class KnownNorms {
 public:
  // Maps and norms are kept of so many bytes; those that were asked for longest ago go first.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  explicit KnownNorms(std::size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}

  // These return what norms_of() does.
  BallNorms of(const Term& term, int out, double relative);
  BallNorms of(const Layer& dense);

  // The maps whose norms it keeps.
  std::size_t size() const;

 private:
  // All that norms_of() reads.
  struct Map {
    std::optional<ConvMap> conv;  // none: of a dense layer
    int in, out;
    double relative;
    std::vector<float> weight;
    bool operator==(const Map&) const = default;
  };
  struct Known {
    explicit Known(Map of) : map(std::move(of)) {}
    std::size_t bytes() const;

    const Map map;
    std::mutex mutex;
    std::optional<BallNorms> norms;  // under its mutex; none: they are not found yet
  };
  std::shared_ptr<Known> entry_of(Map map);
  template <class Find>
  BallNorms known(Map map, const Find& find);

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;                 // of what follows, and held for short times
  std::list<std::shared_ptr<Known>> known_;  // the one that was asked for last is first
  std::size_t bytes_ = 0;
};

// (pass) Bounds the norms of all affine layers' maps where the plan is of balls: BallNorms. Every
// number is proven, with its own roundings: docs/proofs/balls.md, "Norms". `shared`: what other
// plans of the network have found; or null.
void bound_norms(Plan& plan, KnownNorms* shared);

}  // namespace bf_aot
