#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "aot/input/balls.h"
#include "aot/library/state.h"

namespace bf_aot::api {
namespace {

constexpr char kCertifying[] = "certifying samples";

// Beyond this, the differences of all pairs cost more than a verifier for each label.
constexpr std::size_t kMostPairedClasses = 16;

template <class T>
T value_of(Result<T> result) {
  if (!result) throw Failed{result.error()};
  return std::move(result.value());
}

std::vector<double> difference(std::size_t plus, std::size_t minus, std::size_t classes) {
  std::vector<double> row(classes, 0.0);
  row[plus] = 1;
  row[minus] = -1;
  return row;
}

void append(std::vector<double>& rows, const std::vector<double>& row) {
  rows.insert(rows.end(), row.begin(), row.end());
}

// The differences y_i - y_j of all classes i < j, row by row.
Specification all_pairs(std::size_t classes) {
  Specification specification;
  for (std::size_t i = 0; i < classes; ++i)
    for (std::size_t j = i + 1; j < classes; ++j)
      append(specification.rows, difference(i, j, classes));
  return specification;
}

std::size_t row_of_pair(std::size_t i, std::size_t j, std::size_t classes) {
  return i * classes - i * (i + 1) / 2 + (j - i - 1);
}

// Rows y_label - y_j for all other classes j.
Specification others(std::size_t label, std::size_t classes) {
  Specification specification;
  for (std::size_t j = 0; j < classes; ++j)
    if (j != label) append(specification.rows, difference(label, j, classes));
  return specification;
}

// The elements of sample i.
template <class T>
std::span<const T> part_of(std::span<const T> all, std::size_t i, std::size_t inputs) {
  return all.empty() ? all : all.subspan(i * inputs, inputs);
}

// The box of one sample.
struct OneBox {
  OneBox(const SampleBoxes& all, std::size_t i, std::size_t inputs)
      : sample(part_of(all.samples, i, inputs)),
        lower(part_of(all.lower, i, inputs)),
        upper(part_of(all.upper, i, inputs)),
        inner_lower(part_of(all.inner_lower, i, inputs)),
        inner_upper(part_of(all.inner_upper, i, inputs)) {}

  // Returns whether the doubles that counterexamples are taken from are a box: no end is above the
  // other.
  bool has_inner() const {
    for (std::size_t i = 0; i < inner_lower.size(); ++i)
      if (!(inner_lower[i] <= inner_upper[i])) return false;
    return true;
  }

  std::span<const float> sample, lower, upper;
  std::span<const double> inner_lower, inner_upper;
};

// The property that is violated where y_label - y_j <= 0 for a class j != label.
Property robustness(const Model& model, std::size_t label, const OneBox& box) {
  Property property;
  property.file_name = "robustness";
  const auto tensors = [](const std::vector<Tensor>& of) {
    std::vector<PropertyTensor> list;
    for (const Tensor& tensor : of)
      list.push_back({tensor.name, "Real", {tensor.shape.begin(), tensor.shape.end()}, {}});
    return list;
  };
  property.inputs = tensors(model.inputs());
  property.outputs = tensors(model.outputs());
  property.input_count = static_cast<std::int64_t>(model.input_count());
  property.output_count = static_cast<std::int64_t>(model.output_count());
  PropertyCase& only = property.cases.emplace_back();
  only.box.lower.assign(box.lower.begin(), box.lower.end());
  only.box.upper.assign(box.upper.begin(), box.upper.end());
  only.inner = only.box;
  if (!box.inner_lower.empty()) {
    only.inner.lower.assign(box.inner_lower.begin(), box.inner_lower.end());
    only.inner.upper.assign(box.inner_upper.begin(), box.inner_upper.end());
  }
  for (std::size_t j = 0; j < model.output_count(); ++j) {
    if (j == label) continue;
    Condition condition;
    condition.row = static_cast<int>(property.rows.size());
    condition.negated = j < label;  // the first factor of a row is positive
    property.rows.push_back({{{static_cast<std::int64_t>(std::min(j, label)), 1},
                              {static_cast<std::int64_t>(std::max(j, label)), -1}}});
    only.clauses.push_back({condition});
  }
  return property;
}

// Runs work(i) for each i on up to `threads` threads. Rethrows the first thing that was thrown.
template <class Work>
void for_each_index(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&]() noexcept {
    const ThrowingChecks checks;
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      const std::scoped_lock lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      while (helpers.size() + 1 < std::min(static_cast<std::size_t>(threads), count))
        helpers.emplace_back(run);
    } catch (const std::system_error&) {  // the helpers that were started do the work
    }
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

struct Certifier::State {
  State(const Model& of, const CertifyOptions& asked)
      : model(of), options(asked), classes(of.output_count()), inputs(of.input_count()) {}

  bool paired() const { return classes <= kMostPairedClasses; }

