#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "aot/library/bf_aot.h"

namespace bf_aot::apps {

// Functions that a watched call calls, on the thread that made it.
struct Watching {
  std::function<void(std::size_t sample, const api::CertifiedSample& found)> found;
  std::function<void()> idle;  // some 20 times a second
};

// Calls certify() on a thread of its own, so that this thread hears of samples as they are decided.
// A signal ends the call as a stop does. An exception of a function of `watching` ends the call,
// too, and is thrown on.
api::Result<std::vector<api::CertifiedSample>> certify_watched(const api::Certifier& certifier,
                                                               const api::SampleBoxes& boxes,
                                                               std::span<const std::size_t> labels,
                                                               api::CertifyCall call,
                                                               const Watching& watching);

// Calls certify() on a thread of its own. A signal ends the call as a stop does.
api::Result<std::vector<api::DisturbedSample>> disturb_watched(
    const api::DisturbanceCertifier& certifier, std::span<const double> pictures,
    std::span<const std::size_t> labels);

}  // namespace bf_aot::apps
