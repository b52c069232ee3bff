#include "bf/core/relax.h"

#include "aot/engine/prebuilt/tables.h"
#include "aot/engine/prebuilt/thunk.h"
#include "bf/core/rounding.h"
#include "bf/functions/mixtures.h"
#include "bf/functions/relax_functions.h"
#include "bf/sums/slopes.h"

// Relaxations. A plan may make a table anew that it did not store, and relax() then has to make the
// centres that relax_box() made: docs/proofs/relaxations-made-anew.md. So this file is compiled
// without contraction, and says whether it was.

namespace bf_aot::engine {
namespace {

using calls::Routine;

using Relu = void (*)(int, bool, const double*, const float*, const float*, const float*,
                      const bf::RelaxErrors&, double*, const double*, float*, double*, float*);
using Smooth = void (*)(int, const bf::FunctionView&, const double*, const float*, const float*,
                        const float*, const bf::RelaxErrors&, double*, const double*, float*,
                        double*, float*);

constexpr PrebuiltRoutine kAll[] = {
    {Routine::kRelax, {}, thunk<static_cast<Relu>(bf::relax)>},
    {Routine::kRelaxPoint, {}, thunk<bf::relax_at_points>},
    {Routine::kRelaxFunction, {}, thunk<static_cast<Smooth>(bf::relax)>},
    {Routine::kRelaxBox, {}, thunk<bf::relax_box>},
    {Routine::kRelaxSlopes, {}, thunk<bf::relax_slopes>},
    {Routine::kRelaxKnots, {}, thunk<bf::relax_knots>},
};
constexpr Span<PrebuiltRoutine> kList[] = {{kAll, sizeof kAll / sizeof kAll[0]}};

}  // namespace

Span<Span<PrebuiltRoutine>> BF_PREBUILT_NAME(relax_, BF_PREBUILT)() {
  return {kList, 1};
}

bool BF_PREBUILT_NAME(relax_fuses_, BF_PREBUILT)() {
  return bf::fuses_products();
}

}  // namespace bf_aot::engine
