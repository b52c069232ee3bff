#include "aot/apps/certify/watched.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "aot/system/interrupt.h"

namespace bf_aot::apps {
namespace {

constexpr std::chrono::milliseconds kNap{50};

// The samples that a call has decided and that nobody has been told of.
class Found {
 public:
  using Pairs = std::vector<std::pair<std::size_t, api::CertifiedSample>>;

  void add(std::size_t sample, const api::CertifiedSample& found) {
    const std::scoped_lock lock(mutex_);
    pairs_.emplace_back(sample, found);
    changed_.notify_one();
  }
  void end() {
    const std::scoped_lock lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  // Waits a moment, or until there is something. Returns whether the call is over.
  bool wait(Pairs& fresh) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kNap, [this] { return over_ || !pairs_.empty(); });
    fresh = std::exchange(pairs_, {});
    return over_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Pairs pairs_;
  bool over_ = false;
};

}  // namespace

api::Result<std::vector<api::CertifiedSample>> certify_watched(const api::Certifier& certifier,
                                                               const api::SampleBoxes& boxes,
                                                               std::span<const std::size_t> labels,
                                                               api::CertifyCall call,
                                                               const Watching& watching) {
  Found found;
  std::stop_source stop;
  call.stop = stop.get_token();
  call.decided = [&](std::size_t sample, const api::CertifiedSample& each) {
    found.add(sample, each);
  };
  std::optional<api::Result<std::vector<api::CertifiedSample>>> made;
  std::exception_ptr thrown;
  {
    const std::jthread worker([&] {
      made = certifier.certify(boxes, labels, call);
      found.end();
    });
    Found::Pairs fresh;
    for (bool over = false; !over;) {
      over = found.wait(fresh);
      try {
        for (const auto& [sample, each] : fresh)
          if (!thrown) watching.found(sample, each);
        if (!thrown) watching.idle();
      } catch (...) {
        thrown = std::current_exception();
      }
      if (thrown || system::is_interrupted()) stop.request_stop();
    }
  }
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*made);
}

api::Result<std::vector<api::DisturbedSample>> disturb_watched(
    const api::DisturbanceCertifier& certifier, std::span<const double> pictures,
    std::span<const std::size_t> labels) {
  std::stop_source stop;
  api::DisturbCall call;
  call.stop = stop.get_token();
  auto made =
      std::async(std::launch::async, [&] { return certifier.certify(pictures, labels, call); });
  while (made.wait_for(kNap) != std::future_status::ready)
    if (system::is_interrupted()) stop.request_stop();
  return made.get();
}

}  // namespace bf_aot::apps
