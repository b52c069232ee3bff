#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "aot/apps/certify/certify.h"
#include "aot/input/dataset.h"
#include "aot/library/bf_aot.h"

// These values follow from a question before it is answered.

namespace bf_aot::apps {

// The run that answers the question, without results.
CertifyRun run_of(const std::filesystem::path& model_path, const api::Model& model,
                  const CertifyQuestion& question, const input::Dataset& data);

// A hash of everything that decides the results.
std::string question_hash(const std::filesystem::path& model, const CertifyQuestion& question,
                          const input::Dataset& data);

// The options of the first passage through the samples: in complete runs, of all stages but the
// last.
api::CertifyOptions options_of(const CertifyQuestion& question);

api::DisturbOptions disturb_options(const api::Model& model, const CertifyQuestion& question,
                                    const input::Dataset& data);

// Throws: BF3024 a question that certificates are not about.
void expect_provable(const CertifyRun& run, const CertifyQuestion& question,
                     const std::optional<double>& libm_ulps);

}  // namespace bf_aot::apps
