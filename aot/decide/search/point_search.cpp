#include "aot/decide/search/point_search.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <utility>

#include "aot/decide/search/bounds_and_points.h"
#include "aot/decide/tree/shared_stop.h"
#include "aot/engine/run/pool.h"
#include "aot/engine/run/recording.h"
#include "aot/system/progress.h"
#include "frontend/property/derived_values.h"

namespace bf_aot::decide {
namespace {

// A larger number of elements of all layers leaves out gradients of points, which take 200 bytes
// for each.
constexpr std::int64_t kMostGradientElements = 4'000'000;

}  // namespace

void PointSearch::use(const DecisionVerifier* verifier) {
  searchers_.clear();
  made_ = verifier;
}

std::optional<Witness> PointSearch::run(Cases& cases, const SearchBudget& budget,
                                        const SearchCalls& calls) {
  const system::Stopwatch stopwatch;
  const std::size_t threads = searches_ == 0 ? 1 : workers();
  while (searchers_.size() < threads) add_searcher();
  std::vector<std::optional<Witness>> found(threads);
  std::mutex proving;
  tree::SharedStop stopped(calls.stop);
  const PointCheck prove = [&](std::size_t property_case, const std::vector<double>& x) {
    const std::scoped_lock lock(proving);
    return calls.prove(property_case, x);
  };
  const auto stop = [&] { return stopped(); };
  const CaseProgress progress = [&](std::size_t done, std::size_t count) {
    if (stopped.is_asking_thread()) calls.progress({phase(), done, count});
  };
  const auto seek = [&](std::size_t i, std::size_t) {
    const double left = budget.seconds - stopwatch.seconds();
    if (i > 0 && left <= 0) return;
    const SearchStart start{searches_ + 1 + static_cast<unsigned>(i), searchers_[i].gradients.get(),
                            cases.norm()};
    const engine::HostVerifier& host = i == 0 ? *made_->host : *searchers_[i].host;
    found[i] =
        falsify(evaluation(host), cases.property(), cases, prove, left, stop, progress, start);
    if (found[i]) stopped.set();
  };
  engine::RoundRecorder round(engine::RoundKind::kSearch);
  round.time([&] { engine::share(threads, threads, seek, stop); });
  searches_ += static_cast<unsigned>(threads);
  seconds_ += stopwatch.seconds();
  const auto first = std::ranges::find_if(found, [](const auto& each) { return each.has_value(); });
  return first != found.end() ? std::move(*first) : std::nullopt;
}

void PointSearch::add_searcher() {
  Searcher made;
  if (!searchers_.empty()) made.host = made_->host->twin();
  if (elements() <= kMostGradientElements)
    made.gradients = std::make_unique<RowGradients>(*made_->plan);
  searchers_.push_back(std::move(made));
}

// The number of threads that search: at most as many as there is memory for their gradients, and
// one where the verifier itself judges points.
std::size_t PointSearch::workers() const {
  if (made_->plan->config.semantics == Semantics::kFloat32Exact) return 1;
  const std::int64_t most = std::max<std::int64_t>(kMostGradientElements / elements(), 1);
  return std::min(jobs_, static_cast<std::size_t>(most));
}

std::int64_t PointSearch::elements() const {
  std::int64_t elements = 1;
  for (const Layer& layer : made_->plan->layers) elements += layer.out;
  return elements;
}

Evaluation PointSearch::evaluation(const engine::HostVerifier& host) const {
  return [this, &host](const std::vector<float>& point) {
    std::vector<float> y = host.evaluate(point);
    if (whole_.derived.empty()) return y;
    const std::vector<double> given(point.begin(), point.end());
    const std::vector<double> all = derived_values(
        whole_.derived, fixed_ != nullptr ? fixed_->whole(given) : given, {y.begin(), y.end()});
    return std::vector<float>(all.begin(), all.end());
  };
}

}  // namespace bf_aot::decide