  // The verifier whose rows hold the label's differences.
  Verifier verifier_of(std::size_t label) const {
    const std::size_t key = paired() ? 0 : label;
    const std::scoped_lock lock(mutex);
    const auto found = verifiers.find(key);
    if (found != verifiers.end()) return found->second;
    Verifier made = value_of(Verifier::make(
        model, options.bounds, paired() ? all_pairs(classes) : others(label, classes)));
    verifiers.emplace(key, made);
    return made;
  }

  // The lower bound of y_label - y_j, from the bounds of the verifier's rows.
  float margin_over(std::size_t label, std::size_t j, std::span<const float> lower,
                    std::span<const float> upper) const {
    if (!paired()) return lower[j < label ? j : j - 1];
    return label < j ? lower[row_of_pair(label, j, classes)]
                     : -upper[row_of_pair(j, label, classes)];
  }

  void check(const SampleBoxes& boxes, std::span<const std::size_t> labels) const {
    const std::size_t numbers = labels.size() * inputs, inner = boxes.inner_lower.size();
    if (boxes.samples.size() != numbers || boxes.lower.size() != numbers ||
        boxes.upper.size() != numbers || (inner != 0 && inner != numbers) ||
        boxes.inner_upper.size() != inner)
      refuse("BF3502", "samples",
             fmt::format("{} numbers of samples, {} lower and {} upper ends, {} and {} inner ends "
                         "are given for {} labels of {} inputs each",
                         boxes.samples.size(), boxes.lower.size(), boxes.upper.size(), inner,
                         boxes.inner_upper.size(), labels.size(), inputs));
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] >= classes)
        refuse("BF3503", fmt::format("sample {}", i),
               fmt::format("label {} is no class: the model has {} outputs", labels[i], classes),
               "classes are counted from 0");
    for (std::size_t i = 0; i < numbers; ++i) {
      const float x = boxes.samples[i], lower = boxes.lower[i], upper = boxes.upper[i];
      const std::string where = fmt::format("sample {}, input {}", i / inputs, i % inputs);
      if (!(lower <= x && x <= upper))
        refuse("BF3503", where, fmt::format("{} is not in its box, {} to {}", x, lower, upper));
      if (inner == 0) continue;
      const double inner_lower = boxes.inner_lower[i], inner_upper = boxes.inner_upper[i];
      if (!(inner_lower >= static_cast<double>(lower) && inner_upper <= static_cast<double>(upper)))
        refuse("BF3503", where,
               fmt::format("the inner ends {} and {} are not within the box, {} to {}", inner_lower,
                           inner_upper, lower, upper));
    }
  }

  // The answer at a sample: kWrong, or kUnknown where it is the label.
  CertifiedSample answer(const Verifier& verifier, std::span<const float> x,
                         std::size_t label) const {
    const std::vector<float> y = value_of(verifier.evaluate(x));
    CertifiedSample sample;
    sample.answer = static_cast<std::size_t>(std::max_element(y.begin(), y.end()) - y.begin());
    sample.rival = label == 0 ? 1 : 0;
    for (std::size_t j = 0; j < classes; ++j)
      if (j != label && y[j] > y[sample.rival]) sample.rival = j;
    sample.margin = y[label] - y[sample.rival];
    if (!(y[label] > y[sample.rival])) sample.robustness = Robustness::kWrong;
    return sample;
  }

  void judge(CertifiedSample& sample, std::size_t label, std::span<const float> lower,
             std::span<const float> upper) const {
    bool all_positive = true;
    sample.margin = std::numeric_limits<float>::infinity();
    for (std::size_t j = 0; j < classes; ++j) {
      if (j == label) continue;
      const float margin = margin_over(label, j, lower, upper);
      if (!(margin > 0)) all_positive = false;
      if (margin >= sample.margin) continue;
      sample.margin = margin;
      sample.rival = j;
    }
    if (all_positive) sample.robustness = Robustness::kCertified;
  }

  void decide_open(CertifiedSample& sample, std::size_t label, const OneBox& box) const {
    if (options.stop.stop_requested() || !box.has_inner()) return;
    VerifyOptions limits;
    limits.semantics = options.bounds.semantics;
    limits.iterations = options.bounds.iterations;
    limits.row_tile = options.bounds.row_tile;
    limits.memory_budget = options.bounds.memory_budget;
    limits.more = options.bounds.more;
    limits.timeout_seconds = options.decide_seconds;
    limits.search_seconds = options.decide_seconds;
    limits.branch_seconds = options.decide_seconds;
    limits.stop = options.stop;
    limits.jobs = 1;  // samples are decided side by side
    VerifyResult result = decide(model, limits, {[&] { return robustness(model, label, box); }});
    if (result.verdict == Verdict::kVerified) sample.robustness = Robustness::kCertified;
    if (result.verdict != Verdict::kFalsified) return;
    sample.robustness = Robustness::kFalsified;
    const std::size_t clause = result.counterexample->clause;
    sample.rival = clause < label ? clause : clause + 1;
    sample.counterexample = std::move(result.counterexample->input);
  }

