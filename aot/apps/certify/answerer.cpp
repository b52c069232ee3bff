#include "aot/apps/certify/answerer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "aot/apps/certify/question.h"
#include "aot/apps/certify/value_of.h"
#include "aot/apps/certify/watched.h"
#include "aot/input/directed.h"
#include "aot/system/interrupt.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

// The inputs whose slopes are asked for: those that outputs rise with, then the others.
std::vector<std::size_t> inputs_of(const SlopeQuestion& slopes) {
  std::vector<std::size_t> inputs = slopes.rising;
  inputs.insert(inputs.end(), slopes.falling.begin(), slopes.falling.end());
  return inputs;
}

// Rows for the outputs of a derivative, input by input: they select slopes of the outputs, or of
// the rows C y, with a minus sign where these are to fall.
LinearSpec slope_rows(const SlopeQuestion& slopes, const std::optional<LinearSpec>& asked,
                      std::size_t outputs) {
  LinearSpec own;
  for (std::size_t j = 0; j < outputs && !asked; ++j) own.rows.emplace_back(outputs, 0.0)[j] = 1;
  const std::size_t inputs = slopes.rising.size() + slopes.falling.size();
  LinearSpec rows;
  for (std::size_t k = 0; k < inputs; ++k)
    for (const std::vector<double>& row : (asked ? *asked : own).rows) {
      const double sign = k < slopes.rising.size() ? 1 : -1;
      std::vector<double>& made = rows.rows.emplace_back(inputs * outputs, 0.0);
      for (std::size_t j = 0; j < outputs; ++j) made[k * outputs + j] = sign * row[j];
    }
  return rows;
}

// Throws: BF3015, BF2007.
void check_rows(const LinearSpec& spec, std::size_t outputs) {
  if (!spec.row_error.empty() || !spec.offset_error.empty())
    fail("BF3015", "--rows", "a number of the rows is no double",
         "write numbers that are sums of powers of two, or scale the rows");
  if (!spec.rows.empty() && spec.rows[0].size() != outputs)
    fail("BF2007", "--rows",
         fmt::format("a row has {} coefficients, the model has {} outputs", spec.rows[0].size(),
                     outputs));
}

api::Specification specification_of(const LinearSpec& spec) {
  api::Specification specification;
  for (const std::vector<double>& row : spec.rows)
    specification.rows.insert(specification.rows.end(), row.begin(), row.end());
  specification.offsets = spec.offset;
  return specification;
}

}  // namespace

Answerer::Answerer(const api::Model& model, const CertifyQuestion& question, const Samples& samples)
    : question_(question), samples_(samples), outputs_(model.output_count()) {
  if (question.rows) check_rows(*question.rows, outputs_);
  if (question.slopes || question.rows || question.within) {
    make_verifier(model);
    return;
  }
  const input::Dataset& data = samples.data();
  expect_labels(data);
  if (!question.disturbances.empty())
    disturber_ =
        value_of(api::DisturbanceCertifier::make(model, disturb_options(model, question, data)));
  else
    certifier_ = value_of(api::Certifier::make(model, options_of(question)));
  labels_ = classes_of(data, outputs_);
}

void Answerer::make_verifier(const api::Model& model) {
  const api::Options& bounds = question_.options.bounds;
  if (question_.slopes) {
    rows_ = slope_rows(*question_.slopes, question_.rows, outputs_);
    const api::Model slopes = value_of(model.derivative(inputs_of(*question_.slopes)));
    verifier_ = value_of(api::Verifier::make(slopes, bounds, specification_of(rows_)));
  } else if (question_.rows) {
    rows_ = *question_.rows;
    verifier_ = value_of(api::Verifier::make(model, bounds, specification_of(rows_)));
  } else {
    const input::Dataset& data = samples_.data();
    if (data.labels.empty())
      fail("BF3016", data.where, "there are no labels", "give --labels FILE");
    verifier_ = value_of(api::Verifier::make(model, bounds));
  }
}

api::Explanation Answerer::explain(const Boxes& box, std::size_t sample) const {
  return value_of(certifier_->explain(box.view(), labels_[sample]));
}

std::vector<std::size_t> Answerer::labels_of(const std::vector<std::size_t>& indices) const {
  std::vector<std::size_t> labels;
  for (const std::size_t i : indices) labels.push_back(labels_[i]);
  return labels;
}

std::vector<SampleResult> Answerer::certify(const Boxes& boxes,
                                            const std::vector<std::size_t>& indices,
                                            std::size_t radius, double seconds) const {
  std::vector<SampleResult> results = certifier_         ? classes(boxes, indices, seconds)
                                      : disturber_       ? disturbed(indices)
                                      : question_.within ? within(boxes, indices)
                                      : question_.slopes ? slopes(boxes, indices)
                                                         : rows(boxes, indices);
  for (std::size_t k = 0; k < indices.size(); ++k) {
    results[k].radius = radius;
    results[k].sample = indices[k];
  }
  return results;
}

std::vector<SampleResult> Answerer::classes(const Boxes& boxes,
                                            const std::vector<std::size_t>& indices,
                                            double seconds) const {
  api::CertifyCall call;
  call.timeout_seconds = seconds;
  std::vector<SampleResult> results(indices.size());
  const auto found = value_of(certifier_->certify(boxes.view(), labels_of(indices), call));
  for (std::size_t k = 0; k < found.size(); ++k) take(results[k], found[k]);
  return results;
}

