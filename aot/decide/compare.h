#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/differences.h"
#include "aot/decide/request.h"
#include "aot/input/exact_box.h"

namespace bf_aot::decide {

// Two networks of the same input, as one: the outputs of both, one after the other.
struct NetworkPair {
  Sampler networks;
  ModelInfo info;
  std::vector<std::int64_t> input_source;  // as of a Property
  std::int64_t input_count = 0;
  std::int64_t output_count = 0;  // of each
  // Where both have the same structure.
  std::optional<DifferenceNetwork> difference;
};

// Throws: BF3416 where the networks have not as many inputs, or outputs, or read token ids.
NetworkPair pair_of(Graph first, const ModelInfo& first_info, Graph second,
                    const ModelInfo& second_info);

struct CompareSettings {
  // No output may differ by more: seconds are spent on that question alone.
  std::optional<mpq_class> within;
  bool classes = false;     // whether both networks have the same largest output, too
  double seconds = 20;      // most, to lower what is proven and raise what is attained
  double tolerance = 0.05;  // they may be apart by that share of what is attained
};

struct Comparison {
  std::vector<OutputDifference> outputs;  // second - first
  double proven = 0;                      // no output differs by more, anywhere in the box
  double attained = 0;  // output `output` differs by so much or more at `point`, proven
  std::size_t output = 0;
  std::vector<mpq_class> point;
  std::optional<Outcome> limit;    // of `within`: verified, falsified, unknown
  std::optional<Outcome> classes;  // of `classes`
  std::size_t parts = 0;           // of the box that were bounded
  std::size_t questions = 0;       // thresholds that were decided, or tried
  double seconds = 0;
};

// Bounds how far two networks are apart in a box, whose points, as `attained` and verdicts speak of
// them, are those of the exact one. Networks of the same structure are bounded as a
// difference, of parts of the box where few inputs vary. Then follow questions whether some output
// differs by a number between what is proven and what is attained, each decided as a property is.
// request.method: of the bounds; alpha-crown where there is none.
// Throws: BF3416 settings.classes of more than 64 outputs; as decide().
Comparison compare(const NetworkPair& pair, const input::ExactBox& box, const Request& request,
                   const CompareSettings& settings, const RequestCalls& calls);

// Returns what never holds where both networks prefer one output everywhere in the box: output i is
// largest in the first and j in the second, j is not largest in the first nor i in the second.
Property other_classes(const NetworkPair& pair, const input::ExactBox& box);

// Returns what never holds where no output differs by `limit` or, if strict, by more.
Property differs_by(const NetworkPair& pair, const input::ExactBox& box, const mpq_class& limit,
                    bool strict);

}  // namespace bf_aot::decide
