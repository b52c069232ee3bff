#include "aot/prove/curves.h"

namespace bf_aot::prove {

bf_check::Line Curves::line(const bf_check::Part& part, const bf_check::Layer& layer,
                            std::uint32_t row, int sign, unsigned place) {
  Known& known = known_[layer.first_line + row];
  const std::uint32_t argument = layer.column[row];
  const std::int64_t low = part.lower[argument], high = part.upper[argument];
  if (!known.relaxation || known.low != low || known.high != high) {
    known.low = low;
    known.high = high;
    known.lines.clear();
    known.relaxation.emplace(*layer.program[row], low, high, network_.grid);
  }
  const auto [found, is_new] = known.lines.try_emplace({sign, place});
  if (is_new) found->second = known.relaxation->line(sign, place);
  return found->second;
}

}  // namespace bf_aot::prove
