#include "aot/apps/certify/certify.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "aot/apps/certify/answerer.h"
#include "aot/apps/certify/kept_results.h"
#include "aot/apps/certify/question.h"
#include "aot/apps/certify/samples.h"
#include "aot/apps/certify/value_of.h"
#include "aot/apps/certify/watched.h"
#include "aot/system/interrupt.h"
#include "aot/system/progress.h"

namespace bf_aot::apps {
namespace {

// Samples of a round: enough for every thread to have batches, few enough for progress to move.
constexpr std::size_t kRound = 64;
// Numbers of boxes that are split in one call, which take 28 bytes each.
constexpr std::size_t kMostBoxNumbers = std::size_t{1} << 25;

std::vector<std::int64_t> input_shape_of(const api::Model& model) {
  return model.inputs().size() == 1
             ? model.inputs()[0].shape
             : std::vector<std::int64_t>{static_cast<std::int64_t>(model.input_count())};
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
        model_(value_of(api::Model::load(model_path, question.cut))),
        samples_(question, answer_.data, input_shape_of(model_), model_.input_count()),
        answerer_(model_, question, samples_),
        kept_(question, samples_, answer_, stopwatch_) {
    answer_.input_shape = input_shape_of(model_);
    run_ = run_of(model_path, model_, question, data_);
    kept_.open(model_path, model_.input_count(), outputs);
  }

  CertifyAnswer finish() && {
    system::ProgressBar bar(static_cast<int>(
        std::min<std::size_t>(data_.count() * run_.radii.size(), std::numeric_limits<int>::max())));
    try {
      for (std::size_t radius = 0; radius < run_.radii.size(); ++radius) run_radius(radius, bar);
      if (run_.complete) split_open(bar);
    } catch (const system::Interrupted&) {
      kept_.save();
      throw;
    }
    kept_.finish();
    for (std::string& remark : remarks_of(run_, question_, data_))
      answer_.remarks.push_back(std::move(remark));
    if (explains_) explain();
    kept_.publish_proofs();
    return std::move(answer_);
  }

 private:
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
        if (kept_.has(radius, next) || next % run_.part.count != run_.part.index) continue;
        if (const auto known = kept_.implied(radius, next)) {
          kept_.add({*known});
          continue;
        }
        if (run_.disturbance.empty()) boxes.add(samples_.box(next, radius));
        indices.push_back(next);
      }
      if (indices.empty()) continue;
      bar.show(static_cast<int>(run_.results.size()), run_.radii[radius].empty()
                                                          ? radius_text(run_, radius)
                                                          : "eps " + run_.radii[radius]);
      kept_.add(answerer_.certify(boxes, indices, radius, left()));
      kept_.save_now_and_then();
    }
  }

  // Seconds that are left of a complete run's, at least a moment; 0: no limit.
  double left() const {
    constexpr double kMoment = 1e-3;
    if (!(question_.timeout_seconds > 0)) return 0;
    return std::max(question_.timeout_seconds - stopwatch_.seconds(), kMoment);
  }

  bool is_over() const {
    return question_.timeout_seconds > 0 && stopwatch_.seconds() >= question_.timeout_seconds;
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
    for (std::size_t first = 0; first < open.size() && !is_over(); first += most)
      split(certifier, std::span(open).subspan(first, std::min(most, open.size() - first)), bar);
    for (const std::size_t k : open)
      if (!is_decided(run_.results[k])) kept_.add_row(run_.results[k]);
  }

  void split(const api::Certifier& certifier, std::span<const std::size_t> open,
             system::ProgressBar& bar) {
    api::CertifyCall call;
    call.timeout_seconds = left();
    Boxes boxes;
    std::vector<std::size_t> samples;
    for (const std::size_t k : open) {
      boxes.add(samples_.box(run_.results[k].sample, run_.results[k].radius));
      samples.push_back(run_.results[k].sample);
    }
    // A sample that another radius decides is not split. The call asks and tells one at a time.
    std::vector<std::atomic<bool>> closed(open.size());
    call.wanted = [&](std::size_t i) { return !closed[i]; };
    const auto found = [&](std::size_t i, const api::CertifiedSample& sample) {
      SampleResult& result = run_.results[open[i]];
      if (is_decided(result)) return;
      kept_.decide(result, sample);
      for (std::size_t j = 0; j < open.size(); ++j)
        if (samples[j] == samples[i]) closed[j] = kept_.decide_by_others(run_.results[open[j]]);
    };
    const auto idle = [&] {
      bar.show(static_cast<int>(decided_count()), "splits");
      kept_.save_now_and_then();
    };
    const auto all = value_of(certify_watched(certifier, boxes.view(), answerer_.labels_of(samples),
                                              std::move(call), {found, idle}));
    // Samples that stay open have had their time.
    for (std::size_t i = 0; i < all.size(); ++i)
      if (SampleResult& result = run_.results[open[i]]; !is_decided(result)) take(result, all[i]);
    system::throw_if_interrupted();
  }

  std::size_t decided_count() const {
    return static_cast<std::size_t>(std::ranges::count_if(run_.results, is_decided));
  }

  void explain() {
    for (const SampleResult& result : run_.results) {
      if (result.robustness == api::Robustness::kWrong) continue;
      system::throw_if_interrupted();
      Boxes box;
      box.add(samples_.box(result.sample, result.radius));
      answer_.explanations.push_back(
          {result.radius, result.sample, answerer_.explain(box, result.sample)});
    }
  }

  const system::Stopwatch stopwatch_;
  const CertifyQuestion& question_;
  CertifyAnswer answer_;
  const input::Dataset& data_;
  CertifyRun& run_;
  const bool explains_;
  const api::Model model_;
  const Samples samples_;
  const Answerer answerer_;
  KeptResults kept_;
};

}  // namespace

CertifyAnswer certify(const std::filesystem::path& model_path, const CertifyQuestion& question,
                      const CertifyOutputs& outputs) {
  return Certification(model_path, question, outputs).finish();
}

}  // namespace bf_aot::apps
