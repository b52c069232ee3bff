#include "aot/apps/certify/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <system_error>

#include "aot/apps/certify/campaign.h"
#include "aot/apps/certify/proofs.h"
#include "aot/apps/certify/watched.h"
#include "aot/disturb/cells.h"
#include "aot/input/array.h"
#include "aot/input/balls.h"
#include "aot/input/directed.h"
#include "aot/system/files.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/sha256.h"
#include "runtime/bf.h"

namespace bf_aot::apps {
namespace {

// Samples of a round: enough for every thread to have batches, few enough for progress to move.
constexpr std::size_t kRound = 64;
// Numbers of boxes that are split in one call, which take 28 bytes each.
constexpr std::size_t kMostBoxNumbers = std::size_t{1} << 25;
constexpr double kSaveSeconds = 60;

template <class T>
T value_of(api::Result<T> result) {
  if (result) return std::move(result.value());
  std::vector<Diagnostic> diagnostics;
  const auto add = [&](const api::Error& error) {
    diagnostics.push_back({error.code, error.where, error.message, error.hint});
  };
  add(result.error());
  for (const api::Error& other : result.error().others) add(other);
  throw CompileError(std::move(diagnostics));
}

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

// Throws: BF3016.
void expect_labels(const input::Dataset& data) {
  if (data.labels.empty())
    fail("BF3016", data.where, "there are no labels",
         "give --labels FILE; of a regressor --within X, --increasing LIST, or --rows FILE");
}

// Labels as classes. Throws: BF3016.
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

// The boxes of some samples, one after the other.
struct Boxes {
  std::vector<float> samples, lower, upper;
  std::vector<double> inner_lower, inner_upper, range_lower, range_upper;

  api::SampleBoxes view() const {
    return {samples, lower, upper, inner_lower, inner_upper, range_lower, range_upper};
  }

  void add(const input::SampleBox& box) {
    inner_lower.insert(inner_lower.end(), box.inner_lower.begin(), box.inner_lower.end());
    inner_upper.insert(inner_upper.end(), box.inner_upper.begin(), box.inner_upper.end());
    range_lower.insert(range_lower.end(), box.range_lower.begin(), box.range_lower.end());
    range_upper.insert(range_upper.end(), box.range_upper.begin(), box.range_upper.end());
    samples.insert(samples.end(), box.sample.begin(), box.sample.end());
    lower.insert(lower.end(), box.lower.begin(), box.lower.end());
    upper.insert(upper.end(), box.upper.begin(), box.upper.end());
  }
};

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

// Takes what a call has found about a sample; seconds add up.
void take(SampleResult& result, const api::CertifiedSample& found) {
  result.robustness = found.robustness;
  result.answer = found.answer;
  const bool bounded = std::isfinite(found.margin);
  if (bounded || found.robustness == api::Robustness::kFalsified) result.rival = found.rival;
  if (bounded || result.stage == api::Stage::kSample)
    result.margin = static_cast<double>(found.margin);
  result.counterexample = found.counterexample;
  result.stage = std::max(result.stage, found.stage);
  for (std::size_t i = 0; i < found.seconds.size(); ++i) result.seconds[i] += found.seconds[i];
}

// The options of the first passage through the samples: in complete runs, of all stages but the
// last.
api::CertifyOptions options_of(const CertifyQuestion& question) {
  api::CertifyOptions options = question.options;
  if (!question.complete) return options;
  options.stages = api::complete_stages();
  options.stages.pop_back();
  return options;
}

api::DisturbOptions disturb_options(const api::Model& model, const CertifyQuestion& question,
                                    const input::Dataset& data) {
  const auto text = [](const vnnlib::Number& number) { return std::string(number.text); };
  const input::Normalisation& n = question.normalisation;
  api::DisturbOptions options;
  options.disturbances = question.disturbances;
  const disturb::Picture picture = disturb::picture_of(
      model.inputs().size() == 1 ? model.inputs()[0].shape : std::vector<std::int64_t>(), data);
  options.channels = picture.channels;
  options.height = picture.height;
  options.width = picture.width;
  options.channels_last = picture.channels_last;
  if (n.scale) options.scale = text(*n.scale);
  if (n.range) options.clip = {text(n.range->first), text(n.range->second)};
  for (const vnnlib::Number& mean : n.mean) options.mean.push_back(text(mean));
  for (const vnnlib::Number& each : n.deviation) options.deviation.push_back(text(each));
  options.bounds = question.options.bounds;
  options.seconds = question.options.decide_seconds;
  return options;
}

// Answers of a network about samples: one kind of question. Not for several threads.
class Answerer {
 public:
  Answerer(const api::Model& model, const CertifyQuestion& question, const input::Dataset& data,
           const input::ModelSamples& samples)
      : question_(question), data_(data), samples_(samples), outputs_(model.output_count()) {
    if (question.rows) check_rows(*question.rows, outputs_);
    const api::Options& bounds = question.options.bounds;
    if (question.slopes) {
      rows_ = slope_rows(*question.slopes, question.rows, outputs_);
      const api::Model slopes = value_of(model.derivative(inputs_of(*question.slopes)));
      verifier_ = value_of(api::Verifier::make(slopes, bounds, specification_of(rows_)));
    } else if (question.rows) {
      rows_ = *question.rows;
      verifier_ = value_of(api::Verifier::make(model, bounds, specification_of(rows_)));
    } else if (question.within) {
      if (data.labels.empty())
        fail("BF3016", data.where, "there are no labels", "give --labels FILE");
      verifier_ = value_of(api::Verifier::make(model, bounds));
    } else if (!question.disturbances.empty()) {
      expect_labels(data);
      disturber_ =
          value_of(api::DisturbanceCertifier::make(model, disturb_options(model, question, data)));
      labels_ = classes_of(data, outputs_);
    } else {
      expect_labels(data);
      certifier_ = value_of(api::Certifier::make(model, options_of(question)));
      labels_ = classes_of(data, outputs_);
    }
  }

