#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "aot/disturb/lines.h"
#include "aot/input/directed.h"
#include "aot/library/for_each_index.h"
#include "aot/library/state.h"
#include "aot/system/progress.h"
#include "frontend/numbers/numbers.h"

namespace bf_aot::api {
namespace {

using disturb::Cell;
using disturb::Parameter;
using disturb::Picture;
using disturb::PictureMaker;
using disturb::Range;

constexpr char kDisturbing[] = "certifying disturbed pictures";

// Parts of the range where the network is evaluated before any bounds, along each side by their
// number; ends are among the points.
constexpr std::array<int, disturb::kMostParameters + 1> kScan = {1, 16, 8, 4};
// Cells of one sample, and cells for each thread, that are bounded together.
constexpr std::size_t kCellsOfSample = 8, kCellsOfThread = 16;
// Numbers of a round's boxes, which take 12 bytes each.
constexpr std::size_t kMostBoxNumbers = std::size_t{1} << 24;

vnnlib::Number number(const std::string& text, const char* option, bool positive) {
  vnnlib::Number read;
  if (vnnlib::parse_quotient(text, read) != vnnlib::NumberError::kNone)
    refuse("BF3501", option, fmt::format("{} is no number", printable(text)));
  if (!std::isfinite(read.below) || !std::isfinite(read.above))
    refuse("BF3501", option, fmt::format("{} is beyond doubles", printable(text)));
  if (positive && !(read.below > 0))
    refuse("BF3501", option, fmt::format("{} is not positive", printable(text)));
  return read;
}

// Its numbers keep texts of the options.
input::Normalisation normalisation_of(const DisturbOptions& options) {
  input::Normalisation made;
  if (!options.scale.empty()) made.scale = number(options.scale, "scale", true);
  for (const std::string& text : options.mean) made.mean.push_back(number(text, "mean", false));
  for (const std::string& text : options.deviation)
    made.deviation.push_back(number(text, "deviation", true));
  if (options.clip.empty()) return made;
  if (options.clip.size() != 2) refuse("BF3501", "clip", "it has two ends");
  made.range = {number(options.clip[0], "clip", false), number(options.clip[1], "clip", false)};
  if (vnnlib::compare(made.range->first, made.range->second) >= 0)
    refuse("BF3501", "clip", "the lower end is not below the upper end");
  return made;
}

// The index of each element's mean and deviation.
std::vector<std::size_t> channels_of(const DisturbOptions& options, const Picture& picture) {
  const std::size_t means = options.mean.size(), deviations = options.deviation.size();
  if (std::min(means, deviations) > 1 && means != deviations)
    refuse("BF3501", "mean", "there are as many means as deviations, or one of either");
  const std::size_t given = std::max(means, deviations);
  if (given > 1 && given != picture.channels && given != picture.size())
    refuse("BF3501", "mean", fmt::format("{} are given for {} channels", given, picture.channels));
  std::vector<std::size_t> channel(picture.size());
  if (given == picture.size()) {
    std::iota(channel.begin(), channel.end(), std::size_t{0});
    return channel;
  }
  for (std::size_t c = 0; c < picture.channels; ++c)
    for (std::size_t y = 0; y < picture.height; ++y)
      for (std::size_t x = 0; x < picture.width; ++x) channel[picture.at(c, y, x)] = c;
  return channel;
}

float nearest(const Range& x) {
  return static_cast<float>(x.middle());
}

Bounded bounded(const Range& x) {
  const double middle = x.middle();
  return {middle, std::max(input::sum(x.high, -middle, true), input::sum(middle, -x.low, true))};
}

}  // namespace

struct DisturbanceCertifier::State {
  // A part of a sample's range that is open.
  struct OpenCell {
    float margin;  // of the cell that it is a part of
    double share;  // of the range
    Cell cell;

    bool operator<(const OpenCell& other) const { return margin > other.margin; }
  };

  struct Sample {
    std::size_t label = 0;
    std::vector<Range> picture;  // scaled
    std::vector<float> undisturbed;
    std::priority_queue<OpenCell> open;
    std::vector<OpenCell> stuck;  // that cannot be split
    DisturbedSample found;
    bool over = false;
  };

  // A cell that is bounded.
  struct Job {
    std::size_t sample = 0;
    OpenCell of;
    std::vector<float> point, lower, upper;  // inputs of the network that is bounded
    double seconds = 0;
  };

