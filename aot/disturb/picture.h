#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "aot/disturb/disturbance.h"
#include "aot/input/dataset.h"
#include "runtime/bf/loops/range.h"

// Disturbed pictures for parameters in ranges. Proof: docs/proofs/disturbances.md.

namespace bf_aot::disturb {

using bf::loops::Range;

// A function on ranges of the parameters: a part with derivatives, and one that is at most `error`.
// `value` holds the values of the function, and those of the first part. `slope` holds the
// derivatives of the first part by each parameter: where it has kinks, of those on all sides.
struct Dual {
  Range value;
  std::array<Range, kMostParameters> slope = {};
  double error = 0;
};

// The picture's elements as inputs of the model, (v - mean) / deviation. `parameters`: ranges of
// those that are no places, in order, of which there are `count`.
class PictureMaker {
 public:
  // Requires: numbers of the normalisation are alive as long as this. channel: of each element, the
  // index of its mean and deviation.
  PictureMaker(std::vector<Parameter> parameters, const Picture& picture,
               const input::Normalisation& normalisation, std::vector<std::size_t> channel);

  // Elements of a picture as it is stored, scaled.
  std::vector<Range> scaled(std::span<const double> stored) const;

  // The disturbed picture with its derivatives. picture: scaled.
  std::vector<Dual> disturbed(std::span<const Range> picture, std::span<const Range> at) const;
  // Returns its values, without derivatives.
  std::vector<Range> values(std::span<const Range> picture, std::span<const Range> at) const;

  // A number as input i.
  Range normalised(const Range& value, std::size_t i) const;
  // Returns what a square has in place of the picture: 0, or the range of valid numbers.
  Range cover(Kind kind) const;

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Picture& picture() const { return picture_; }
  std::size_t ranges() const { return ranges_; }  // how many parameters are no places

 private:
  std::vector<Dual> make(std::span<const Range> picture, std::span<const Range> at,
                         std::size_t slopes) const;

  std::vector<Parameter> parameters_;
  Picture picture_;
  input::Normalisation normalisation_;
  std::vector<std::size_t> channel_;
  std::size_t ranges_ = 0;
};

}  // namespace bf_aot::disturb