  api::Explanation explain(const Boxes& box, std::size_t sample) const {
    return value_of(certifier_->explain(box.view(), labels_[sample]));
  }

  std::vector<std::size_t> labels_of(const std::vector<std::size_t>& indices) const {
    std::vector<std::size_t> labels;
    for (const std::size_t i : indices) labels.push_back(labels_[i]);
    return labels;
  }

  // Certifies samples. `indices`: those of the samples whose boxes are given, in order.
  // seconds: the most that classes may take; 0: no limit.
  std::vector<SampleResult> certify(const Boxes& boxes, const std::vector<std::size_t>& indices,
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

 private:
  std::vector<SampleResult> classes(const Boxes& boxes, const std::vector<std::size_t>& indices,
                                    double seconds) const {
    api::CertifyCall call;
    call.timeout_seconds = seconds;
    std::vector<SampleResult> results(indices.size());
    const auto found = value_of(certifier_->certify(boxes.view(), labels_of(indices), call));
    for (std::size_t k = 0; k < found.size(); ++k) take(results[k], found[k]);
    return results;
  }

  std::vector<SampleResult> disturbed(const std::vector<std::size_t>& indices) const {
    std::vector<double> pictures;
    for (const std::size_t i : indices) {
      const auto first = samples_.values.begin() + static_cast<std::ptrdiff_t>(i * samples_.inputs);
      pictures.insert(pictures.end(), first, first + static_cast<std::ptrdiff_t>(samples_.inputs));
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

  std::vector<float> evaluate(const Boxes& boxes, std::size_t k) const {
    const std::size_t inputs = verifier_->input_count();
    return value_of(verifier_->evaluate(std::span(boxes.samples).subspan(k * inputs, inputs)));
  }

  // Certifies that every output stays within the distance of the label; the margin is what is left
  // of it.
  std::vector<SampleResult> within(const Boxes& boxes,
                                   const std::vector<std::size_t>& indices) const {
    const api::Bounds bounds = value_of(verifier_->bounds(boxes.lower, boxes.upper));
    std::vector<SampleResult> results(indices.size());
    for (std::size_t k = 0; k < indices.size(); ++k) {
      SampleResult& result = results[k];
      const double label = data_.labels[indices[k]];
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
  std::vector<SampleResult> rows(const Boxes& boxes,
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
  std::vector<SampleResult> slopes(const Boxes& boxes,
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
  std::vector<SampleResult> least_rows(const Boxes& boxes, std::size_t count) const {
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

  const CertifyQuestion& question_;
  const input::Dataset& data_;
  const input::ModelSamples& samples_;
  std::size_t outputs_;
  std::vector<std::size_t> labels_;
  LinearSpec rows_;  // of kRows and kSlopes
  std::optional<api::Certifier> certifier_;
  std::optional<api::DisturbanceCertifier> disturber_;
  std::optional<api::Verifier> verifier_;
};

std::string numbers_text(const std::vector<vnnlib::Number>& numbers) {
  std::string text;
  for (const vnnlib::Number& number : numbers) text += std::string(number.text) + ",";
  return text;
}

// A hash of everything that decides the results.
std::string question_hash(const std::filesystem::path& model, const CertifyQuestion& question,
                          const input::Dataset& data) {
  const input::Normalisation& n = question.normalisation;
  const api::Options& bounds = question.options.bounds;
  std::string text = fmt::format(
      "{} {} first {} layout {} {} eps {} within {} scale {} mean {} std {} range {} {} method {} "
      "{} {} norm {} {}",
      BF_VERSION_STRING, sha256(input::read_data_file(model)), question.first,
      question.channels_first, question.channels_last, numbers_text(question.eps),
      question.within ? question.within->text : "", n.scale ? n.scale->text : "",
      numbers_text(n.mean), numbers_text(n.deviation), n.range ? n.range->first.text : "",
      n.range ? n.range->second.text : "", api::to_string(bounds.method),
      static_cast<int>(bounds.semantics), bounds.iterations, static_cast<int>(bounds.norm),
      question.complete
          ? "complete"
          : fmt::format("decide {} {}", question.options.decide, question.options.decide_seconds));
  if (const auto device = bounds.more.find("device"); device != bounds.more.end())
    text += " device " + device->second;
  for (const std::string& disturbance : question.disturbances)
    text += fmt::format(" disturbance {}:{}", disturbance.size(), disturbance);
  const auto add = [&](const std::vector<double>& values) {
    text += fmt::format(" {}:", values.size());
    text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
  };
  add(data.values);
  add(data.lower);
  add(data.upper);
  add(data.labels);
  if (question.rows) {
    for (const std::vector<double>& row : question.rows->rows) add(row);
    add(question.rows->offset);
  }
  if (question.slopes)
    text += fmt::format(" rising {} falling {} least {}", fmt::join(question.slopes->rising, ","),
                        fmt::join(question.slopes->falling, ","), question.slopes->least.text);
  for (const std::string& tensor : question.cut.outputs)
    text += fmt::format(" output {}:{}", tensor.size(), tensor);
  for (const std::string& tensor : question.cut.inputs)
    text += fmt::format(" input {}:{}", tensor.size(), tensor);
  for (const auto& [tensor, shape] : question.cut.shapes)
    text += fmt::format(" shape {}:{} {}", tensor.size(), tensor, fmt::join(shape, ","));
  for (const auto& [tensor, numbers] : question.cut.fixed)
    text += fmt::format(" fixed {}:{} {}", tensor.size(), tensor, fmt::join(numbers, ","));
  return sha256(text);
}

// The box around a sample. The box of a ball is not cut at the range, which the ball's bounds may
// leave; its counterexamples are.
input::SampleBox around(const input::ModelSamples& samples, std::size_t index,
                        const vnnlib::Number& eps, const CertifyQuestion& question,
                        const std::string& where) {
  input::SampleBox box = input::perturb(samples, index, eps, question.normalisation, where);
  const api::Norm norm = question.options.bounds.norm;
  if (norm == api::Norm::kLinf) return box;
  input::Normalisation uncut = question.normalisation;
  uncut.range.reset();
  input::SampleBox cut = std::exchange(box, input::perturb(samples, index, eps, uncut, where));
  if (question.normalisation.range) {
    box.range_lower = std::move(cut.inner_lower);
    box.range_upper = std::move(cut.inner_upper);
  }
  input::widen_for_ball(box.lower, box.upper, norm == api::Norm::kL1);
  return box;
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

CertifyTask task_of(const CertifyQuestion& question) {
  return question.slopes   ? CertifyTask::kSlopes
         : question.within ? CertifyTask::kWithin
         : question.rows   ? CertifyTask::kRows
                           : CertifyTask::kClasses;
}

input::Dataset read_samples(const CertifyQuestion& question) {
  input::Dataset data = input::read_dataset(question.files);
  select(data, question.first, question.count);
  if (question.channels_last) data.channels_last = true;
  if (question.channels_first) data.channels_last = false;
  return data;
}

// One run: prepare the samples and the network, resume what a journal has, go through the samples
// radius by radius, summarise.
class Certification {
 public:
  Certification(const std::filesystem::path& model_path, const CertifyQuestion& question,
                const CertifyOutputs& outputs)
      : question_(question),
        answer_{.data = read_samples(question)},
        data_(answer_.data),
        run_(answer_.run),
        explains_(outputs.explain),
        model_(value_of(api::Model::load(model_path, question.cut))) {
    prepare(model_path);
    answerer_.emplace(model_, question, data_, samples_);
    if (!outputs.proof.folder.empty()) {
      expect_provable(outputs.libm_ulps);
      proofs_.emplace(outputs.proof, outputs.libm_ulps, model_path, model_.input_count(),
                      run_.outputs);
    }
    if (!outputs.journal.empty()) resume(model_path, outputs);
    if (!outputs.campaign.empty()) go_on(model_path, outputs.campaign);
  }

  CertifyAnswer finish() && {
    system::ProgressBar bar(static_cast<int>(
        std::min<std::size_t>(data_.count() * run_.radii.size(), std::numeric_limits<int>::max())));
    try {
      for (std::size_t radius = 0; radius < run_.radii.size(); ++radius) run_radius(radius, bar);
      if (run_.complete) split_open(bar);
    } catch (const system::Interrupted&) {
      save();
      throw;
    }
    if (journal_) journal_->finish();
    summarise();
    save();
    if (explains_) explain();
    if (proofs_) proofs_->publish(run_, question_.files, question_.normalisation);
    return std::move(answer_);
  }

 private:
  void prepare(const std::filesystem::path& model_path) {
    answer_.input_shape =
        model_.inputs().size() == 1
            ? model_.inputs()[0].shape
            : std::vector<std::int64_t>{static_cast<std::int64_t>(model_.input_count())};
    const std::size_t means = question_.normalisation.mean.size();
    const std::size_t deviations = question_.normalisation.deviation.size();
    if (std::min(means, deviations) > 1 && means != deviations)
      fail("BF3013", "--mean", "there are as many means as deviations, or one of either");
    samples_ = input::arrange(data_, answer_.input_shape, model_.input_count(),
                              std::max(means, deviations));

    run_.model = printable(model_path.filename().string());
    run_.data = printable(std::filesystem::path(question_.files.data).filename().string());
    run_.method = api::to_string(question_.options.bounds.method);
    const api::Norm norm = question_.options.bounds.norm;
    if (norm != api::Norm::kLinf) run_.norm = norm == api::Norm::kL2 ? "l2" : "l1";
    run_.disturbance = fmt::format("{}", fmt::join(question_.disturbances, " "));
    run_.task = task_of(question_);
    run_.decide = question_.options.decide && run_.task == CertifyTask::kClasses;
    run_.complete = question_.complete;
    run_.decide = run_.decide || run_.complete;
    run_.part = question_.part;
    if (run_.complete) run_.method = "complete";
    run_.outputs = model_.output_count();
    for (const vnnlib::Number& eps : question_.eps) run_.radii.emplace_back(eps.text);
    if (run_.radii.empty()) run_.radii.emplace_back();
    run_.thresholds = question_.thresholds;
    run_.first = question_.first;
    run_.names = data_.names;
    run_.labels = data_.labels;
    run_.jobs = question_.options.bounds.threads;
  }

  // Results of an earlier process are read first. Rows are kept by this process only when a round
  // is done.
  void resume(const std::filesystem::path& model_path, const CertifyOutputs& outputs) {
    pending_.emplace();
    journal_.emplace(outputs.journal, question_hash(model_path, question_, data_), run_);
    for (const SampleResult& result : journal_->found()) {
      if (proofs_ && result.robustness != api::Robustness::kWrong) continue;
      if (outputs.counterexamples && result.robustness == api::Robustness::kFalsified) continue;
      if (!place_of_.contains({result.radius, result.sample})) keep(result);
    }
    remark_earlier(run_.results.size(), outputs.journal);
  }

  void remark_earlier(std::size_t results, const std::string& file) {
    if (results > 0)
      answer_.remarks.push_back(
          fmt::format("{} results of {} are from an earlier run", results, printable(file)));
  }

  // The file's results come before all others; samples that it has open are split from now on.
  void go_on(const std::filesystem::path& model_path, const std::string& file) {
    pending_.emplace();
    campaign_ = file;
    question_sha256_ = question_hash(model_path, question_, data_);
    std::error_code error;
    if (!std::filesystem::exists(file, error)) return;
    const Campaign earlier = read_campaign(file);
    if (earlier.question != question_sha256_ || earlier.run.part.index != run_.part.index ||
        earlier.run.part.count != run_.part.count)
      fail("BF3018", printable(file), "the file is about another question, or another part",
           "give another file, or what it was made with");
    std::size_t taken = 0;
    for (const SampleResult& result : earlier.run.results) {
      if (place_of_.contains({result.radius, result.sample})) continue;
      keep(result);
      ++taken;
      if (proofs_) prove({result});
      if (journal_ && is_decided(result)) journal_->append({result});
    }
    seconds_before_ = earlier.run.seconds;
    remark_earlier(taken, file);
  }

  static bool is_decided(const SampleResult& result) {
    return result.robustness != api::Robustness::kUnknown;
  }

  void keep(const SampleResult& result) {
    place_of_[{result.radius, result.sample}] = run_.results.size();
    run_.results.push_back(result);
  }

  // Writes the campaign's file.
  void save() {
    if (campaign_.empty()) return;
    const system::InterruptsHeld held;
    run_.seconds = seconds_before_ + stopwatch_.seconds();
    system::publish_file(campaign_, to_text(Campaign{question_sha256_, run_}));
    saved_ = stopwatch_.seconds();
  }
  void save_now_and_then() {
    if (stopwatch_.seconds() >= saved_ + kSaveSeconds) save();
  }

  // Returns what the results at other radii say: a sample is wrong at all of them, certified within
  // a radius at which it is, and falsified beyond one at which it is.
  std::optional<SampleResult> implied(std::size_t radius, std::size_t sample) const {
    for (std::size_t other = 0; run_.complete && other < run_.radii.size(); ++other) {
      const auto found = place_of_.find({other, sample});
      if (other == radius || found == place_of_.end()) continue;
      const auto order = vnnlib::compare(question_.eps[radius], question_.eps[other]);
      SampleResult result = run_.results[found->second];
      const bool holds = result.robustness == api::Robustness::kWrong ||
                         (result.robustness == api::Robustness::kCertified && order <= 0) ||
                         (result.robustness == api::Robustness::kFalsified && order >= 0);
      if (!holds) continue;
      result.radius = radius;
      result.seconds = {};
      return result;
    }
    return std::nullopt;
  }

  input::SampleBox box_of(std::size_t sample, std::size_t radius) const {
    const std::string where = sample_place(data_, sample);
    return question_.eps.empty()
               ? input::own_box(samples_, sample, question_.normalisation, where)
               : around(samples_, sample, question_.eps[radius], question_, where);
  }

  // The samples that are left, round by round.
  void run_radius(std::size_t radius, system::ProgressBar& bar) {
    const auto jobs = static_cast<std::size_t>(run_.jobs);
    const bool splits = (run_.decide && !run_.complete) || !run_.disturbance.empty();
    const std::size_t round = splits ? 4 * jobs : kRound * jobs;
    std::size_t next = 0;
    while (next < data_.count()) {
      system::throw_if_interrupted();
      Boxes boxes;
      std::vector<std::size_t> indices;
      for (; next < data_.count() && indices.size() < round; ++next) {
        if (place_of_.contains({radius, next}) || next % run_.part.count != run_.part.index)
          continue;
        if (const auto known = implied(radius, next)) {
          take_results({*known});
          continue;
        }
        if (run_.disturbance.empty()) boxes.add(box_of(next, radius));
        indices.push_back(next);
      }
      if (indices.empty()) continue;
      bar.show(static_cast<int>(run_.results.size()), run_.radii[radius].empty()
                                                          ? radius_text(run_, radius)
                                                          : "eps " + run_.radii[radius]);
      take_results(answerer_->certify(boxes, indices, radius, left()));
      save_now_and_then();
    }
  }

  // Seconds that are left of a complete run's, at least a moment; 0: no limit.
  double left() const {
    constexpr double kMoment = 1e-3;
    if (!(question_.timeout_seconds > 0)) return 0;
    return std::max(question_.timeout_seconds - stopwatch_.seconds(), kMoment);
  }

  // Keeps new results. The journal has samples of complete runs when they are decided.
  void take_results(const std::vector<SampleResult>& results) {
    if (proofs_) prove(results);
    std::vector<SampleResult> rows;
    for (const SampleResult& result : results) {
      if (!run_.complete || is_decided(result)) rows.push_back(result);
      keep(result);
    }
    if (journal_) journal_->append(rows);
  }

  // Splits the samples of all radii that are open, in parts whose boxes fit the memory.
  void split_open(system::ProgressBar& bar) {
    std::vector<std::size_t> open;  // places of results
    for (std::size_t k = 0; k < run_.results.size(); ++k)
      if (!is_decided(run_.results[k])) open.push_back(k);
    std::ranges::stable_sort(open, std::greater(),
                             [this](std::size_t k) { return run_.results[k].margin; });
    api::CertifyOptions options = question_.options;
    options.stages = {api::Stage::kSplit};
    const api::Certifier certifier = value_of(api::Certifier::make(model_, options));
    const std::size_t most = std::max<std::size_t>(kMostBoxNumbers / model_.input_count(), 1);
    for (std::size_t first = 0; first < open.size(); first += most)
      split(certifier, std::span(open).subspan(first, std::min(most, open.size() - first)), bar);
    for (const std::size_t k : open)
      if (journal_ && !is_decided(run_.results[k])) journal_->append({run_.results[k]});
  }

  void split(const api::Certifier& certifier, std::span<const std::size_t> open,
             system::ProgressBar& bar) {
    api::CertifyCall call;
    call.timeout_seconds = left();
    Boxes boxes;
    std::vector<std::size_t> samples;
    for (const std::size_t k : open) {
      boxes.add(box_of(run_.results[k].sample, run_.results[k].radius));
      samples.push_back(run_.results[k].sample);
    }
    // A sample that another radius decides is not split. The call asks and tells one at a time.
    std::vector<std::atomic<bool>> closed(open.size());
    call.wanted = [&](std::size_t i) { return !closed[i]; };
    const auto found = [&](std::size_t i, const api::CertifiedSample& sample) {
      SampleResult& result = run_.results[open[i]];
      if (is_decided(result)) return;
      decide(result, sample);
      for (std::size_t j = 0; j < open.size(); ++j)
        if (samples[j] == samples[i]) closed[j] = decide_by_others(run_.results[open[j]]);
    };
    const auto idle = [&] {
      bar.show(static_cast<int>(decided_count()), "splits");
      save_now_and_then();
    };
    const auto all = value_of(certify_watched(
        certifier, boxes.view(), answerer_->labels_of(samples), std::move(call), {found, idle}));
    // Samples that stay open have had their time.
    for (std::size_t i = 0; i < all.size(); ++i)
      if (SampleResult& result = run_.results[open[i]]; !is_decided(result)) take(result, all[i]);
    system::throw_if_interrupted();
  }

  std::size_t decided_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(run_.results, is_decided));
  }

  // Takes the verdict on an open result, with its certificate and row.
  void decide(SampleResult& result, const api::CertifiedSample& sample) {
    take(result, sample);
    if (proofs_) prove({result});
    if (journal_) journal_->append({result});
  }

  // Decides an open result by those at other radii. Returns whether it is decided.
  bool decide_by_others(SampleResult& result) {
    if (is_decided(result)) return true;
    auto known = implied(result.radius, result.sample);
    if (!known) return false;
    known->seconds = result.seconds;
    result = std::move(*known);
    if (proofs_) prove({result});
    if (journal_) journal_->append({result});
    return true;
  }

  // Throws: BF3024 a question that certificates are not about.
  void expect_provable(const std::optional<double>& libm_ulps) const {
    const auto refuse = [](const char* why) {
      fail("BF3024", "--proofs", why, "certify without certificates");
    };
    if (!run_.disturbance.empty()) refuse("certificates are about boxes, not disturbances");
    if (run_.task != CertifyTask::kClasses) refuse("certificates of samples are about classes");
    if (question_.options.bounds.norm != api::Norm::kLinf)
      refuse("certificates are about boxes, not balls");
    if (question_.options.bounds.semantics != api::Semantics::kReal && !libm_ulps)
      refuse("certificates are about exact real arithmetic, or about float32 with subnormals");
    if (!question_.cut.inputs.empty() || !question_.cut.outputs.empty() ||
        !question_.cut.shapes.empty() || !question_.cut.fixed.empty())
      refuse("certificates are about the whole model, as its file has it");
  }

  // Writes the certificates of a round's samples.
  void prove(const std::vector<SampleResult>& results) {
    for (const SampleResult& result : results) {
      const std::string name = SampleProofs::name_of(run_, result);
      const std::string missing =
          proofs_->write(name, box_of(result.sample, result.radius),
                         static_cast<std::size_t>(data_.labels[result.sample]), result);
      if (!missing.empty())
        answer_.remarks.push_back(fmt::format("{}: no certificate: {}", name, missing));
    }
    answer_.proofs = proofs_->written();
  }

  void explain() {
    for (const SampleResult& result : run_.results) {
      if (result.robustness == api::Robustness::kWrong) continue;
      system::throw_if_interrupted();
      Boxes box;
      box.add(box_of(result.sample, result.radius));
      answer_.explanations.push_back(
          {result.radius, result.sample, answerer_->explain(box, result.sample)});
    }
  }

  void summarise() {
    sort_results(run_);
    run_.seconds = seconds_before_ + stopwatch_.seconds();
    for (std::string& remark : remarks_of(run_, question_, data_))
      answer_.remarks.push_back(std::move(remark));
  }

  const system::Stopwatch stopwatch_;
  const CertifyQuestion& question_;
  CertifyAnswer answer_;
  input::Dataset& data_;
  CertifyRun& run_;
  const bool explains_;
  const api::Model model_;
  input::ModelSamples samples_;
  std::optional<Answerer> answerer_;
  std::optional<SampleProofs> proofs_;
  std::optional<system::CleanupPending> pending_;
  std::optional<Journal> journal_;
  // The places of results, by radius and sample; until results are sorted.
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> place_of_;
  std::string campaign_, question_sha256_;
  double seconds_before_ = 0, saved_ = 0;
};

}  // namespace

CertifyAnswer certify(const std::filesystem::path& model_path, const CertifyQuestion& question,
                      const CertifyOutputs& outputs) {
  return Certification(model_path, question, outputs).finish();
}

}  // namespace bf_aot::apps
