#pragma once

#include <gmpxx.h>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "aot/reach/numbers/interval.h"
#include "aot/reach/question/loop.h"

namespace bf_aot::reach {

// States that a requirement forbids in its window: those whose named elements all lie in their
// ranges. Ends are rounded to doubles: they are drawn, and nothing rests on them.
struct Zone {
  std::size_t requirement = 0;
  mpq_class from, to;
  std::map<std::size_t, Range> limits;  // state -> what it must not be, together with the others
};

// The zones of comparisons whose value is affine in one element of the state. What else a
// requirement forbids is left out.
std::vector<Zone> forbidden_zones(const Question& question);

// Pairs of states that a requirement speaks of, the first requirement's first; of a question
// without such pairs the first two states. At most `most`.
std::vector<std::pair<std::size_t, std::size_t>> pairs_to_show(const Question& question,
                                                               std::size_t most);

}  // namespace bf_aot::reach
