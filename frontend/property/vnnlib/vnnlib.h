#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "frontend/property/property.h"

// Reader of VNN-LIB files, versions 1.0 and 2.0; what is accepted and what it means is in
// docs/reference/properties.md. Time and memory are linear in the text, but for `or`s that multiply
// out.

namespace bf_aot {

struct Graph;

// Limits of what a file may ask for. All are far above any known benchmark.
struct PropertyLimits {
  std::uint64_t bytes = std::uint64_t{512} << 20;  // of the text
  std::int64_t variables = std::int64_t{1} << 24;  // inputs, and outputs
  int depth = 200;                                 // of parentheses
  std::size_t disjuncts = std::size_t{1} << 18;    // of all asserts multiplied out
  std::size_t literals = std::size_t{1} << 20;     // in disjuncts that multiplying out makes
  std::size_t box_numbers = std::size_t{1} << 26;  // in the boxes of all cases
  int degree = 64;                                 // of a product
  std::size_t derived = std::size_t{1} << 16;      // products and maxima
  std::size_t choices = std::size_t{1} << 10;      // values of a term that has `ite`s
  std::size_t repeated = std::size_t{1} << 28;     // bytes that `let` and `ite` read again
};

// Throw: CompileError BF34xx, with line and column.
Property read_property(const std::filesystem::path& path, const PropertyLimits& limits = {});
Property parse_property(std::string_view text, std::string_view file_name,
                        const PropertyLimits& limits = {});

// Checks that the property is about this network as it was imported: the numbers of inputs and
// outputs, and in VNN-LIB 2.0 the shapes (dimensions of 1 aside) and names. Of several networks the
// graph is what merge_graphs() made of them. Throws: BF3408, BF3410 several networks where one is
// given.
void check_interface(const Property& property, const Graph& graph);

// Checks the shapes and names of one of the networks of a VNN-LIB 2.0 query. Throws: BF3408.
void check_network(const Property& property, std::size_t network, const Graph& graph);

// Returns the names in the model of the hidden tensors that the query declares of a network, by
// their places among its declared outputs: ModelCut::hidden.
std::map<std::size_t, std::string> hidden_tensors(const Property& property,
                                                  std::size_t network = 0);

}  // namespace bf_aot
