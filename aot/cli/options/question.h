#pragma once

#include "aot/cli/options/options.h"
#include "aot/decide/parts/tree_file.h"
#include "aot/decide/property/sample.h"
#include "frontend/property/property.h"

namespace bf_aot::cli {

// As the query says, or the option.
Semantics semantics_of(const ModelArguments& arguments, const Property& property);

// The network that counterexamples are checked on.
decide::Sampler network_of(const ModelArguments& arguments, const Property& property);

// What is searched, but for what nodes speak of, which a search says. Reads the files.
decide::TreeQuestion question_of(const ModelArguments& arguments, const std::string& property_file,
                                 const Property& property);

// The options that ask a file's question.
ModelArguments arguments_of(const decide::TreeQuestion& question);

}  // namespace bf_aot::cli