  State(const Model& of, const DisturbOptions& asked)
      : options(asked),
        normalisation(normalisation_of(options)),
        model(of),
        maker(disturb::read_disturbances(asked.disturbances, picture(asked), "disturbances"),
              picture(asked), normalisation, channels_of(asked, picture(asked))),
        certifier(make_certifier(false)),
        verifier(make_verifier()) {
    for (const Parameter& parameter : maker.parameters()) names.push_back(parameter.name);
    const decide::Sampler& own = Library::state(model).network;
    if (has_ordered_outputs(own.graph())) ordered = own.ordered();
  }

  static Picture picture(const DisturbOptions& options) {
    return {options.channels, options.height, options.width, options.channels_last};
  }

  // Bounds of cells; with `decides` also splits and search, of pictures themselves.
  Certifier make_certifier(bool decides) const {
    CertifyOptions made;
    made.bounds = options.bounds;
    made.decide = decides;
    made.decide_seconds = options.seconds;
    const bool lines = !decides && maker.ranges() > 0;
    return value_of(Certifier::make(lines ? with_lines(model, maker.ranges()) : model, made));
  }

  Verifier make_verifier() const {
    Options bounds = options.bounds;
    bounds.method = Method::kIbp;
    return value_of(Verifier::make(model, bounds));
  }

  bool is_patch() const { return maker.parameters()[0].kind == disturb::Kind::kPatch; }

  // ---- points

  std::vector<float> floats(const std::vector<Range>& x) const {
    std::vector<float> made;
    made.reserve(x.size());
    for (const Range& each : x) made.push_back(nearest(each));
    return made;
  }

  // Evaluates the network. Returns whether the answer is the label.
  bool is_right(std::span<const float> x, std::size_t label, DisturbedSample& found) const {
    const std::vector<float> y = value_of(verifier.evaluate(x));
    std::size_t rival = label == 0 ? 1 : 0;
    for (std::size_t j = 0; j < y.size(); ++j)
      if (j != label && y[j] > y[rival]) rival = j;
    found.answer = static_cast<std::size_t>(std::max_element(y.begin(), y.end()) - y.begin());
    found.rival = rival;
    found.margin = y[label] - y[rival];
    return y[label] > y[rival];
  }

  // Proves that the answer at an input is not the label, on the network as it was imported.
  bool proves(const Sample& sample, const std::vector<Range>& x, std::size_t& rival) const {
    std::vector<Bounded> input;
    input.reserve(x.size());
    for (const Range& each : x) input.push_back(bounded(each));
    const decide::Sampler& judge = ordered ? *ordered : Library::state(model).network;
    const std::vector<Bounded> y = judge.outputs(input);
    const Bounded& own = y[sample.label];
    const double most = input::sum(own.value, own.error, true);
    for (std::size_t j = 0; j < y.size(); ++j) {
      if (j == sample.label || !(input::sum(y[j].value, -y[j].error, false) >= most)) continue;
      rival = j;
      return true;
    }
    return false;
  }

  // Takes parameters at which the answer seems to be another one, where that is proven.
  // patch: the inputs that cover the square, or empty.
  bool refute(Sample& sample, const std::vector<mpq_class>& parameters,
              std::span<const double> patch) const {
    std::vector<Range> x = disturb::picture_at(maker, sample.picture, parameters);
    if (!patch.empty() && !put(x, patch)) return false;
    if (!proves(sample, x, sample.found.rival)) return false;
    sample.found.robustness = Robustness::kFalsified;
    for (const mpq_class& each : parameters)
      sample.found.parameters.push_back(vnnlib::nearest_double(each));
    for (const Range& each : x) sample.found.counterexample.push_back(each.middle());
    sample.over = true;
    return true;
  }

  // Puts doubles in place of the ranges that a patch may have. Returns false where a range has
  // none that is certainly valid.
  bool put(std::vector<Range>& x, std::span<const double> patch) const {
    const auto valid = [&](const vnnlib::Number& end, std::size_t i) {
      return maker.normalised({end.below, end.above}, i);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double low = valid(normalisation.range->first, i).high;
      const double high = valid(normalisation.range->second, i).low;
      const bool covered = x[i].low <= low && x[i].high >= high;
      if (!covered) continue;
      if (!(low <= high)) return false;
      const double value = std::clamp(patch[i], low, high);
      x[i] = {value, value};
    }
    return true;
  }

  // The parameters in the middle of a cell.
  std::vector<mpq_class> middle_of(const Cell& cell) const {
    std::vector<mpq_class> made;
    for (std::size_t j = 0; j < cell.size(); ++j) {
      const Parameter& parameter = maker.parameters()[j];
      made.push_back(parameter.is_place() ? mpq_class((cell[j].first + cell[j].last) / 2)
                                          : disturb::parameter_at(parameter, cell[j].middle()));
    }
    return made;
  }

