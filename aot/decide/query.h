#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/request.h"

namespace bf_aot::decide {

// A network that a decision is about, as it was imported, and what its files say about it.
struct SubjectNetwork {
  Sampler sampler;
  ModelInfo info;
};

// Words of messages for where the models of networks are given.
struct ModelWords {
  std::string where;  // "--network"
  std::function<std::string(const std::string& name)>
      to_give;  // how one of network `name` is given
};

// For each network that the query declares, in its order, the index of its model among those that
// are given under these names. A network that is equal to another has that one's model unless it is
// given one. Throws: BF3413 where other networks are named than the query declares.
std::vector<std::size_t> models_of(const Property& property, const std::vector<std::string>& names,
                                   const ModelWords& words);

struct ReadModel {
  Graph graph;
  ModelInfo info;
};

// The networks of a query about several, merged into one. read: gives the model of a declared
// network by its index; called in their order. Throws: BF3408 a network that does not fit its
// declaration; BF3415 networks that are not as equal as the query says; BF2117 networks that read
// token ids; what `read` throws.
SubjectNetwork merge_networks(const Property& property,
                              const std::function<ReadModel(std::size_t)>& read);

// Proves once more that a point violates a case, as a decision of the query does; none where that
// fails. network: of the semantics of the decision. point: as Witness::point.
std::optional<Witness> prove_again(const Sampler& network, const Property& property, bool real,
                                   std::size_t property_case, const std::vector<double>& point);

// Decides as decide() does. A counterexample to a query about several networks has the inputs of
// all of them, one after the other; one that cannot be stated, since a network reads an output
// beyond the range of doubles, decides nothing.
Outcome decide_query(const Sampler& network, const ModelInfo& info, const Property& property,
                     const Request& request, const RequestCalls& calls);

}  // namespace bf_aot::decide
