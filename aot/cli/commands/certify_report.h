#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "aot/apps/certify/results.h"

namespace bf_aot::cli {

// The results of a run, and of the run's certificates how many were written, where any were asked
// for.
nlohmann::ordered_json certify_json(const apps::CertifyRun& run, std::optional<std::size_t> proofs);
void print_certified(const apps::CertifyRun& run, std::optional<std::size_t> proofs);

// Prints the networks beside each other, with those on the front of Pareto marked.
void print_front(const std::vector<apps::CertifyRun>& runs);

}  // namespace bf_aot::cli
