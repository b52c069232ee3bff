#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "aot/input/balls.h"
#include "aot/library/explain.h"
#include "aot/library/for_each_index.h"
#include "aot/library/state.h"
#include "aot/system/progress.h"
#include "aot/system/stop.h"

namespace bf_aot::api {
namespace {

constexpr char kCertifying[] = "certifying samples";

// Beyond this, the differences of all pairs cost more than a verifier for each label.
constexpr std::size_t kMostPairedClasses = 16;

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
        inner_upper(part_of(all.inner_upper, i, inputs)) {
    const auto least = part_of(all.range_lower, i, inputs);
    const auto most = part_of(all.range_upper, i, inputs);
    if (!least.empty()) range = {{least.begin(), least.end()}, {most.begin(), most.end()}};
  }

  // Returns whether the doubles that counterexamples are taken from are a box: no end is above the
  // other.
  bool has_inner() const {
    for (std::size_t i = 0; i < inner_lower.size(); ++i)
      if (!(inner_lower[i] <= inner_upper[i])) return false;
    return true;
  }

  std::span<const float> sample, lower, upper;
  std::span<const double> inner_lower, inner_upper;
  Box range;  // empty: counterexamples of balls may be anywhere in them
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

// Plans that decisions of a label share take more memory than they are worth beyond so many numbers
// of all labels' networks.
constexpr std::size_t kMostSharedNumbers = std::size_t{1} << 26;
// Samples of a stage between two looks at the clock, for each thread.
constexpr std::size_t kGroup = 64;
// Parts of a sample's seconds that it has in turn where all samples share a time.
constexpr std::array<double, 2> kTurns = {0.1, 1};
// A search for a counterexample lasts as long as so many bounds by crown, within these seconds.
constexpr double kAttackBounds = 4, kLeastAttack = 0.02, kMostAttack = 1;

std::optional<Method> method_of(Stage stage) {
  switch (stage) {
    case Stage::kIbp:
      return Method::kIbp;
    case Stage::kCrownIbp:
      return Method::kCrownIbp;
    case Stage::kForward:
      return Method::kForward;
    case Stage::kCrown:
      return Method::kCrown;
    case Stage::kAlphaCrown:
      return Method::kAlphaCrown;
    case Stage::kSample:
    case Stage::kAttack:
    case Stage::kSplit:
      return std::nullopt;
  }
  return std::nullopt;
}

Stage stage_of(Method method) {
  switch (method) {
    case Method::kIbp:
      return Stage::kIbp;
    case Method::kCrownIbp:
      return Stage::kCrownIbp;
    case Method::kForward:
      return Stage::kForward;
    case Method::kCrown:
      return Stage::kCrown;
    case Method::kAlphaCrown:
      return Stage::kAlphaCrown;
  }
  return Stage::kCrown;
}

// Seconds of a stage that samples share.
double& seconds_of(CertifiedSample& sample, Stage stage) {
  return sample.seconds[static_cast<std::size_t>(stage)];
}

// One call of certify().
struct Samples {
  const SampleBoxes& boxes;
  const std::span<const std::size_t> labels;
  const CertifyCall& call;
  const system::Stop stop;
  std::vector<CertifiedSample> results;
  const system::Stopwatch stopwatch = {};
  std::mutex telling = {};

  double left() const { return std::max(call.timeout_seconds - stopwatch.seconds(), 1e-3); }

  // Notes that a sample has gone through a stage. Tells the caller where it is decided.
  void end(std::size_t i, Stage stage, double seconds) {
    results[i].stage = stage;
    seconds_of(results[i], stage) += seconds;
    if (!call.decided || results[i].robustness == Robustness::kUnknown) return;
    const std::scoped_lock lock(telling);
    call.decided(i, results[i]);
  }

  bool is_wanted(std::size_t i) {
    if (!call.wanted) return true;
    const std::scoped_lock lock(telling);
    return call.wanted(i);
  }

  std::vector<std::size_t> open() const {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].robustness == Robustness::kUnknown) open.push_back(i);
    return open;
  }
};

}  // namespace

struct Certifier::State {
  State(const Model& of, const CertifyOptions& asked)
      : model(of),
        options(asked),
        may_skip(!asked.stages.empty()),
        classes(of.output_count()),
        inputs(of.input_count()) {
    if (asked.stages.empty()) {
      options.stages.push_back(stage_of(options.bounds.method));
      if (options.decide) options.stages.push_back(Stage::kSplit);
    }
    if (options.bounds.norm != Norm::kLinf) std::erase(options.stages, Stage::kIbp);
    std::erase(options.stages, Stage::kSample);
  }

