#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "aot/library/bf_aot.h"

namespace bf_aot::api {

// Certifies boxes about one sample, all with its label.
using AskBoxes = std::function<std::vector<CertifiedSample>(const SampleBoxes&)>;

// The explanation of a sample whose box is given, with one box alone.
Explanation explain_sample(const SampleBoxes& box, const AskBoxes& ask);

}  // namespace bf_aot::api
