#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/engine/verifier/verifier.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"
#include "planner/plan/config.h"

namespace bf_aot::decide {

class Sampler;

// An input that provably violates a property.
struct Witness {
  std::size_t property_case = 0, clause = 0;
  std::vector<mpq_class> x;   // in the case's exact box
  std::vector<double> point;  // the point that prove() made x of
  std::vector<double> y;      // the outputs there, rounded
  bool rational = false;      // proven in rational arithmetic; else in double with error bounds
  bool emitted = false;       // y is what NAME_evaluate makes of x, and violates
  // Names the disturbances' parameters, with the doubles next to them; x then comes near the
  // picture.
  std::vector<std::pair<std::string, double>> parameters = {};
};

// Proves that an input of a case violates the property; none where that fails.
using PointCheck =
    std::function<std::optional<Witness>(std::size_t property_case, const std::vector<double>& x)>;

// The inputs x as every answer prints them, see vnnlib::exact_text(). Each text is read again and
// compared with its number, so that the printed input is the one whose violation is proven.
std::vector<std::string> input_texts(const Witness& witness);

// network.ordered(), a classifier without its final Softmax, where the property only compares
// outputs with each other, in real arithmetic; else none.
std::optional<Sampler> ordered_network(const Sampler& network, const Property& property, bool real);

// Proves counterexamples on the network as it was imported, in arithmetic that counts every
// rounding: independent of the compiled verifier and of the passes. For a network in float32 the
// point consists of float32 numbers, and every evaluation there violates the property. With
// use_evaluation() (float32-exact) it is the verifier's own evaluation that violates it.
class WitnessCheck {
 public:
  // ordered: what ordered_network() gave, or null. Points are judged by its outputs, since those of
  // a Softmax may be too near to each other, or have no exact values.
  WitnessCheck(const Property& property, const Sampler& network, const Sampler* ordered = nullptr)
      : property_(property), network_(network), judged_(ordered != nullptr ? *ordered : network) {}

  // Judges points by `own`, whose NAME_evaluate they are given to (float32-exact), instead of by
  // exact arithmetic; null switches back. Not owned.
  void use_evaluation(const engine::HostVerifier* own) { own_ = own; }

  // Lets points hold the free inputs alone; `fixed` adds the others. Not owned.
  void place_by(const FixedInputs* fixed) { fixed_ = fixed; }

  // Proves points of the balls in the boxes alone.
  void keep_in_balls(Norm norm) { norm_ = norm; }

  // Proves points of a box of all inputs alone, which holds the centres of the balls; null: of any.
  // Not owned.
  void keep_in_range(const Box* range) { range_ = range; }

  // A proof that the point of the case's exact box next to `point` satisfies one of its clauses, or
  // one that was moved from there to where the clause's conditions on inputs hold; none where the
  // proof fails.
  std::optional<Witness> prove(std::size_t index, const std::vector<double>& point) const;

  // Returns whether no clause of the case holds at the point, proven as prove() proves that one
  // does. Not with use_evaluation().
  bool refutes(std::size_t index, const std::vector<double>& point) const;

  // A witness of the same case whose inputs are doubles of few bits, so that their decimals are
  // short, where the box has room for them and the proof succeeds there, too; else the witness
  // itself. Evaluates at most twice.
  Witness shortened(const Witness& witness) const;

 private:
  const Property& property_;
  const FixedInputs* fixed_ = nullptr;
  Norm norm_ = Norm::kLargest;
  const Box* range_ = nullptr;
  std::optional<Witness> prove_whole(std::size_t index, const std::vector<double>& point,
                                     bool rationally) const;
  std::optional<Witness> prove_at(std::size_t index, std::vector<mpq_class> x,
                                  bool rationally) const;
  std::optional<Witness> prove_near(std::size_t index, std::vector<mpq_class> x,
                                    bool rationally) const;
  bool is_in_range(const std::vector<mpq_class>& x) const;
  std::optional<std::vector<mpq_class>> unrounded_outputs(const std::vector<mpq_class>& x) const;
  std::optional<Witness> prove_by_evaluation(std::size_t index, std::vector<mpq_class> x) const;

  const Sampler& network_;
  const Sampler& judged_;
  const engine::HostVerifier* own_ = nullptr;
};

}  // namespace bf_aot::decide
