/* A C99 program that includes the header twice and calls everything that it declares. */
#include <string.h>

#include "runtime/bf.h"

static const bf_model_info info = {"net", "0123", "ibp", "real", BF_VERSION_STRING, 2, 1,
                                   0,     64,     16,    24,     BF_ABI_VERSION};

/* Codes from a newer library or a corrupted log still get a text. */
static bf_status beyond_status(void) {
  return (bf_status)(BF_DEVICE_FAILED + 1);
}
static bf_verdict beyond_verdict(void) {
  return (bf_verdict)(BF_PARTLY_OUTSIDE + 1);
}

int main(void) {
  if (strcmp(bf_version(), info.tool_version) != 0) return 1;
  if (info.abi != BF_ABI_VERSION || info.workspace_bytes != 64) return 2;
  if (strcmp(bf_status_text(BF_EMPTY_BOX), "lower bound greater than upper bound") != 0) return 3;
  if (strcmp(bf_verdict_text(BF_VERIFIED), "verified") != 0) return 4;
  if (strcmp(bf_status_text(beyond_status()), "unrecognised status") != 0) return 5;
  if (strcmp(bf_verdict_text(beyond_verdict()), "unrecognised verdict") != 0) return 6;
  return 0;
}
