#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "aot/input/json_io.h"
#include "frontend/import/file/model_cut.h"

// Token ids that a user gives: what may stand at each position of a text.

namespace bf_aot {

struct OneHot;

}  // namespace bf_aot

namespace bf_aot::input {

using IdSets = std::vector<std::vector<std::int64_t>>;  // by position

// Reads {"tokens": {"NAME": [..], ..}}: by the name of an input a list with one entry a position,
// in row-major order. An entry is a number or the list of ids that may stand there. An input whose
// entries are all numbers is fixed. Throws: BF30xx.
std::map<std::string, TokenInput> read_tokens(const std::filesystem::path& path);

// The sets of {"ids": [..]}, whose entries are those of read_tokens(). Throws: BF3004, BF3021.
IdSets id_sets_at(const JsonAt& list);

// The box of one-hot inputs in which the ids of `sets` may stand at each position. Throws: BF3021
// where there are other numbers of positions, or an id that the network does not read there.
FloatBox box_of_ids(const OneHot& one_hot, const IdSets& sets, const std::string& where);

}  // namespace bf_aot::input
