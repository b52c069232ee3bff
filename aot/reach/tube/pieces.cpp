#include "aot/reach/tube/pieces.h"

#include <algorithm>

namespace bf_aot::reach {
namespace {

void join(std::vector<Range>& to, const std::vector<Range>& ranges) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = hull(to[i], ranges[i]);
}

}  // namespace

bool Pieces::visit(const Segment& segment, const std::vector<Form>&) {
  made.push_back({segment.period, segment.from, segment.to, ranges_of(segment.state),
                  ranges_of(segment.control)});
  return true;
}

bool Together::visit(const Segment& segment, const std::vector<Form>& initial) {
  second_.visit(segment, initial);
  return first_.visit(segment, initial);
}

void join(std::vector<TubePiece>& to, const std::vector<TubePiece>& tube) {
  if (to.empty()) {
    to = tube;
    return;
  }
  to.resize(std::min(to.size(), tube.size()));
  for (std::size_t k = 0; k < to.size(); ++k) {
    join(to[k].state, tube[k].state);
    join(to[k].control, tube[k].control);
  }
}

}  // namespace bf_aot::reach
