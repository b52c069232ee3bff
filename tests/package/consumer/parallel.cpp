#include <cstdio>
#include <cstring>

#include "host/thread_executor.h"
#include "shared.h"

namespace {

alignas(SHARED_WORKSPACE_ALIGN) unsigned char workspace[SHARED_PARALLEL_WORKSPACE_BYTES];

}  // namespace

int main() {
  const bf::host::ThreadExecutor threads(SHARED_PARALLEL);
  const float lower[SHARED_INPUTS] = {-0.1f, -0.1f, -0.1f, -0.1f, -0.1f};
  const float upper[SHARED_INPUTS] = {0.1f, 0.1f, 0.1f, 0.1f, 0.1f};
  float bounds[2][SHARED_OUTPUTS], alone[2][SHARED_OUTPUTS];
  bf_status status = shared_bounds_parallel(lower, upper, bounds[0], bounds[1], workspace,
                                            sizeof workspace, threads.get());
  if (status == BF_OK)
    status = shared_bounds(lower, upper, alone[0], alone[1], workspace, sizeof workspace);
  if (status != BF_OK) std::fprintf(stderr, "%s\n", bf_status_text(status));
  return status != BF_OK || std::memcmp(bounds, alone, sizeof bounds) != 0;
}
