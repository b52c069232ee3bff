#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/plan/plan.h"

namespace bf_aot {

// Norms of the map of a term with `out` outputs, whose exact weights are within `relative` of the
// stored ones.
BallNorms norms_of(const Term& term, int out, double relative);

// Bounds the norms of a dense layer's map.
BallNorms norms_of(const Layer& dense);

// The norms that take long to find, each found once for all plans that share them. Several threads
// may use it.
class KnownNorms {
 public:
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
    Map map;
    BallNorms norms;
  };
  template <class Find>
  BallNorms known(Map map, const Find& find);

  mutable std::mutex mutex_;
  std::vector<Known> known_;
};

// (pass) Bounds the norms of all affine layers' maps where the plan is of balls: BallNorms. Every
// number is proven, with its own roundings: docs/proofs/balls.md, "Norms". `shared`: what other
// plans of the network have found; or null.
void bound_norms(Plan& plan, KnownNorms* shared);

}  // namespace bf_aot