  // Evaluates the network on a grid of parameters.
  void scan(Sample& sample) const {
    if (is_patch()) return;
    const std::vector<Parameter>& parameters = maker.parameters();
    const int steps = kScan[parameters.size()];
    std::vector<int> place(parameters.size(), 0);
    DisturbedSample ignored;
    for (bool more = true; more && !sample.over;) {
      std::vector<mpq_class> at;
      for (std::size_t j = 0; j < parameters.size(); ++j) {
        const double u = static_cast<double>(place[j]) / steps;
        at.push_back(parameters[j].is_place()
                         ? mpq_class(static_cast<std::size_t>(
                               u * static_cast<double>(parameters[j].places - 1)))
                         : disturb::parameter_at(parameters[j], u));
      }
      const std::vector<float> x = floats(disturb::picture_at(maker, sample.picture, at));
      if (!is_right(x, sample.label, ignored)) refute(sample, at, {});
      more = false;
      for (int& each : place) {
        if (++each <= steps) {
          more = true;
          break;
        }
        each = 0;
      }
    }
  }

  // ---- cells

  void make_box(Job& job, const Sample& sample) const {
    const system::Stopwatch stopwatch;
    const disturb::Lines lines =
        disturb::lines_of(maker, sample.picture, job.of.cell, fmt::format("sample {}", job.sample));
    const std::size_t sides = maker.ranges();
    std::vector<Range> x = disturb::picture_at(maker, sample.picture, middle_of(job.of.cell));
    job.point.assign(sides, 0.0F);
    job.lower.assign(sides, -1.0F);
    job.upper.assign(sides, 1.0F);
    for (std::vector<float>* const to : {&job.point, &job.lower, &job.upper})
      to->insert(to->end(), lines.slopes.begin(), lines.slopes.end());
    job.lower.insert(job.lower.end(), lines.lower.begin(), lines.lower.end());
    job.upper.insert(job.upper.end(), lines.upper.begin(), lines.upper.end());
    for (std::size_t i = 0; i < x.size(); ++i)
      job.point.push_back(std::clamp(nearest(x[i]), lines.lower[i], lines.upper[i]));
    job.seconds = stopwatch.seconds();
  }

  // Splits a cell that bounds leave open: places first, since a square at one place is exact, then
  // the side along which the picture changes most.
  void split(Sample& sample, const Job& job, float margin) const {
    const OpenCell& of = job.of;
    std::size_t best = of.cell.size();
    double most = -1;
    const std::size_t inputs = maker.picture().size();
    for (std::size_t j = 0; j < of.cell.size(); ++j) {
      const Parameter& parameter = maker.parameters()[j];
      if (!disturb::can_split(parameter, of.cell[j])) continue;
      double change = 0;
      if (parameter.is_place())
        change = 1e30 * static_cast<double>(of.cell[j].last - of.cell[j].first);
      else
        for (std::size_t i = 0; i < inputs; ++i)
          change += std::fabs(static_cast<double>(job.lower[maker.ranges() + j * inputs + i]));
      if (change <= most) continue;
      most = change;
      best = j;
    }
    if (best == of.cell.size()) {
      sample.stuck.push_back(of);
      sample.stuck.back().margin = margin;
      return;
    }
    const auto [low, high] = disturb::halves(maker.parameters()[best], of.cell[best]);
    const auto count = [&](const disturb::Side& side) {
      return static_cast<double>(side.last - side.first + 1);
    };
    for (const disturb::Side& side : {low, high}) {
      OpenCell part = of;
      part.margin = margin;
      part.share *= maker.parameters()[best].is_place() ? count(side) / count(of.cell[best]) : 0.5;
      part.cell[best] = side;
      sample.open.push(std::move(part));
    }
  }

  void take(Sample& sample, const Job& job, const CertifiedSample& bounds) const {
    ++sample.found.cells;
    if (sample.over) return;
    if (bounds.robustness == Robustness::kCertified) {
      sample.found.certified += job.of.share;
      lower_margin(sample, bounds);
      return;
    }
    if (bounds.robustness == Robustness::kWrong && !is_patch() &&
        refute(sample, middle_of(job.of.cell), {}))
      return;
    const float margin = bounds.robustness == Robustness::kWrong
                             ? -std::numeric_limits<float>::infinity()
                             : bounds.margin;
    split(sample, job, margin);
  }

  static void lower_margin(Sample& sample, const CertifiedSample& bounds) {
    if (bounds.margin >= sample.found.margin) return;
    sample.found.margin = bounds.margin;
    sample.found.rival = bounds.rival;
  }

