#include "aot/cli/options/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "aot/decide/request.h"
#include "aot/input/json/read_text.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
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

namespace {

std::size_t number_of(const Property& property, const std::string& name) {
  const auto at = std::ranges::find(property.networks, name, &PropertyNetwork::name);
  return static_cast<std::size_t>(at - property.networks.begin());
}

void check_congruence(const Property& property, const PropertyNetwork& network,
                      const std::vector<NamedGraph>& read) {
  const Graph& own = read.back().graph;
  if (!network.equal_to.empty() &&
      !are_equal_networks(own, read[number_of(property, network.equal_to)].graph))
    fail("BF3415", property.file_name,
         fmt::format("network '{}' is not equal to '{}', as the query says", network.name,
                     network.equal_to),
         "give it the same file, or leave equal-to out");
  if (!network.isomorphic_to.empty() &&
      !are_isomorphic(own, read[number_of(property, network.isomorphic_to)].graph))
    fail("BF3415", property.file_name,
         fmt::format("network '{}' has not the operators and shapes of '{}', as the query says",
                     network.name, network.isomorphic_to),
         "leave isomorphic-to out");
}

}  // namespace

Network read_networks(const ModelArguments& arguments, const std::vector<std::string>& files,
                      const Property& property) {
  std::vector<NamedGraph> read;
  ModelInfo info;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ImportedModel imported = import_model(files[i], {}, {}, arguments.values.compile.cut);
    if (imported.graph.one_hot.size > 0)
      fail("BF2117", "sets of token ids", "a query about several networks decides boxes alone");
    check_network(property, i, imported.graph);
    const PropertyNetwork& network = property.networks[i];
    read.push_back({network.name, std::move(imported.graph)});
    check_congruence(property, network, read);
    join_infos(info, imported.info);
  }
  return {
      decide::Sampler(merge_graphs(std::move(read), property.input_source, property.input_count)),
      std::move(info)};
}

decide::TreeQuestion question_of(const ModelArguments& arguments, const std::string& property_file,
                                 const Property& property) {
  decide::TreeQuestion question;
  question.model = std::filesystem::absolute(arguments.model).string();
  question.property = std::filesystem::absolute(property_file).string();
  question.model_sha256 = sha256(input::read_text(arguments.model, "model"));
  question.property_sha256 = sha256(input::read_text(property_file, "property"));
  question.cut = arguments.values.compile.cut;
  question.semantics = to_string(semantics_of(arguments, property));
  question.flush_to_zero = arguments.values.compile.planner.flush_to_zero;
  return question;
}

ModelArguments arguments_of(const decide::TreeQuestion& question) {
  ModelArguments arguments;
  arguments.model = question.model;
  build::CompileOptions& options = arguments.values.compile;
  options.cut = question.cut;
  options.planner.semantics =
      build::value_named<Semantics>(question.semantics).value_or(Semantics::kReal);
  options.planner.flush_to_zero = question.flush_to_zero;
  return arguments;
}

}  // namespace bf_aot::cli
