#include "aot/decide/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "aot/decide/search/token_search.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/merge_graphs.h"
#include "frontend/graph/model.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::decide {
namespace {

std::size_t number_of(const Property& property, const std::string& name) {
  const auto at = std::ranges::find(property.networks, name, &PropertyNetwork::name);
  return static_cast<std::size_t>(at - property.networks.begin());
}

// Throws: BF3415 where the last of the networks is not as equal to others as it is declared.
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

// Throws: BF3413.
std::map<std::string, std::size_t> numbers_of(const Property& property,
                                              const std::vector<std::string>& names,
                                              const ModelWords& words) {
  const std::vector<PropertyNetwork>& declared = property.networks;
  if (declared.empty())
    fail("BF3413", words.where, "the property declares no network: it is in VNN-LIB 1.0",
         "give model and property one after the other");
  std::map<std::string, std::size_t> given;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (std::ranges::find(declared, names[i], &PropertyNetwork::name) == declared.end())
      fail("BF3413", words.where,
           fmt::format("the query declares network '{}', not '{}'", declared[0].name,
                       printable(names[i])),
           words.to_give(declared[0].name));
    if (!given.try_emplace(names[i], i).second)
      fail("BF3413", words.where, fmt::format("network '{}' is given twice", printable(names[i])),
           "give each network one file");
  }
  return given;
}

// The witness with the inputs of all networks; none where a network reads an output that is beyond
// the range of doubles.
std::optional<Witness> with_all_inputs(const Property& property, Witness witness) {
  const bool reads_outputs = std::ranges::any_of(
      property.input_source, [&](std::int64_t i) { return i >= property.input_count; });
  const bool finite = std::ranges::all_of(witness.y, [](double y) { return std::isfinite(y); });
  if (reads_outputs && !finite) return std::nullopt;
  witness.x = whole_inputs(property, witness.x, witness.y);
  return witness;
}

}  // namespace

std::vector<std::size_t> models_of(const Property& property, const std::vector<std::string>& names,
                                   const ModelWords& words) {
  const std::map<std::string, std::size_t> given = numbers_of(property, names, words);
  std::vector<std::size_t> models;
  for (const PropertyNetwork& network : property.networks) {
    const auto found = given.find(network.name);
    if (found != given.end()) {
      models.push_back(found->second);
    } else if (!network.equal_to.empty()) {  // an earlier one
      models.push_back(models[number_of(property, network.equal_to)]);
    } else {
      fail("BF3413", words.where,
           fmt::format("the query declares network '{}', which is not given", network.name),
           words.to_give(network.name));
    }
  }
  return models;
}

SubjectNetwork merge_networks(const Property& property,
                              const std::function<ReadModel(std::size_t)>& read) {
  std::vector<NamedGraph> networks;
  ModelInfo info;
  for (std::size_t i = 0; i < property.networks.size(); ++i) {
    ReadModel model = read(i);
    if (model.graph.one_hot.size > 0)
      fail("BF2117", "sets of token ids", "a query about several networks decides boxes alone");
    check_network(property, i, model.graph);
    networks.push_back({property.networks[i].name, std::move(model.graph)});
    check_congruence(property, property.networks[i], networks);
    join_infos(info, model.info);
  }
  return {Sampler(merge_graphs(std::move(networks), property.input_source, property.input_count)),
          std::move(info)};
}

Outcome decide_query(const Sampler& network, const ModelInfo& info, const Property& property,
                     const Request& request, const RequestCalls& calls) {
  Outcome outcome = decide(network, info, property, request, calls);
  if (outcome.witness) {
    outcome.witness = with_all_inputs(property, std::move(*outcome.witness));
    if (!outcome.witness) outcome.answer = Answer::kUnknown;
  }
  return outcome;
}

std::optional<Witness> prove_again(const Sampler& network, const Property& property, bool real,
                                   std::size_t property_case, const std::vector<double>& point) {
  if (network.graph().one_hot.size > 0) {
    const OneHotProperty tokens = property_of_one_hot(property, network.graph());
    return violation_of_text(tokens, WitnessCheck(tokens.property, network), property_case, point);
  }
  const std::optional<Sampler> ordered = ordered_network(network, property, real);
  const WitnessCheck check(property, network, ordered ? &*ordered : nullptr);
  const std::optional<Witness> found = check.prove(property_case, point);
  return found ? with_all_inputs(property, check.shortened(*found)) : std::nullopt;
}

}  // namespace bf_aot::decide
