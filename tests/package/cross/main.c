#include <stdint.h>

#if defined(WITHOUT_VERIFIER)
#include "bf.h"
#else
#include "tiny.h"
#endif

#if defined(BOARD)
#include "board.h"
#else
#include <stdio.h>
static void put_text(const char* text) {
  fputs(text, stdout);
}
#endif

int main(void) {
#if defined(WITHOUT_VERIFIER)
  put_text(bf_status_text(BF_EMPTY_BOX));
#else
  static float lower[TINY_INPUTS], upper[TINY_INPUTS], low[TINY_OUTPUTS], high[TINY_OUTPUTS];
  static unsigned char memory[TINY_WORKSPACE_BYTES + TINY_WORKSPACE_ALIGN];
  unsigned char* workspace =
      memory + (TINY_WORKSPACE_ALIGN - (uintptr_t)memory % TINY_WORKSPACE_ALIGN);
  bf_status status;
  lower[0] = 1;
  status = tiny_bounds(lower, upper, low, high, workspace, TINY_WORKSPACE_BYTES);
  put_text(bf_status_text(status));
  lower[0] = 0;
  status = tiny_bounds(lower, upper, low, high, workspace, TINY_WORKSPACE_BYTES);
  put_text(status == BF_OK && low[0] <= high[0] ? ", then bounded\n" : ", then not\n");
#endif
  return 0;
}
