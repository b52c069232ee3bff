#pragma once

#include "aot/cli/options/options.h"
#include "aot/decide/parts/tree_file.h"
#include "aot/decide/query.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

// The semantics of a decision: float32 for a query about float32, else --semantics.
Semantics semantics_of(const ModelArguments& arguments, const Property& property);

using Network = decide::SubjectNetwork;
Network read_network(const ModelArguments& arguments);

// The network of a query, or several that are merged into one. files: of the declared networks, in
// order. Throws: as merge_networks().
Network read_network(const ModelArguments& arguments, const std::vector<std::string>& files,
                     const Property& property);

// The question that a tree's file keeps, without nodes_sha256, which a search adds. Reads the
// models' files and the property's to hash them.
decide::TreeQuestion question_of(const ModelArguments& arguments,
                                 const std::vector<std::string>& files,
                                 const std::string& property_file, const Property& property);

// The arguments of a command that asks a file's question.
ModelArguments arguments_of(const decide::TreeQuestion& question);

}  // namespace bf_aot::cli
