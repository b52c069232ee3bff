#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/property/sample.h"
#include "aot/engine/verifier/verifier.h"
#include "frontend/property/fixed_inputs.h"
#include "frontend/property/property.h"

namespace bf_aot::decide {

// An input that provably violates a property.
struct Witness {
  std::size_t property_case = 0, clause = 0;
  std::vector<mpq_class> x;   // in the case's exact box
  std::vector<double> point;  // that prove() makes x of
  std::vector<double> y;      // the outputs there, rounded
  bool rational = false;      // proven in rational arithmetic; else in double with error bounds
  bool emitted = false;       // y is what NAME_evaluate makes of x, and violates
};

// x as every answer prints it, see vnnlib::exact_text(). Each text is read again and compared with
// its number: what is printed is the input whose violation is proven.
std::vector<std::string> input_texts(const Witness& witness);

// network.ordered(), where the property is about the order of outputs alone, and of real
// arithmetic: of a classifier what its Softmax is of.
std::optional<Sampler> ordered_network(const Sampler& network, const Property& property, bool real);

// Proves counterexamples on the network as it was imported, in arithmetic that counts every
// rounding: independent of the compiled verifier and of the passes. Of a network in float32 the
// point is one of float32 numbers, and every evaluation there violates the property. Of what a
// verifier's own evaluation makes of the network (float32-exact) that evaluation violates it.
class WitnessCheck {
 public:
  // ordered: of ordered_network(), or null. Points are judged by its outputs: those of a Softmax
  // may be too near to each other, or have no exact values.
  WitnessCheck(const Property& property, const Sampler& network, const Sampler* ordered = nullptr)
      : property_(property), network_(network), judged_(ordered != nullptr ? *ordered : network) {}

  // From now on points are evaluated so, until null. Not owned.
  void use_evaluation(const engine::HostVerifier* own) { own_ = own; }

  // From now on points may be of the free inputs alone. Not owned.
  void place_by(const FixedInputs* fixed) { fixed_ = fixed; }

  // A proof that the point of the case's exact box next to `point` satisfies one of its clauses.
  std::optional<Witness> prove(std::size_t index, const std::vector<double>& point) const;

  // The same case violated by doubles of few bits, whose decimals are short, where the box has room
  // for them and the proof succeeds there, too; else the witness itself. At most two evaluations.
  Witness shortened(const Witness& witness) const;

 private:
  const Property& property_;
  const FixedInputs* fixed_ = nullptr;
  std::optional<Witness> prove_whole(std::size_t index, const std::vector<double>& point,
                                     bool rationally) const;
  std::optional<Witness> prove_at(std::size_t index, std::vector<mpq_class> x,
                                  bool rationally) const;
  std::optional<Witness> prove_by_evaluation(std::size_t index,
                                             const std::vector<double>& point) const;

  const Sampler& network_;
  const Sampler& judged_;
  const engine::HostVerifier* own_ = nullptr;
};

}  // namespace bf_aot::decide
