#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot/decide/boxes/box_device.h"
#include "aot/decide/property/methods.h"

namespace bf_aot::decide {

// The verifiers of one decision: of one method after the other, and one of its own where neurons
// are split.
class DecisionVerifiers {
 public:
  using Make = std::function<DecisionVerifier(const DecisionMethod&)>;

  using MakeDevice = std::function<std::unique_ptr<AwaitedDevice>(const DecisionMethod&)>;

  // make_device: null where there is no device.
  DecisionVerifiers(const DecisionSettings& settings, Make make, MakeDevice make_device)
      : settings_(settings), make_(std::move(make)), make_device_(std::move(make_device)) {}

  // The verifier of the last method that make() was called with. Another call replaces it.
  const DecisionVerifier& last() const { return last_; }
  void make(const DecisionMethod& method);
  // Keeps the ranges of a case that the last verifier left open.
  void leave(std::optional<CaseRanges> ranges) { last_.left = std::move(ranges); }

  // Returns true if rows of the last method's plan pass layers whose lines they could choose: else
  // alpha-crown gives the same bounds.
  bool can_choose_lines() const;

  // Predicts that optimising the rows of all layers ends in time: it takes as long as optimising
  // the outputs' rows, times how many more tiles hidden layers have. That is an overestimate, since
  // their rows pass fewer layers, and stable neurons have no rows. By the cost model, since a clock
  // would choose another way on a machine that is busy.
  bool has_time_for_all(std::size_t open_cases) const;

  // Whether there are neurons to split, as far as the last method's plan says.
  bool may_split_neurons() const;

  // The verifier whose neurons are split. It is the last method's, or one of its own where that one
  // has maxima, which are split as ReLUs, or split boxes: intervals of neurons are worth optimised
  // slopes, which bounds of boxes are not. Its plan has none to split where the pass that writes
  // maxima as ReLUs is left out.
  const DecisionVerifier& of_neurons(bool of_boxes);

  const DecisionMethod& last_method() const { return last_method_; }

  // The verifier whose boxes are split where the question is about balls: it bounds boxes; and its
  // method.
  const DecisionVerifier& of_boxes();
  DecisionMethod method_of_boxes() const;

  // Begins to make the device that bounds boxes by a method, once; null: there is none, or it has
  // no such method.
  AwaitedDevice* device_of(DecisionMethod method);
  // Throws what keeps a device from being ready, as far as that is known.
  void check_devices();

  std::vector<DecisionMethod> methods() const;  // that were made
  double seconds() const { return seconds_; }   // that making them took

 private:
  void make_of_neurons(DecisionMethod& method);

  const DecisionSettings& settings_;
  const Make make_;
  const MakeDevice make_device_;
  // Each has the number of its method in methods_.
  std::map<std::size_t, std::unique_ptr<AwaitedDevice>> devices_;
  DecisionVerifier last_, of_neurons_, of_boxes_;
  DecisionMethod last_method_;
  std::vector<DecisionMethod> methods_;
  double seconds_ = 0;
};

}  // namespace bf_aot::decide
