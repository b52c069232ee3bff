#include "aot/apps/certify/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "aot/input/balls.h"
#include "frontend/diagnostic.h"

namespace bf_aot::apps {
namespace {

void keep_part(std::vector<double>& values, std::size_t size, std::size_t first,
               std::size_t count) {
  if (values.empty()) return;
  values =
      std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(first * size),
                          values.begin() + static_cast<std::ptrdiff_t>((first + count) * size));
}

void select(input::Dataset& data, std::size_t first, std::size_t count) {
  if (first >= data.count())
    fail("BF3013", "--first", fmt::format("{} is beyond the {} samples", first, data.count()));
  count = count == 0 ? data.count() - first : std::min(count, data.count() - first);
  const std::size_t size = data.size();
  keep_part(data.values, size, first, count);
  keep_part(data.lower, size, first, count);
  keep_part(data.upper, size, first, count);
  keep_part(data.labels, 1, first, count);
  data.names =
      std::vector<std::string>(data.names.begin() + static_cast<std::ptrdiff_t>(first),
                               data.names.begin() + static_cast<std::ptrdiff_t>(first + count));
}

std::string sample_place(const input::Dataset& data, std::size_t index) {
  return fmt::format("{}, sample {}", data.where, data.names[index]);
}

}  // namespace

input::Dataset read_samples(const CertifyQuestion& question) {
  input::Dataset data = input::read_dataset(question.files);
  select(data, question.first, question.count);
  if (question.channels_last) data.channels_last = true;
  if (question.channels_first) data.channels_last = false;
  return data;
}

void expect_labels(const input::Dataset& data) {
  if (data.labels.empty())
    fail("BF3016", data.where, "there are no labels",
         "give --labels FILE; of a regressor --within X, --increasing LIST, or --rows FILE");
}

std::vector<std::size_t> classes_of(const input::Dataset& data, std::size_t classes) {
  std::vector<std::size_t> labels;
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    const double label = data.labels[i];
    if (!(label >= 0 && label < static_cast<double>(classes) && label == std::floor(label)))
      fail("BF3016", sample_place(data, i),
           fmt::format("label {} is no class: the model has {} outputs", label, classes),
           "classes are counted from 0");
    labels.push_back(static_cast<std::size_t>(label));
  }
  return labels;
}

std::vector<std::string> remarks_of(const CertifyRun& run, const CertifyQuestion& question,
                                    const input::Dataset& data) {
  std::vector<std::string> remarks;
  if (run.task != CertifyTask::kClasses || run.results.empty()) return remarks;
  const double clean = tallies(run)[0].clean_accuracy();
  if (run.names.size() >= 20 && clean < 2.0 / static_cast<double>(run.outputs))
    remarks.push_back(fmt::format(
        "the network answers {:.1f} % of the samples rightly, as by chance: check --scale, --mean, "
        "--std, --layout, and that classes are counted from 0",
        100 * clean));
  const double most = *std::max_element(data.values.begin(), data.values.end());
  if (most > 16 && most <= 255 && !question.normalisation.scale &&
      (!question.eps.empty() || !question.disturbances.empty()))
    remarks.push_back(
        fmt::format("the data have numbers up to {}, and {} in their units; --scale "
                    "255 makes them 0 to 1",
                    most, question.eps.empty() ? "disturbances are" : "eps is"));
  return remarks;
}

void Boxes::add(const input::SampleBox& box) {
  inner_lower.insert(inner_lower.end(), box.inner_lower.begin(), box.inner_lower.end());
  inner_upper.insert(inner_upper.end(), box.inner_upper.begin(), box.inner_upper.end());
  range_lower.insert(range_lower.end(), box.range_lower.begin(), box.range_lower.end());
  range_upper.insert(range_upper.end(), box.range_upper.begin(), box.range_upper.end());
  samples.insert(samples.end(), box.sample.begin(), box.sample.end());
  lower.insert(lower.end(), box.lower.begin(), box.lower.end());
  upper.insert(upper.end(), box.upper.begin(), box.upper.end());
}

Samples::Samples(const CertifyQuestion& question, input::Dataset& data,
                 const std::vector<std::int64_t>& input_shape, std::size_t inputs)
    : question_(question), data_(data) {
  const std::size_t means = question.normalisation.mean.size();
  const std::size_t deviations = question.normalisation.deviation.size();
  if (std::min(means, deviations) > 1 && means != deviations)
    fail("BF3013", "--mean", "there are as many means as deviations, or one of either");
  arranged_ = input::arrange(data, input_shape, inputs, std::max(means, deviations));
}

std::span<const double> Samples::values(std::size_t sample) const {
  return std::span(arranged_.values).subspan(sample * arranged_.inputs, arranged_.inputs);
}

input::SampleBox Samples::box(std::size_t sample, std::size_t radius) const {
  const std::string where = sample_place(data_, sample);
  return question_.eps.empty() ? input::own_box(arranged_, sample, question_.normalisation, where)
                               : around(sample, question_.eps[radius], where);
}

// The box of a ball is not cut at the range, which the ball's bounds may leave; its counterexamples
// are.
input::SampleBox Samples::around(std::size_t sample, const vnnlib::Number& eps,
                                 const std::string& where) const {
  const input::Normalisation& given = question_.normalisation;
  input::SampleBox box = input::perturb(arranged_, sample, eps, given, where);
  const api::Norm norm = question_.options.bounds.norm;
  if (norm == api::Norm::kLinf) return box;
  input::Normalisation uncut = given;
  uncut.range.reset();
  input::SampleBox cut = std::exchange(box, input::perturb(arranged_, sample, eps, uncut, where));
  if (given.range) {
    box.range_lower = std::move(cut.inner_lower);
    box.range_upper = std::move(cut.inner_upper);
  }
  input::widen_for_ball(box.lower, box.upper, norm == api::Norm::kL1);
  return box;
}

}  // namespace bf_aot::apps
