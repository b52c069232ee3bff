#include "aot/cli/options/question.h"

#include <filesystem>
#include <utility>

#include "aot/decide/request.h"
#include "aot/input/json/read_text.h"
#include "frontend/import/file/importer.h"
#include "frontend/property/vnnlib/vnnlib.h"
#include "frontend/sha256.h"

namespace bf_aot::cli {

Semantics semantics_of(const ModelArguments& arguments, const Property& property) {
  return decide::semantics_of(build::resolved(arguments.values), property);
}

Network read_network(const ModelArguments& arguments) {
  ImportedModel imported = import_model(arguments.model, {}, {}, arguments.values.compile.cut);
  return {decide::Sampler(std::move(imported.graph), arguments.model, arguments.values.compile.cut),
          std::move(imported.info)};
}

Network read_network(const ModelArguments& arguments, const std::vector<std::string>& files,
                     const Property& property) {
  ModelArguments one = arguments;
  if (files.size() == 1) {
    one.model = files[0];
    one.values.compile.cut.hidden = hidden_tensors(property);
    return read_network(one);
  }
  return decide::merge_networks(property, [&](std::size_t network) {
    one.values.compile.cut.hidden = hidden_tensors(property, network);
    ImportedModel imported = import_model(files[network], {}, {}, one.values.compile.cut);
    return decide::ReadModel{std::move(imported.graph), std::move(imported.info)};
  });
}

decide::TreeQuestion question_of(const ModelArguments& arguments,
                                 const std::vector<std::string>& files,
                                 const std::string& property_file, const Property& property) {
  decide::TreeQuestion question;
  for (const std::string& file : files)
    question.models.push_back(
        {std::filesystem::absolute(file).string(), sha256(input::read_text(file, "model"))});
  question.property = std::filesystem::absolute(property_file).string();
  question.property_sha256 = sha256(input::read_text(property_file, "property"));
  question.cut = arguments.values.compile.cut;
  question.semantics = to_string(semantics_of(arguments, property));
  question.flush_to_zero = arguments.values.compile.planner.flush_to_zero;
  return question;
}

ModelArguments arguments_of(const decide::TreeQuestion& question) {
  ModelArguments arguments;
  arguments.model = question.models[0].path;
  build::CompileOptions& options = arguments.values.compile;
  options.cut = question.cut;
  options.planner.semantics =
      build::value_named<Semantics>(question.semantics).value_or(Semantics::kReal);
  options.planner.flush_to_zero = question.flush_to_zero;
  return arguments;
}

}  // namespace bf_aot::cli
