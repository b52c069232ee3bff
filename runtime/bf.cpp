// The functions of bf.h, in the common part of C99 and C++17.

#include "bf.h"  // shipped beside it

// Several verifiers of a program may bring this file: the linker keeps one copy.
#if defined(__GNUC__)
#define BF_RUNTIME_COPY __attribute__((weak))
#else
#define BF_RUNTIME_COPY
#endif

#if defined(__cplusplus)

namespace {

// The number of a code that may come from C, where any int fits: reading it as the enumeration
// would be undefined beyond the enumerators.
template <class Code>
unsigned number_of(const Code& code) {
  __underlying_type(Code) number;
  static_assert(sizeof number == sizeof code, "bf: an enumeration has its underlying size");
  __builtin_memcpy(&number, &code, sizeof number);
  return number;
}

}  // namespace

#define BF_NUMBER_OF(code) number_of(code)
#else
#define BF_NUMBER_OF(code) ((unsigned)(code))
#endif

BF_RUNTIME_COPY const char* bf_status_text(bf_status status) {
  switch (BF_NUMBER_OF(status)) {
    case BF_OK:
      return "ok";
    case BF_NULL_ARGUMENT:
      return "null pointer argument";
    case BF_NAN_INPUT:
      return "NaN in the input box";
    case BF_EMPTY_BOX:
      return "lower bound greater than upper bound";
    case BF_INFINITE_BOX:
      return "infinite bound in the input box";
    case BF_WORKSPACE_TOO_SMALL:
      return "workspace too small";
    case BF_WORKSPACE_MISALIGNED:
      return "workspace misaligned";
    case BF_FLOAT_ENVIRONMENT:
      return "rounding not to nearest, subnormals flushed to zero, or products fused";
    case BF_NO_SUCH_CASE:
      return "no such case of the property";
    case BF_CONTEXT_TOO_SMALL:
      return "context too small";
    case BF_CONTEXT_MISALIGNED:
      return "context misaligned";
    case BF_CONTEXT_FOREIGN:
      return "context not initialised, or another verifier's";
    case BF_BLOB_TOO_SMALL:
      return "blob too small";
    case BF_BLOB_FOREIGN:
      return "no blob, or another model's";
    case BF_BLOB_STALE:
      return "blob of another version, method or set of options";
    case BF_BLOB_CORRUPT:
      return "blob with a wrong checksum";
    case BF_BAD_COUNT:
      return "no boxes, or more than a call takes";
    case BF_BAD_EXECUTOR:
      return "executor without run or workers, or one that does not wait for its jobs";
    case BF_FLOAT32_RANGE:
      return "input box beyond the magnitudes for which float32 evaluation cannot overflow";
    case BF_OVERLAP:
      return "arrays that overlap each other, the workspace or the context";
    case BF_DEVICE_FAILED:
      return "a call of the device's library failed, or its memory is full";
  }
  return "unrecognised status";
}

BF_RUNTIME_COPY const char* bf_verdict_text(bf_verdict verdict) {
  switch (BF_NUMBER_OF(verdict)) {
    case BF_UNKNOWN:
      return "unknown";
    case BF_VERIFIED:
      return "verified";
    case BF_FALSIFIED:
      return "falsified";
    case BF_BUDGET:
      return "budget";
    case BF_OUTSIDE:
      return "outside of the property's region";
    case BF_PARTLY_OUTSIDE:
      return "partly outside of the property's region";
  }
  return "unrecognised verdict";
}

BF_RUNTIME_COPY const char* bf_version(void) {
  return BF_VERSION_STRING;
}
