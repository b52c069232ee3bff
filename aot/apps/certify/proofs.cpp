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

SampleProofs::SampleProofs(const build::ProofOptions& options,
                           const std::optional<double>& libm_ulps,
                           const std::filesystem::path& model, std::size_t inputs,
                           std::size_t classes)
    : set_(options.folder), model_(model), classes_(classes) {
  proof_.models = {prove::bytes_of(model)};
  proof_.ulps = prove::whole_ulps(libm_ulps);
  const std::vector<float> zeros(inputs);
  proof_.property = robustness_text(zeros, zeros, 0, classes);
  prove::expect_covered(proof_, printable(model.string()));
  proof_.seconds = options.seconds;
}

std::string SampleProofs::write(const std::string& name, const input::SampleBox& box,
                                std::size_t label, const SampleResult& result) {
  const bool falsified = result.robustness == api::Robustness::kFalsified;
  if (!falsified && result.robustness != api::Robustness::kCertified) return {};
  proof_.property = robustness_text(box.lower, box.upper, label, classes_);
  proof_.path = set_.folder() / (name + ".bfc");
  const std::vector<mpq_class> point(result.counterexample.begin(), result.counterexample.end());
  prove::ProofReport report = prove::write_proof_file(proof_, falsified ? &point : nullptr);
  if (!report.missing.empty()) return std::move(report.missing);
  system::publish_file(set_.folder() / (name + ".vnnlib"), proof_.property);
  written_.insert(name);
  return {};
}

std::string SampleProofs::name_of(const CertifyRun& run, const SampleResult& result) {
  const std::string& eps = run.radii[result.radius];
  return fmt::format("sample_{}{}{}", run.first + result.sample, eps.empty() ? "" : "_eps_", eps);
}

namespace {

nlohmann::ordered_json to_json(const input::Normalisation& normalisation) {
  const auto text = [](const vnnlib::Number& number) { return std::string(number.text); };
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (normalisation.scale) json["scale"] = text(*normalisation.scale);
  for (const vnnlib::Number& mean : normalisation.mean) json["mean"].push_back(text(mean));
  for (const vnnlib::Number& each : normalisation.deviation) json["std"].push_back(text(each));
  if (normalisation.range)
    json["clip"] = {text(normalisation.range->first), text(normalisation.range->second)};
  return json;
}

const char* word_of(api::Robustness robustness) {
  switch (robustness) {
    case api::Robustness::kCertified:
      return "verified";
    case api::Robustness::kFalsified:
      return "falsified";
    case api::Robustness::kUnknown:
      return "unknown";
    case api::Robustness::kWrong:
      return "wrong";
  }
  return "?";
}

}  // namespace

void SampleProofs::publish(const CertifyRun& run, const input::DataFiles& files,
                           const input::Normalisation& normalisation) {
  const nlohmann::ordered_json model = named_digest(model_);
  nlohmann::ordered_json manifest = {{"models", nlohmann::ordered_json::array({model})},
                                     {"data", named_digest(files.data)}};
  if (!files.labels.empty()) manifest["labels"] = named_digest(files.labels);
  manifest["inputs"] = to_json(normalisation);
  manifest["answers"] = nlohmann::ordered_json::array();
  for (const SampleResult& result : run.results) {
    const std::string name = name_of(run, result);
    nlohmann::ordered_json answer = {{"sample", run.first + result.sample},
                                     {"label", run.labels[result.sample]},
                                     {"answer", word_of(result.robustness)},
                                     {"model", model["sha256"]}};
    if (!run.radii[result.radius].empty()) answer["eps"] = run.radii[result.radius];
    add_files(answer, name, written_.contains(name));
    manifest["answers"].push_back(std::move(answer));
  }
  set_.publish(manifest);
}

}  // namespace bf_aot::apps