  // Decides patches at one place that bounds leave open, by search and splits of neurons.
  void decide_stuck(Sample& sample) const {
    if (!is_patch() || sample.over) return;
    const system::Stopwatch stopwatch;
    const Certifier& certifies = patch_decider();
    for (const OpenCell& each : std::exchange(sample.stuck, {})) {
      Job job;
      job.of = each;
      make_box(job, sample);
      for (std::size_t i = 0; i < job.point.size(); ++i)
        job.point[i] = std::clamp(sample.undisturbed[i], job.lower[i], job.upper[i]);
      const std::vector<std::size_t> label = {sample.label};
      const CertifiedSample found =
          value_of(certifies.certify({job.point, job.lower, job.upper}, label))[0];
      if (found.robustness == Robustness::kCertified)
        sample.found.certified += each.share;
      else if (found.robustness == Robustness::kFalsified &&
               refute(sample, middle_of(each.cell), found.counterexample))
        break;
      else
        sample.stuck.push_back(each);
      if (sample.found.seconds + stopwatch.seconds() > options.seconds) break;
    }
    sample.found.seconds += stopwatch.seconds();
  }

  const Certifier& patch_decider() const {
    const std::scoped_lock lock(mutex);
    if (!decider) decider = make_certifier(true);
    return *decider;
  }

  // A sample is certified when none of its cells is open.
  void finish(Sample& sample) const {
    if (!sample.over && sample.open.empty() && !sample.stuck.empty()) decide_stuck(sample);
    DisturbedSample& found = sample.found;
    if (!sample.over && sample.open.empty() && sample.stuck.empty()) {
      found.robustness = Robustness::kCertified;
      found.certified = 1;
    } else if (!sample.over) {
      for (const OpenCell& each : sample.stuck) found.margin = std::min(found.margin, each.margin);
      if (!sample.open.empty()) found.margin = std::min(found.margin, sample.open.top().margin);
    }
    sample.over = true;
  }

  // ---- samples

  void begin(Sample& sample, std::span<const double> stored, std::size_t index) const {
    for (std::size_t i = 0; i < stored.size(); ++i)
      check(stored[i], fmt::format("sample {}, input {}", index, i));
    const system::Stopwatch stopwatch;
    sample.picture = maker.scaled(stored);
    for (std::size_t i = 0; i < stored.size(); ++i)
      sample.undisturbed.push_back(nearest(maker.normalised(sample.picture[i], i)));
    if (!is_right(sample.undisturbed, sample.label, sample.found)) {
      sample.found.robustness = Robustness::kWrong;
      sample.over = true;
      return;
    }
    sample.found.margin = std::numeric_limits<float>::infinity();
    sample.open.push({-std::numeric_limits<float>::infinity(), 1, whole(maker.parameters())});
    scan(sample);
    sample.found.seconds = stopwatch.seconds();
  }

  void check(double value, const std::string& where) const {
    if (!std::isfinite(value)) refuse("BF3503", where, fmt::format("{} is not finite", value));
    if (!normalisation.range) return;
    const std::vector<double> one = {value};
    const Range scaled = maker.scaled(one)[0];
    if (scaled.high < normalisation.range->first.below ||
        scaled.low > normalisation.range->second.above)
      refuse("BF3503", where,
             fmt::format("{} is out of the valid range, {} to {}", value,
                         normalisation.range->first.text, normalisation.range->second.text),
             "numbers are divided by the scale first");
  }

  // The cells of a round: the worst of each sample, of the first samples that are not over.
  std::vector<Job> next_jobs(std::vector<Sample>& samples) const {
    const auto threads = static_cast<std::size_t>(std::max(options.bounds.threads, 1));
    const std::size_t inputs = maker.picture().size() * (maker.ranges() + 1);
    const std::size_t most =
        std::clamp<std::size_t>(kMostBoxNumbers / inputs, 1, kCellsOfThread * threads);
    std::vector<Job> jobs;
    for (std::size_t i = 0; i < samples.size() && jobs.size() < most; ++i) {
      Sample& sample = samples[i];
      for (std::size_t k = 0;
           k < kCellsOfSample && !sample.over && !sample.open.empty() && jobs.size() < most; ++k) {
        Job& job = jobs.emplace_back();
        job.sample = i;
        job.of = sample.open.top();
        sample.open.pop();
      }
    }
    return jobs;
  }

