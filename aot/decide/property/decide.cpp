#include "aot/decide/property/decide.h"

#include <algorithm>
#include <vector>

namespace bf_aot::decide {

void verify_cases(const engine::HostVerifier& verifier, Cases& cases, const StopAsked& stop,
                  const CaseProgress& progress) {
  const std::vector<std::size_t> open = cases.open();
  for (std::size_t k = 0; k < open.size(); ++k) {
    if (stop()) return;
    progress(k, open.size());
    cases.judge(open[k], verifier.spec_bounds(cases.box(open[k])));
  }
  progress(open.size(), open.size());
}

std::optional<Witness> falsify(const engine::HostVerifier& verifier, const Property& property,
                               const Cases& cases, const WitnessCheck& check, double seconds,
                               const StopAsked& stop, const CaseProgress& progress,
                               const SearchStart& start) {
  const Evaluation evaluate = [&](const std::vector<float>& x) { return verifier.evaluate(x); };
  const std::vector<std::size_t> open = cases.open();
  const system::Stopwatch stopwatch;
  for (std::size_t k = 0; k < open.size() && !stop(); ++k) {
    progress(k, open.size());
    // The time that is left is shared by the cases that are left.
    const double share =
        std::max(0.0, seconds - stopwatch.seconds()) / static_cast<double>(open.size() - k);
    if (auto witness = search_violation(property, open[k], evaluate, check, share, stop, start))
      return witness;
  }
  return std::nullopt;
}

}  // namespace bf_aot::decide
