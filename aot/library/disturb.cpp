#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "aot/decide/tree/tree_search.h"
#include "aot/disturb/cells.h"
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

// Cells that are bounded together.
constexpr std::size_t kLanes = 8;

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

// Throws: Failed BF3501.
std::vector<std::size_t> channels_of(const DisturbOptions& options, const Picture& picture) {
  std::string fault;
  std::vector<std::size_t> channel =
      disturb::channels_of(options.mean.size(), options.deviation.size(), picture, fault);
  if (!fault.empty()) refuse("BF3501", "mean", std::move(fault));
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
  struct Sample {
    std::size_t index = 0, label = 0;
    std::vector<Range> picture;  // scaled
    std::vector<float> undisturbed;
    DisturbedSample found;
    bool over = false;
    bool is_open = false;              // some cells were not bounded
    std::vector<disturb::Cell> stuck;  // open, and cannot be split
    std::mutex mutex = {};             // of `found` and `stuck`, while threads search

    void lower_margin(float margin, std::size_t rival) {
      if (over || margin >= found.margin) return;
      found.margin = margin;
      found.rival = rival;
    }
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
    made.bounds.threads = 1;  // each thread has samples, or cells, of its own
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
    std::size_t rival = 0;
    if (!proves(sample, x, rival)) return false;
    const std::scoped_lock lock(sample.mutex);
    sample.found.rival = rival;
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

  // Evaluates the network on a grid of parameters.
  void scan(Sample& sample, const system::Stop& stop) const {
    if (is_patch()) return;
    DisturbedSample ignored;
    for (const disturb::Position& point : disturb::grid_of(maker.parameters())) {
      const auto at = disturb::parameters_at(maker.parameters(), point);
      const std::vector<float> x = floats(disturb::picture_at(maker, sample.picture, at));
      if (!is_right(x, sample.label, ignored) && refute(sample, at, {})) return;
      if (stop()) return;
    }
  }

  // ---- cells

  // A node of a sample's tree: a cell, and the margin of the cell that it is a half of.
  static std::vector<std::byte> node_of(const disturb::Cell& cell, float margin) {
    std::vector<std::byte> state = disturb::bytes_of(cell);
    const auto bits = std::bit_cast<std::uint32_t>(margin);
    for (int i = 0; i < 4; ++i) state.push_back(static_cast<std::byte>(bits >> (8 * i)));
    return state;
  }
  disturb::Cell cell_of(const decide::tree::Node& node) const {
    const std::span<const std::byte> state = node.state;
    return *disturb::cell_from(maker.parameters(), state.first(state.size() - 4));
  }
  static float margin_of(const decide::tree::Node& node) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i)
      bits |= std::to_integer<std::uint32_t>(node.state[node.state.size() - 4 + i]) << (8 * i);
    return std::bit_cast<float>(bits);
  }

  // Returns the part of the range that a cell is.
  double share_of(const disturb::Cell& cell) const {
    double share = 1;
    for (std::size_t j = 0; j < cell.size(); ++j) {
      const Parameter& parameter = maker.parameters()[j];
      share *= parameter.is_place() ? static_cast<double>(cell[j].last - cell[j].first + 1) /
                                          static_cast<double>(parameter.places)
                                    : 2 * cell[j].half();
    }
    return share;
  }

  struct CellJob {
    disturb::Cell cell;
    disturb::CellBox box;
    std::vector<float> point;  // of the box: the picture in the cell's middle
  };

  CellJob job_of(const Sample& sample, disturb::Cell cell) const {
    CellJob job;
    job.box =
        disturb::box_of({maker, sample.picture}, cell, fmt::format("sample {}", sample.index));
    const std::size_t first = job.box.lower.size() - sample.picture.size();
    job.point.assign(job.box.lower.begin(),
                     job.box.lower.begin() + static_cast<std::ptrdiff_t>(first));
    std::fill_n(job.point.begin(), maker.ranges(), 0.0F);
    const auto at =
        disturb::parameters_at(maker.parameters(), disturb::middle_of(maker.parameters(), cell));
    const std::vector<Range> x = disturb::picture_at(maker, sample.picture, at);
    for (std::size_t i = 0; i < x.size(); ++i)
      job.point.push_back(
          std::clamp(nearest(x[i]), job.box.lower[first + i], job.box.upper[first + i]));
    job.cell = std::move(cell);
    return job;
  }

  // Bounds cells of one sample.
  class Worker final : public decide::tree::TreeWorker {
   public:
    Worker(const State& state, Sample& sample) : state_(state), sample_(sample) {}

    std::size_t lanes() const override { return kLanes; }

    void expand(std::span<const decide::tree::Node> nodes,
                std::vector<decide::tree::Expansion>& out) override {
      std::vector<CellJob> jobs;
      std::vector<float> points, lower, upper;
      for (const decide::tree::Node& node : nodes) {
        if (!goes_on()) throw decide::tree::Abandoned();
        const CellJob& job = jobs.emplace_back(state_.job_of(sample_, state_.cell_of(node)));
        points.insert(points.end(), job.point.begin(), job.point.end());
        lower.insert(lower.end(), job.box.lower.begin(), job.box.lower.end());
        upper.insert(upper.end(), job.box.upper.begin(), job.box.upper.end());
      }
      const std::vector<std::size_t> labels(jobs.size(), sample_.label);
      const auto found = value_of(state_.certifier.certify({points, lower, upper}, labels));
      for (std::size_t k = 0; k < jobs.size(); ++k) out.push_back(judged(jobs[k], found[k]));
    }

   private:
    decide::tree::Expansion judged(const CellJob& job, const CertifiedSample& bounds) const {
      decide::tree::Expansion made;
      const std::scoped_lock lock(sample_.mutex);
      ++sample_.found.cells;
      if (bounds.robustness == Robustness::kCertified) {
        made.fate = decide::tree::Fate::kClosed;
        sample_.found.certified += state_.share_of(job.cell);
        sample_.lower_margin(bounds.margin, bounds.rival);
        return made;
      }
      const bool wrong = bounds.robustness == Robustness::kWrong;
      const float margin = wrong ? -std::numeric_limits<float>::infinity() : bounds.margin;
      const std::vector<Parameter>& parameters = state_.maker.parameters();
      if (wrong && !state_.is_patch())
        made.proposal = {0, disturb::middle_of(parameters, job.cell)};
      const auto side = disturb::side_to_split(state_.maker, job.cell, job.box);
      if (!side) {
        sample_.stuck.push_back(job.cell);
        sample_.lower_margin(margin, bounds.rival);
        return made;
      }
      made.fate = decide::tree::Fate::kSplit;
      const auto [low, high] = disturb::halves_of(parameters, job.cell, *side);
      made.first = node_of(low, margin);
      made.second = node_of(high, margin);
      return made;
    }

    const State& state_;
    Sample& sample_;
  };

  // Splits the range until no cell is open. threads: that have cells of this sample.
  void search(Sample& sample, std::size_t threads, const system::Stop& stop) const {
    const system::Stopwatch stopwatch;
    const double left = options.seconds - sample.found.seconds;
    decide::tree::TreeState tree = decide::tree::start_of(
        {node_of(disturb::whole(maker.parameters()), -std::numeric_limits<float>::infinity())});
    decide::tree::TreeSearch searches(
        threads, [&](std::size_t) { return std::make_unique<Worker>(*this, sample); });
    decide::tree::TreeCalls calls;
    calls.stop = stop;
    calls.prove = [&](const decide::tree::Proposal& proposal) {
      return refute(sample, disturb::parameters_at(maker.parameters(), proposal.x), {});
    };
    const auto share = static_cast<double>(threads);
    searches.run(tree, {.seconds = std::max(left, 0.0) / share}, calls);
    sample.is_open = !tree.open.empty();
    for (const decide::tree::Node& node : tree.open)
      sample.lower_margin(margin_of(node), sample.found.rival);
    sample.found.seconds += stopwatch.seconds() * share;
  }

  // Decides patches at one place that bounds leave open, by search and splits of neurons.
  void decide_stuck(Sample& sample) const {
    if (!is_patch()) return;
    const system::Stopwatch stopwatch;
    const double left = options.seconds - sample.found.seconds;
    std::vector<disturb::Cell> open = std::exchange(sample.stuck, {});
    for (; !open.empty() && !sample.over && stopwatch.seconds() < left; open.pop_back())
      decide(sample, open.back());
    std::ranges::move(open, std::back_inserter(sample.stuck));  // the time was over
    sample.found.seconds += stopwatch.seconds();
  }

  void decide(Sample& sample, const disturb::Cell& cell) const {
    CellJob job = job_of(sample, cell);
    for (std::size_t i = 0; i < job.point.size(); ++i)
      job.point[i] = std::clamp(sample.undisturbed[i], job.box.lower[i], job.box.upper[i]);
    const std::vector<std::size_t> label = {sample.label};
    const CertifiedSample found =
        value_of(patch_decider().certify({job.point, job.box.lower, job.box.upper}, label))[0];
    const auto place =
        disturb::parameters_at(maker.parameters(), disturb::middle_of(maker.parameters(), cell));
    if (found.robustness == Robustness::kCertified)
      sample.found.certified += share_of(cell);
    else if (found.robustness != Robustness::kFalsified ||
             !refute(sample, place, found.counterexample))
      sample.stuck.push_back(cell);
  }

  const Certifier& patch_decider() const {
    const std::scoped_lock lock(mutex);
    if (!decider) decider = make_certifier(true);
    return *decider;
  }

  // A sample is certified when none of its cells is open.
  void finish(Sample& sample) const {
    if (!sample.over && !sample.is_open && !sample.stuck.empty()) decide_stuck(sample);
    if (sample.over || sample.is_open || !sample.stuck.empty()) return;
    sample.found.robustness = Robustness::kCertified;
    sample.found.certified = 1;
  }

  // ---- samples

  void begin(Sample& sample, std::span<const double> stored, const system::Stop& stop) const {
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
    scan(sample, stop);
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
    for (std::size_t i = 0; i < pictures.size(); ++i)
      check(pictures[i], fmt::format("sample {}, input {}", i / inputs, i % inputs));
    const system::Stop stop(call.stop);
    const auto threads = static_cast<std::size_t>(std::max(options.bounds.threads, 1));
    const std::size_t each =
        std::max<std::size_t>(threads / std::max<std::size_t>(labels.size(), 1), 1);
    std::vector<DisturbedSample> all(labels.size());
    const auto caller = std::this_thread::get_id();
    std::mutex telling;
    std::vector<std::size_t> fresh;  // samples that the caller has not been told of
    const auto tell_fresh = [&] {
      std::vector<std::size_t> told;
      {
        const std::scoped_lock lock(telling);
        told.swap(fresh);
      }
      if (!call.done) return;
      for (const std::size_t i : told) tell([&] { call.done(i, all[i]); });
    };
    for_each_index(labels.size(), static_cast<int>(threads), [&](std::size_t i) {
      Sample sample;
      sample.index = i;
      sample.label = labels[i];
      begin(sample, pictures.subspan(i * inputs, inputs), stop);
      if (!sample.over) search(sample, each, stop);
      finish(sample);
      all[i] = std::move(sample.found);
      {
        const std::scoped_lock lock(telling);
        fresh.push_back(i);
      }
      if (std::this_thread::get_id() == caller) tell_fresh();
    });
    tell_fresh();
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
