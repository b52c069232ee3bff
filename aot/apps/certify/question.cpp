#include "aot/apps/certify/question.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "aot/disturb/cells.h"
#include "aot/input/array.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/sha256.h"
#include "runtime/bf.h"

namespace bf_aot::apps {
namespace {

CertifyTask task_of(const CertifyQuestion& question) {
  return question.slopes   ? CertifyTask::kSlopes
         : question.within ? CertifyTask::kWithin
         : question.rows   ? CertifyTask::kRows
                           : CertifyTask::kClasses;
}

std::string numbers_text(const std::vector<vnnlib::Number>& numbers) {
  std::string text;
  for (const vnnlib::Number& number : numbers) text += std::string(number.text) + ",";
  return text;
}

std::string options_text(const std::filesystem::path& model, const CertifyQuestion& question) {
  const input::Normalisation& n = question.normalisation;
  const api::Options& bounds = question.options.bounds;
  return fmt::format(
      "{} {} first {} layout {} {} eps {} within {} scale {} mean {} std {} range {} {} method {} "
      "{} {} norm {} {}",
      BF_VERSION_STRING, sha256(input::read_data_file(model)), question.first,
      question.channels_first, question.channels_last, numbers_text(question.eps),
      question.within ? question.within->text : "", n.scale ? n.scale->text : "",
      numbers_text(n.mean), numbers_text(n.deviation), n.range ? n.range->first.text : "",
      n.range ? n.range->second.text : "", api::to_string(bounds.method),
      static_cast<int>(bounds.semantics), bounds.iterations, static_cast<int>(bounds.norm),
      question.complete
          ? "complete"
          : fmt::format("decide {} {}", question.options.decide, question.options.decide_seconds));
}

std::string cut_text(const api::Cut& cut) {
  std::string text;
  for (const std::string& tensor : cut.outputs)
    text += fmt::format(" output {}:{}", tensor.size(), tensor);
  for (const std::string& tensor : cut.inputs)
    text += fmt::format(" input {}:{}", tensor.size(), tensor);
  for (const auto& [tensor, shape] : cut.shapes)
    text += fmt::format(" shape {}:{} {}", tensor.size(), tensor, fmt::join(shape, ","));
  for (const auto& [tensor, numbers] : cut.fixed)
    text += fmt::format(" fixed {}:{} {}", tensor.size(), tensor, fmt::join(numbers, ","));
  return text;
}

void append_bytes(std::string& text, const std::vector<double>& values) {
  text += fmt::format(" {}:", values.size());
  text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
}

}  // namespace

CertifyRun run_of(const std::filesystem::path& model_path, const api::Model& model,
                  const CertifyQuestion& question, const input::Dataset& data) {
  CertifyRun run;
  run.model = printable(model_path.filename().string());
  run.data = printable(std::filesystem::path(question.files.data).filename().string());
  run.method = api::to_string(question.options.bounds.method);
  const api::Norm norm = question.options.bounds.norm;
  if (norm != api::Norm::kLinf) run.norm = norm == api::Norm::kL2 ? "l2" : "l1";
  run.disturbance = fmt::format("{}", fmt::join(question.disturbances, " "));
  run.task = task_of(question);
  run.decide = question.options.decide && run.task == CertifyTask::kClasses;
  run.complete = question.complete;
  run.decide = run.decide || run.complete;
  run.part = question.part;
  if (run.complete) run.method = "complete";
  run.outputs = model.output_count();
  for (const vnnlib::Number& eps : question.eps) run.radii.emplace_back(eps.text);
  if (run.radii.empty()) run.radii.emplace_back();
  run.thresholds = question.thresholds;
  run.first = question.first;
  run.names = data.names;
  run.labels = data.labels;
  run.jobs = question.options.bounds.threads;
  return run;
}

std::string question_hash(const std::filesystem::path& model, const CertifyQuestion& question,
                          const input::Dataset& data) {
  std::string text = options_text(model, question);
  const auto& more = question.options.bounds.more;
  if (const auto device = more.find("device"); device != more.end())
    text += " device " + device->second;
  for (const std::string& disturbance : question.disturbances)
    text += fmt::format(" disturbance {}:{}", disturbance.size(), disturbance);
  for (const std::vector<double>* const values :
       {&data.values, &data.lower, &data.upper, &data.labels})
    append_bytes(text, *values);
  if (question.rows) {
    for (const std::vector<double>& row : question.rows->rows) append_bytes(text, row);
    append_bytes(text, question.rows->offset);
  }
  if (question.slopes)
    text += fmt::format(" rising {} falling {} least {}", fmt::join(question.slopes->rising, ","),
                        fmt::join(question.slopes->falling, ","), question.slopes->least.text);
  return sha256(text + cut_text(question.cut));
}

api::CertifyOptions options_of(const CertifyQuestion& question) {
  api::CertifyOptions options = question.options;
  if (!question.complete) return options;
  options.stages = api::complete_stages();
  options.stages.pop_back();
  return options;
}

api::DisturbOptions disturb_options(const api::Model& model, const CertifyQuestion& question,
                                    const input::Dataset& data) {
  const auto text = [](const vnnlib::Number& number) { return std::string(number.text); };
  const input::Normalisation& n = question.normalisation;
  api::DisturbOptions options;
  options.disturbances = question.disturbances;
  const disturb::Picture picture = disturb::picture_of(
      model.inputs().size() == 1 ? model.inputs()[0].shape : std::vector<std::int64_t>(), data);
  options.channels = picture.channels;
  options.height = picture.height;
  options.width = picture.width;
  options.channels_last = picture.channels_last;
  if (n.scale) options.scale = text(*n.scale);
  if (n.range) options.clip = {text(n.range->first), text(n.range->second)};
  for (const vnnlib::Number& mean : n.mean) options.mean.push_back(text(mean));
  for (const vnnlib::Number& each : n.deviation) options.deviation.push_back(text(each));
  options.bounds = question.options.bounds;
  options.seconds = question.options.decide_seconds;
  return options;
}

void expect_provable(const CertifyRun& run, const CertifyQuestion& question,
                     const std::optional<double>& libm_ulps) {
  const auto refuse = [](const char* why) {
    fail("BF3024", "--proofs", why, "certify without certificates");
  };
  if (!run.disturbance.empty()) refuse("certificates are about boxes, not disturbances");
  if (run.task != CertifyTask::kClasses) refuse("certificates of samples are about classes");
  if (question.options.bounds.norm != api::Norm::kLinf)
    refuse("certificates are about boxes, not balls");
  if (question.options.bounds.semantics != api::Semantics::kReal && !libm_ulps)
    refuse("certificates are about exact real arithmetic, or about float32 with subnormals");
  if (!question.cut.inputs.empty() || !question.cut.outputs.empty() ||
      !question.cut.shapes.empty() || !question.cut.fixed.empty())
    refuse("certificates are about the whole model, as its file has it");
}

}  // namespace bf_aot::apps