std::vector<SampleResult> Answerer::disturbed(const std::vector<std::size_t>& indices) const {
  std::vector<double> pictures;
  for (const std::size_t i : indices) {
    const std::span<const double> picture = samples_.values(i);
    pictures.insert(pictures.end(), picture.begin(), picture.end());
  }
  const auto found = value_of(disturb_watched(*disturber_, pictures, labels_of(indices)));
  system::throw_if_interrupted();
  std::vector<SampleResult> results(found.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    results[k].robustness = found[k].robustness;
    results[k].answer = found[k].answer;
    results[k].rival = found[k].rival;
    results[k].margin = static_cast<double>(found[k].margin);
    results[k].counterexample = found[k].counterexample;
    results[k].parameters = found[k].parameters;
  }
  return results;
}

std::vector<float> Answerer::evaluate(const Boxes& boxes, std::size_t k) const {
  const std::size_t inputs = verifier_->input_count();
  return value_of(verifier_->evaluate(std::span(boxes.samples).subspan(k * inputs, inputs)));
}

// Certifies that every output stays within the distance of the label; the margin is what is left
// of it.
std::vector<SampleResult> Answerer::within(const Boxes& boxes,
                                           const std::vector<std::size_t>& indices) const {
  const api::Bounds bounds = value_of(verifier_->bounds(boxes.lower, boxes.upper));
  std::vector<SampleResult> results(indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    SampleResult& result = results[k];
    const double label = samples_.data().labels[indices[k]];
    const double distance = question_.within->below;
    const double least = input::sum(label, -distance, true);
    const double most = input::sum(label, distance, false);
    result.margin = std::numeric_limits<double>::infinity();
    bool inside = true, right = true;
    const std::vector<float> y = evaluate(boxes, k);
    for (std::size_t j = 0; j < bounds.rows; ++j) {
      const auto lower = static_cast<double>(bounds.lower[k * bounds.rows + j]);
      const auto upper = static_cast<double>(bounds.upper[k * bounds.rows + j]);
      const auto value = static_cast<double>(y[j]);
      inside = inside && lower >= least && upper <= most;
      right = right && value >= least && value <= most;
      result.margin = std::min({result.margin, lower - least, most - upper});
      result.lower.push_back(lower);
      result.upper.push_back(upper);
    }
    result.robustness = inside  ? api::Robustness::kCertified
                        : right ? api::Robustness::kUnknown
                                : api::Robustness::kWrong;
  }
  return results;
}

// Certifies that every row is positive; the margin is the least lower bound.
std::vector<SampleResult> Answerer::rows(const Boxes& boxes,
                                         const std::vector<std::size_t>& indices) const {
  std::vector<SampleResult> results = least_rows(boxes, indices.size());
  for (std::size_t k = 0; k < indices.size(); ++k) {
    bool right = true;
    const std::vector<float> y = evaluate(boxes, k);
    for (std::size_t j = 0; j < rows_.rows.size(); ++j) {
      double value = rows_.offset.empty() ? 0 : -rows_.offset[j];
      for (std::size_t i = 0; i < y.size(); ++i)
        value += rows_.rows[j][i] * static_cast<double>(y[i]);
      right = right && value > 0;
    }
    results[k].robustness = results[k].margin > 0 ? api::Robustness::kCertified
                            : right               ? api::Robustness::kUnknown
                                                  : api::Robustness::kWrong;
  }
  return results;
}

// Every slope is at least as steep as asked for; the margin is the least lower bound. Wrong is a
// sample beside which a slope is proven to be less. A slope that is evaluated at a kink says
// nothing.
std::vector<SampleResult> Answerer::slopes(const Boxes& boxes,
                                           const std::vector<std::size_t>& indices) const {
  const double least = question_.slopes->least.above;
  std::vector<SampleResult> results = least_rows(boxes, indices.size());
  std::vector<float> lower = boxes.samples, upper = boxes.samples;
  for (float& x : lower) x = std::nextafter(x, -std::numeric_limits<float>::infinity());
  for (float& x : upper) x = std::nextafter(x, std::numeric_limits<float>::infinity());
  const api::Bounds beside = value_of(verifier_->spec_bounds(lower, upper));
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const auto first = beside.upper.begin() + static_cast<std::ptrdiff_t>(k * beside.rows);
    const double most = static_cast<double>(
        *std::min_element(first, first + static_cast<std::ptrdiff_t>(beside.rows)));
    results[k].robustness = results[k].margin >= least             ? api::Robustness::kCertified
                            : most < question_.slopes->least.below ? api::Robustness::kWrong
                                                                   : api::Robustness::kUnknown;
  }
  return results;
}

// The least lower bound of the rows on each of `count` boxes, with the number of its row.
std::vector<SampleResult> Answerer::least_rows(const Boxes& boxes, std::size_t count) const {
  const api::Bounds bounds = value_of(verifier_->spec_bounds(boxes.lower, boxes.upper));
  std::vector<SampleResult> results(count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto first = bounds.lower.begin() + static_cast<std::ptrdiff_t>(k * bounds.rows);
    const auto least = std::min_element(first, first + static_cast<std::ptrdiff_t>(bounds.rows));
    results[k].margin = static_cast<double>(*least);
    results[k].rival = static_cast<std::size_t>(least - first);
  }
  return results;
}

}  // namespace bf_aot::apps
