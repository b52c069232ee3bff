#include "aot/apps/certify/proofs.h"

#include <fmt/format.h>

#include <utility>

#include "aot/system/files.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::apps {

std::string robustness_text(const std::vector<float>& lower, const std::vector<float>& upper,
                            std::size_t label, std::size_t classes) {
  std::string text;
  for (std::size_t i = 0; i < lower.size(); ++i)
    text += fmt::format("(declare-const X_{} Real)\n", i);
  for (std::size_t j = 0; j < classes; ++j) text += fmt::format("(declare-const Y_{} Real)\n", j);
  const auto exact = [](float end) {
    return vnnlib::exact_text(mpq_class(static_cast<double>(end)));
  };
  for (std::size_t i = 0; i < lower.size(); ++i)
    text += fmt::format("(assert (<= {} X_{} {}))\n", exact(lower[i]), i, exact(upper[i]));
  text += "(assert (or";
  for (std::size_t j = 0; j < classes; ++j)
    if (j != label) text += fmt::format("\n  (>= Y_{} Y_{})", j, label);
  return text + "))\n";
}

SampleProofs::SampleProofs(const build::ProofOptions& options, const std::filesystem::path& model,
                           std::size_t inputs, std::size_t classes)
    : folder_(options.folder), classes_(classes) {
  proof_.models = {prove::bytes_of(model)};
  const std::vector<float> zeros(inputs);
  proof_.property = robustness_text(zeros, zeros, 0, classes);
  prove::expect_covered(proof_, printable(model.string()));
  proof_.seconds = options.seconds;
  system::make_folder(folder_);
}

std::string SampleProofs::write(const std::string& name, const input::SampleBox& box,
                                std::size_t label, const SampleResult& result) {
  const bool falsified = result.robustness == api::Robustness::kFalsified;
  if (!falsified && result.robustness != api::Robustness::kCertified) return {};
  proof_.property = robustness_text(box.lower, box.upper, label, classes_);
  proof_.path = folder_ / (name + ".bfc");
  const std::vector<mpq_class> point(result.counterexample.begin(), result.counterexample.end());
  prove::ProofReport report = prove::write_proof_file(proof_, falsified ? &point : nullptr);
  if (!report.missing.empty()) return std::move(report.missing);
  system::publish_file(folder_ / (name + ".vnnlib"), proof_.property);
  ++written_;
  return {};
}

}  // namespace bf_aot::apps