  bool paired() const { return classes <= kMostPairedClasses; }
  std::size_t key_of(std::size_t label) const { return paired() ? 0 : label; }

  // The verifier whose rows hold the label's differences.
  Verifier verifier_of(Method method, std::size_t label) const {
    const auto key = std::pair(method, key_of(label));
    const std::scoped_lock lock(mutex);
    const auto found = verifiers.find(key);
    if (found != verifiers.end()) return found->second;
    Options bounds = options.bounds;
    bounds.method = method;
    Verifier made = value_of(
        Verifier::make(model, bounds, paired() ? all_pairs(classes) : others(label, classes)));
    verifiers.emplace(key, made);
    return made;
  }

  // The plans that decisions about a label share; null where they would take too much memory.
  decide::RowPlans* plans_of(std::size_t label) const {
    if (Library::state(model).numbers * classes > kMostSharedNumbers) return nullptr;
    const std::scoped_lock lock(mutex);
    return &plans[label];
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
    const std::size_t range = boxes.range_lower.size();
    if (boxes.samples.size() != numbers || boxes.lower.size() != numbers ||
        boxes.upper.size() != numbers || (inner != 0 && inner != numbers) ||
        boxes.inner_upper.size() != inner || (range != 0 && range != numbers) ||
        boxes.range_upper.size() != range)
      refuse("BF3502", "samples",
             fmt::format("{} numbers of samples, {} lower and {} upper ends, {} and {} inner ends, "
                         "{} and {} of ranges are given for {} labels of {} inputs each",
                         boxes.samples.size(), boxes.lower.size(), boxes.upper.size(), inner,
                         boxes.inner_upper.size(), range, boxes.range_upper.size(), labels.size(),
                         inputs));
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
    if (y[label] > y[sample.rival]) {
      sample.margin = -std::numeric_limits<float>::infinity();
    } else {
      sample.margin = y[label] - y[sample.rival];
      sample.robustness = Robustness::kWrong;
    }
    return sample;
  }

  // Takes the bounds of a method, where they are the closest so far.
  void judge(CertifiedSample& sample, std::size_t label, std::span<const float> lower,
             std::span<const float> upper) const {
    bool all_positive = true;
    float least = std::numeric_limits<float>::infinity();
    std::size_t rival = sample.rival;
    for (std::size_t j = 0; j < classes; ++j) {
      if (j == label) continue;
      const float margin = margin_over(label, j, lower, upper);
      if (!(margin > 0)) all_positive = false;
      if (margin >= least) continue;
      least = margin;
      rival = j;
    }
    if (all_positive) sample.robustness = Robustness::kCertified;
    if (!(least > sample.margin)) return;
    sample.margin = least;
    sample.rival = rival;
  }

  VerifyOptions limits_of(double seconds) const {
    VerifyOptions limits;
    limits.semantics = options.bounds.semantics;
    limits.iterations = options.bounds.iterations;
    limits.row_tile = options.bounds.row_tile;
    limits.memory_budget = options.bounds.memory_budget;
    limits.more = options.bounds.more;
    limits.norm = options.bounds.norm;
    limits.timeout_seconds = seconds;
    limits.search_seconds = seconds;
    limits.branch_seconds = seconds;
    limits.jobs = 1;  // samples are decided side by side
    return limits;
  }

  std::stop_token token_of(const CertifyCall& call) const {
    return call.stop.stop_possible() ? call.stop : options.stop;
  }

  // Decides an open sample by verify(), within the limits and the time of all samples.
  void decide_open(Samples& samples, std::size_t i, VerifyOptions limits) const {
    const std::size_t label = samples.labels[i];
    const OneBox box(samples.boxes, i, inputs);
    if (!box.has_inner()) return;
    limits.stop = token_of(samples.call);
    if (samples.call.timeout_seconds > 0)
      limits.timeout_seconds = std::min(limits.timeout_seconds, samples.left());
    VerifyResult result = decide(model, limits, {[&] { return robustness(model, label, box); }},
                                 plans_of(label), box.range.lower.empty() ? nullptr : &box.range);
    CertifiedSample& sample = samples.results[i];
    if (result.verdict == Verdict::kVerified) sample.robustness = Robustness::kCertified;
    if (result.verdict != Verdict::kFalsified) return;
    sample.robustness = Robustness::kFalsified;
    const std::size_t clause = result.counterexample->clause;
    sample.rival = clause < label ? clause : clause + 1;
    sample.counterexample = std::move(result.counterexample->input);
  }