  std::vector<CertifiedSample> certify(const SampleBoxes& boxes,
                                       std::span<const std::size_t> labels) const {
    check(boxes, labels);
    std::vector<CertifiedSample> results(labels.size());
    std::map<std::size_t, std::vector<std::size_t>> groups;  // by verifier
    for (std::size_t i = 0; i < labels.size(); ++i) groups[paired() ? 0 : labels[i]].push_back(i);
    for (const auto& [key, members] : groups) {
      const Verifier verifier = verifier_of(labels[members[0]]);
      for_each_index(members.size(), options.bounds.threads, [&, &of = members](std::size_t k) {
        const std::size_t i = of[k];
        results[i] = answer(verifier, OneBox(boxes, i, inputs).sample, labels[i]);
      });
      const std::vector<std::size_t> open = open_of(members, results);
      if (!open.empty()) bound(verifier, open, labels, boxes, results);
    }
    if (!options.decide) return results;
    std::vector<std::size_t> all(results.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const std::vector<std::size_t> open = open_of(all, results);
    for_each_index(open.size(), options.bounds.threads, [&](std::size_t k) {
      const std::size_t i = open[k];
      decide_open(results[i], labels[i], OneBox(boxes, i, inputs));
    });
    return results;
  }

  static std::vector<std::size_t> open_of(const std::vector<std::size_t>& of,
                                          const std::vector<CertifiedSample>& results) {
    std::vector<std::size_t> open;
    for (const std::size_t i : of)
      if (results[i].robustness == Robustness::kUnknown) open.push_back(i);
    return open;
  }

  void bound(const Verifier& verifier, const std::vector<std::size_t>& open,
             std::span<const std::size_t> labels, const SampleBoxes& boxes,
             std::vector<CertifiedSample>& results) const {
    std::vector<float> lows, highs;
    for (const std::size_t i : open) {
      const OneBox box(boxes, i, inputs);
      lows.insert(lows.end(), box.lower.begin(), box.lower.end());
      highs.insert(highs.end(), box.upper.begin(), box.upper.end());
    }
    const Bounds rows = value_of(verifier.spec_bounds(lows, highs));
    for (std::size_t k = 0; k < open.size(); ++k)
      judge(results[open[k]], labels[open[k]],
            std::span(rows.lower).subspan(k * rows.rows, rows.rows),
            std::span(rows.upper).subspan(k * rows.rows, rows.rows));
  }

  Model model;
  CertifyOptions options;
  std::size_t classes, inputs;
  mutable std::mutex mutex;
  mutable std::map<std::size_t, Verifier> verifiers;
};

const char* to_string(Robustness robustness) noexcept {
  switch (robustness) {
    case Robustness::kCertified:
      return "certified";
    case Robustness::kFalsified:
      return "falsified";
    case Robustness::kUnknown:
      return "unknown";
    case Robustness::kWrong:
      return "wrong";
  }
  return "?";
}

Result<Certifier> Certifier::make(const Model& model, const CertifyOptions& asked) {
  return guarded<Certifier>(kCertifying, [&] {
    CertifyOptions options = asked;
    options.bounds = settled(asked.bounds);
    if (options.decide && options.bounds.norm != Norm::kLinf)
      refuse("BF3501", "decide", "splitting and search are in boxes, not in balls");
    if (!(options.decide_seconds > 0) || std::isinf(options.decide_seconds))
      refuse("BF3501", "decide_seconds",
             fmt::format("{} is no time in seconds", options.decide_seconds));
    if (!model.token_sets().empty())
      refuse("BF2117", "sets of token ids", "samples are certified in boxes about them",
             "verify() decides a property for sets of ids");
    if (model.output_count() < 2) {
      const auto& chosen_by = Library::state(model).chosen_by;
      refuse("BF3501", "model", "a classifier has an output for each class, this model has one",
             chosen_by.empty()
                 ? ""
                 : fmt::format("it is chosen by '{0}': cut the network at the scores of classes, "
                               "--output-tensor {0}, or of the library Cut::outputs",
                               chosen_by));
    }
    return Library::certifier(std::make_shared<const State>(model, options));
  });
}

void hold_balls(std::span<float> lower, std::span<float> upper, std::size_t inputs, Norm norm) {
  if (norm == Norm::kLinf || inputs == 0) return;
  for (std::size_t i = 0; i + inputs <= std::min(lower.size(), upper.size()); i += inputs)
    input::widen_for_ball(lower.subspan(i, inputs), upper.subspan(i, inputs), norm == Norm::kL1);
}

Result<std::vector<CertifiedSample>> Certifier::certify(const SampleBoxes& boxes,
                                                        std::span<const std::size_t> labels) const {
  return guarded<std::vector<CertifiedSample>>(
      kCertifying, [&] { return state_->certify(boxes, labels); },
      Library::state(state_->model).numbers);
}

}  // namespace bf_aot::api