  void bound(std::vector<Sample>& samples, std::vector<Job>& jobs) const {
    for_each_index(jobs.size(), options.bounds.threads,
                   [&](std::size_t k) { make_box(jobs[k], samples[jobs[k].sample]); });
    std::vector<float> points, lower, upper;
    std::vector<std::size_t> labels;
    for (const Job& job : jobs) {
      points.insert(points.end(), job.point.begin(), job.point.end());
      lower.insert(lower.end(), job.lower.begin(), job.lower.end());
      upper.insert(upper.end(), job.upper.begin(), job.upper.end());
      labels.push_back(samples[job.sample].label);
    }
    const auto found = value_of(certifier.certify({points, lower, upper}, labels));
    for (std::size_t k = 0; k < jobs.size(); ++k) {
      Sample& sample = samples[jobs[k].sample];
      sample.found.seconds +=
          std::accumulate(found[k].seconds.begin(), found[k].seconds.end(), jobs[k].seconds);
      take(sample, jobs[k], found[k]);
    }
  }

  std::vector<DisturbedSample> certify(std::span<const double> pictures,
                                       std::span<const std::size_t> labels,
                                       const DisturbCall& call) const {
    const std::size_t inputs = maker.picture().size();
    if (pictures.size() != labels.size() * inputs)
      refuse("BF3502", "pictures",
             fmt::format("{} numbers are given for {} labels of {} inputs each", pictures.size(),
                         labels.size(), inputs));
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] >= model.output_count())
        refuse("BF3503", fmt::format("sample {}", i),
               fmt::format("label {} is no class: the model has {} outputs", labels[i],
                           model.output_count()),
               "classes are counted from 0");
    std::vector<Sample> samples(labels.size());
    for_each_index(samples.size(), options.bounds.threads, [&](std::size_t i) {
      samples[i].label = labels[i];
      begin(samples[i], pictures.subspan(i * inputs, inputs), i);
    });
    std::vector<bool> told(samples.size(), false);
    const auto settle = [&] {
      for (std::size_t i = 0; i < samples.size(); ++i) {
        Sample& sample = samples[i];
        if (!sample.over && (sample.open.empty() || sample.found.seconds > options.seconds))
          finish(sample);
        if (!sample.over || told[i]) continue;
        told[i] = true;
        if (call.done) tell([&] { call.done(i, sample.found); });
      }
    };
    settle();
    while (!call.stop.stop_requested()) {
      std::vector<Job> jobs = next_jobs(samples);
      if (jobs.empty()) break;
      bound(samples, jobs);
      settle();
    }
    std::vector<DisturbedSample> all;
    for (Sample& sample : samples) {
      if (!sample.over) finish(sample);
      all.push_back(std::move(sample.found));
    }
    return all;
  }

  const DisturbOptions options;
  const input::Normalisation normalisation;
  const Model model;
  const PictureMaker maker;
  const Certifier certifier;
  const Verifier verifier;
  std::optional<decide::Sampler> ordered;
  std::vector<std::string> names;
  mutable std::mutex mutex;
  mutable std::optional<Certifier> decider;
};

Result<DisturbanceCertifier> DisturbanceCertifier::make(const Model& model,
                                                        const DisturbOptions& asked) {
  return guarded<DisturbanceCertifier>(kDisturbing, [&] {
    DisturbOptions options = asked;
    options.bounds = settled(asked.bounds);
    if (options.bounds.norm != Norm::kLinf)
      refuse("BF3501", "norm", "ranges of parameters are boxes, not balls");
    if (options.bounds.semantics != Semantics::kReal)
      refuse("BF3501", "semantics", "disturbed pictures are certified in real arithmetic");
    if (!(options.seconds > 0) || std::isinf(options.seconds))
      refuse("BF3501", "seconds", fmt::format("{} is no time in seconds", options.seconds));
    if (options.disturbances.empty())
      refuse("BF3501", "disturbances", "there are none", disturb::kinds_text());
    const std::size_t size = State::picture(options).size();
    if (size == 0 || size != model.input_count())
      refuse("BF3501", "height",
             fmt::format("pictures of {} x {} x {} are not the model's {} inputs", options.channels,
                         options.height, options.width, model.input_count()));
    auto state = std::make_shared<const State>(model, options);
    if (state->is_patch() && !state->normalisation.range)
      refuse("BF3501", "clip", "a patch has any valid numbers", "give the range of valid numbers");
    return Library::disturbance_certifier(std::move(state));
  });
}

const std::vector<std::string>& DisturbanceCertifier::parameters() const noexcept {
  return state_->names;
}

Result<std::vector<DisturbedSample>> DisturbanceCertifier::certify(
    std::span<const double> pictures, std::span<const std::size_t> labels,
    const DisturbCall& call) const {
  return guarded<std::vector<DisturbedSample>>(
      kDisturbing, [&] { return state_->certify(pictures, labels, call); },
      Library::state(state_->model).numbers);
}

}  // namespace bf_aot::api