  // Decides open samples by verify(), on all threads, until the samples' time is over.
  template <class Limits>
  void decide_all(Samples& samples, Stage stage, const std::vector<std::size_t>& open,
                  const Limits& limits) const {
    for_each_index(open.size(), options.bounds.threads, [&](std::size_t k) {
      const std::size_t i = open[k];
      if (samples.stop() || !samples.is_wanted(i)) return;
      const system::Stopwatch stopwatch;
      decide_open(samples, i, limits(samples.labels[i]));
      const bool by_bounds = samples.results[i].robustness == Robustness::kCertified;
      samples.end(i, stage == Stage::kAttack && by_bounds ? stage_of(cheapest()) : stage,
                  stopwatch.seconds());
    });
  }

  // Calls work(verifier, samples) for groups of samples whose labels have one verifier, while
  // goes_on() says so.
  template <class GoesOn, class Work>
  void for_each_group(Method method, Samples& samples, const GoesOn& goes_on,
                      const Work& work) const {
    std::map<std::size_t, std::vector<std::size_t>> by_key;
    for (const std::size_t i : samples.open()) by_key[key_of(samples.labels[i])].push_back(i);
    const std::size_t most = kGroup * static_cast<std::size_t>(options.bounds.threads);
    for (const auto& [key, members] : by_key) {
      if (!goes_on()) return;
      const Verifier verifier = verifier_of(method, samples.labels[members[0]]);
      for (std::size_t first = 0; first < members.size() && goes_on(); first += most)
        work(verifier, std::span(members).subspan(first, std::min(most, members.size() - first)));
    }
  }

  void answer_all(Samples& samples) const {
    const auto first = std::ranges::find_if(
        options.stages, [](Stage stage) { return method_of(stage).has_value(); });
    const Method method =
        first == options.stages.end() ? options.bounds.method : *method_of(*first);
    for_each_group(
        method, samples, [] { return true; },
        [&](const Verifier& verifier, std::span<const std::size_t> some) {
          for_each_index(some.size(), options.bounds.threads, [&](std::size_t k) {
            const system::Stopwatch stopwatch;
            const std::size_t i = some[k];
            const OneBox box(samples.boxes, i, inputs);
            samples.results[i] = answer(verifier, box.sample, samples.labels[i]);
            samples.end(i, Stage::kSample, stopwatch.seconds());
          });
        });
  }

  void bound(Samples& samples, Method method) const {
    for_each_group(
        method, samples, [&] { return !samples.stop(); },
        [&](const Verifier& verifier, std::span<const std::size_t> some) {
          if (may_skip && verifier.predicted_seconds() > options.decide_seconds) return;
          bound(samples, verifier, stage_of(method), some);
        });
  }

  void bound(Samples& samples, const Verifier& verifier, Stage stage,
             std::span<const std::size_t> some) const {
    const system::Stopwatch stopwatch;
    std::vector<float> lows, highs;
    for (const std::size_t i : some) {
      const OneBox box(samples.boxes, i, inputs);
      lows.insert(lows.end(), box.lower.begin(), box.lower.end());
      highs.insert(highs.end(), box.upper.begin(), box.upper.end());
    }
    const Bounds rows = value_of(Library::bounds_until(verifier, lows, highs, samples.stop));
    std::vector<std::size_t> bounded;
    for (std::size_t k = 0; k < some.size(); ++k)
      if (!std::isnan(rows.lower[k * rows.rows])) bounded.push_back(k);
    const auto threads = std::min(static_cast<std::size_t>(options.bounds.threads), some.size());
    const double seconds =
        stopwatch.seconds() * static_cast<double>(threads) / static_cast<double>(bounded.size());
    for (const std::size_t k : bounded) {
      judge(samples.results[some[k]], samples.labels[some[k]],
            std::span(rows.lower).subspan(k * rows.rows, rows.rows),
            std::span(rows.upper).subspan(k * rows.rows, rows.rows));
      samples.end(some[k], stage, seconds);
    }
  }

  // Bounds that every network and norm has, and that take least time.
  Method cheapest() const {
    return options.bounds.norm == Norm::kLinf ? Method::kIbp : Method::kCrownIbp;
  }

