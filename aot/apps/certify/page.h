#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aot/apps/certify/results.h"
#include "aot/input/dataset.h"

namespace bf_aot::apps {

// One self-contained page about a run: the curve of certified accuracy over the radii, classes, the
// samples with the least margins (with pictures of them and of counterexamples where they are
// images), and times. `version` is the program's.
std::string certify_page(const CertifyRun& run, const input::Dataset& data,
                         const std::vector<std::int64_t>& input_shape, const std::string& version);

// One page about the runs of several networks, or of one: their shares over the radii, and the
// front of Pareto, clean accuracy against certified share. There must be a run.
std::string front_page(const std::vector<CertifyRun>& runs, const std::string& version);

}  // namespace bf_aot::apps