  // Looks for counterexamples for a short time each. The cheapest bounds, which come with it,
  // certify samples, too.
  void attack(Samples& samples) const {
    decide_all(samples, Stage::kAttack, samples.open(), [&](std::size_t label) {
      const double bounds = verifier_of(Method::kCrown, label).predicted_seconds();
      const double seconds = std::min(
          {std::max(kAttackBounds * bounds, kLeastAttack), kMostAttack, options.decide_seconds});
      VerifyOptions limits = limits_of(options.decide_seconds);
      limits.method = cheapest();
      limits.search_seconds = seconds;
      limits.branch_seconds = 0;
      return limits;
    });
  }

  void split(Samples& samples) const {
    const bool shared = samples.call.timeout_seconds > 0;
    for (const double share :
         shared ? std::vector(kTurns.begin(), kTurns.end()) : std::vector{1.0}) {
      std::vector<std::size_t> open = samples.open();
      std::ranges::stable_sort(open, std::greater(),
                               [&](std::size_t i) { return samples.results[i].margin; });
      decide_all(samples, Stage::kSplit, open,
                 [&](std::size_t) { return limits_of(share * options.decide_seconds); });
    }
  }

  std::vector<CertifiedSample> certify(const SampleBoxes& boxes,
                                       std::span<const std::size_t> labels,
                                       const CertifyCall& call) const {
    check(boxes, labels);
    Samples samples{boxes, labels, call, system::Stop(token_of(call), call.timeout_seconds),
                    std::vector<CertifiedSample>(labels.size())};
    answer_all(samples);
    bool attacks = false;
    for (const Stage stage : options.stages) {
      if (stage == Stage::kAttack) {
        attacks = true;
        continue;
      }
      const std::vector<std::size_t> open = samples.open();
      if (attacks && !open.empty() && !is_quick(stage, labels[open[0]])) {
        attacks = false;
        attack(samples);
      }
      if (const auto method = method_of(stage))
        bound(samples, *method);
      else
        split(samples);
    }
    if (attacks) attack(samples);
    return std::move(samples.results);
  }

  // Returns whether the stage takes less than the shortest search for a counterexample.
  bool is_quick(Stage stage, std::size_t label) const {
    const auto method = method_of(stage);
    return method && verifier_of(*method, label).predicted_seconds() < kLeastAttack;
  }

  Model model;
  CertifyOptions options;  // with stages
  bool may_skip;           // bounds that take long; not where they alone are asked for
  std::size_t classes, inputs;
  mutable std::mutex mutex;
  mutable std::map<std::pair<Method, std::size_t>, Verifier> verifiers;
  mutable std::map<std::size_t, decide::RowPlans> plans;  // by label
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

const char* to_string(Stage stage) noexcept {
  if (const auto method = method_of(stage)) return to_string(*method);
  return stage == Stage::kSample ? "sample" : stage == Stage::kAttack ? "attack" : "split";
}

std::optional<Stage> stage_named(std::string_view name) {
  for (std::size_t i = 0; i < kStages; ++i)
    if (const auto stage = static_cast<Stage>(i); name == to_string(stage)) return stage;
  return std::nullopt;
}

const std::vector<Stage>& complete_stages() {
  static const std::vector<Stage> stages = {Stage::kAttack, Stage::kIbp,        Stage::kCrownIbp,
                                            Stage::kCrown,  Stage::kAlphaCrown, Stage::kSplit};
  return stages;
}

Result<Certifier> Certifier::make(const Model& model, const CertifyOptions& asked) {
  return guarded<Certifier>(kCertifying, [&] {
    CertifyOptions options = asked;
    options.bounds = settled(asked.bounds);
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
                                                        std::span<const std::size_t> labels,
                                                        const CertifyCall& call) const {
  return guarded<std::vector<CertifiedSample>>(
      kCertifying, [&] { return state_->certify(boxes, labels, call); },
      Library::state(state_->model).numbers);
}

Result<Explanation> Certifier::explain(const SampleBoxes& box, std::size_t label) const {
  return guarded<Explanation>(kCertifying, [&] {
    const std::vector<std::size_t> one = {label};
    state_->check(box, one);
    return explain_sample(box, [&](const SampleBoxes& boxes) {
      const std::vector<std::size_t> labels(boxes.samples.size() / state_->inputs, label);
      return state_->certify(boxes, labels, {});
    });
  });
}

}  // namespace bf_aot::api
