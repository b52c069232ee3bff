// Calls every function of a generated verifier, with good arguments and with each bad one, and
// compares the statuses: for coverage, by tests/tools/coverage.py. A function that the verifier
// lacks is not called. On failure it prints the place and ends with 1.
//
//   -DVERIFIER_HEADER="\"net.h\"" -DVERIFIER=net -DVERIFIER_UPPER=NET
//   -DHAS_SPEC -DHAS_PROPERTY where the verifier has them; -DANY_FLOAT_MODE of integers
// test_boxes.h is made from JSON, as the harness's.

#include VERIFIER_HEADER

#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "test_boxes.h"  // kBoxCount, kLower[][inputs], kUpper[][inputs]

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define CALL(name) JOIN(VERIFIER, name)
#define SIZE(what) JOIN(VERIFIER_UPPER, what)

namespace {

constexpr size_t kInputs = SIZE(_INPUTS), kAlign = SIZE(_WORKSPACE_ALIGN);
constexpr float kNan = __builtin_nanf(""), kInfinity = __builtin_inff();

int failures = 0;

void expect(int line, bf_status got, bf_status want) {
  if (got == want) return;
  std::printf("line %d: %s, expected %s\n", line, CALL(_status_text)(got),
              CALL(_status_text)(want));
  ++failures;
}

// Memory with an aligned beginning, and a place in it that is aligned to half of that.
struct Workspace {
  std::vector<unsigned char> memory;
  size_t bytes;

  explicit Workspace(size_t count) : memory(count + 2 * kAlign), bytes(count) {}
  unsigned char* begin() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (kAlign - address % kAlign) % kAlign;
  }
};

// A box with one wrong interval, and what is said of it.
struct BadBox {
  float lower, upper;
  bf_status status;
};
constexpr BadBox kBadBoxes[] = {{kNan, 1, BF_NAN_INPUT},
                                {0, kNan, BF_NAN_INPUT},
                                {-kInfinity, 1, BF_INFINITE_BOX},
                                {0, kInfinity, BF_INFINITE_BOX},
                                {1, 0, BF_EMPTY_BOX}};

// `call(lower, upper, workspace, bytes)` with what every entry refuses.
template <class Call>
void refuse(size_t workspace_bytes, const Call& call) {
  Workspace memory(workspace_bytes);
  unsigned char* const workspace = memory.begin();
  const float* const low = kLower[0];
  const float* const high = kUpper[0];
  expect(__LINE__, call(nullptr, high, workspace, memory.bytes), BF_NULL_ARGUMENT);
  expect(__LINE__, call(low, nullptr, workspace, memory.bytes), BF_NULL_ARGUMENT);
  if (memory.bytes > 0) {
    expect(__LINE__, call(low, high, nullptr, memory.bytes), BF_NULL_ARGUMENT);
    expect(__LINE__, call(low, high, workspace, memory.bytes - 1), BF_WORKSPACE_TOO_SMALL);
    expect(__LINE__, call(low, high, workspace + kAlign / 2, memory.bytes),
           BF_WORKSPACE_MISALIGNED);
    const auto* const inside = reinterpret_cast<const float*>(workspace);
    expect(__LINE__, call(inside, high, workspace, memory.bytes), BF_OVERLAP);
  }
  for (const BadBox& bad : kBadBoxes)
    for (const size_t at : {size_t{0}, kInputs - 1}) {
      std::vector<float> lower(low, low + kInputs), upper(high, high + kInputs);
      lower[at] = bad.lower;
      upper[at] = bad.upper;
      expect(__LINE__, call(lower.data(), upper.data(), workspace, memory.bytes), bad.status);
    }
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const bf_status status = call(low, high, workspace, memory.bytes);
    std::fesetround(FE_TONEAREST);
#if defined(ANY_FLOAT_MODE)
    expect(__LINE__, status, BF_OK);
#else
    expect(__LINE__, status, BF_FLOAT_ENVIRONMENT);
#endif
  }
}

// The given boxes, their lower corners, and one that is wide enough for bounds to overflow.
template <class Call>
void accept(size_t workspace_bytes, const Call& call) {
  Workspace memory(workspace_bytes);
  for (size_t box = 0; box < kBoxCount; ++box) {
    expect(__LINE__, call(kLower[box], kUpper[box], memory.begin(), memory.bytes), BF_OK);
    const std::vector<float> corner(kLower[box], kLower[box] + kInputs);
    expect(__LINE__, call(kLower[box], corner.data(), memory.begin(), memory.bytes), BF_OK);
  }
  const std::vector<float> low(kInputs, -3e38f), high(kInputs, 3e38f), zero(kInputs, 0.0f);
  expect(__LINE__, call(low.data(), high.data(), memory.begin(), memory.bytes), BF_OK);
  expect(__LINE__, call(zero.data(), low.data(), memory.begin(), memory.bytes), BF_EMPTY_BOX);
}

using Bounds = bf_status (*)(const float*, const float*, float*, float*, void*, size_t);

void call_bounds(Bounds bounds, size_t rows) {
  std::vector<float> lower(rows), upper(rows);
  const auto call = [&](const float* low, const float* high, void* workspace, size_t bytes) {
    return bounds(low, high, lower.data(), upper.data(), workspace, bytes);
  };
  refuse(SIZE(_WORKSPACE_BYTES), call);
  accept(SIZE(_WORKSPACE_BYTES), call);
  Workspace memory(SIZE(_WORKSPACE_BYTES));
  expect(__LINE__,
         bounds(kLower[0], kUpper[0], nullptr, upper.data(), memory.begin(), memory.bytes),
         BF_NULL_ARGUMENT);
  expect(__LINE__,
         bounds(kLower[0], kUpper[0], lower.data(), nullptr, memory.begin(), memory.bytes),
         BF_NULL_ARGUMENT);
}

void call_evaluate() {
  std::vector<float> output(SIZE(_OUTPUTS));
  Workspace memory(SIZE(_WORKSPACE_BYTES));
  const auto call = [&](const float* x, float* y, void* workspace, size_t bytes) {
    return CALL(_evaluate)(x, y, workspace, bytes);
  };
  float* const y = output.data();
  for (size_t box = 0; box < kBoxCount; ++box)
    expect(__LINE__, call(kLower[box], y, memory.begin(), memory.bytes), BF_OK);
  const std::vector<float> nan(kInputs, kNan), infinite(kInputs, kInfinity);
  expect(__LINE__, call(nullptr, y, memory.begin(), memory.bytes), BF_NULL_ARGUMENT);
  expect(__LINE__, call(kLower[0], nullptr, memory.begin(), memory.bytes), BF_NULL_ARGUMENT);
  expect(__LINE__, call(nan.data(), y, memory.begin(), memory.bytes), BF_NAN_INPUT);
  expect(__LINE__, call(infinite.data(), y, memory.begin(), memory.bytes), BF_INFINITE_BOX);
  if (memory.bytes == 0) return;
  expect(__LINE__, call(kLower[0], y, nullptr, memory.bytes), BF_NULL_ARGUMENT);
  expect(__LINE__, call(kLower[0], y, memory.begin(), memory.bytes - 1), BF_WORKSPACE_TOO_SMALL);
  const auto* const inside = reinterpret_cast<const float*>(memory.begin());
  expect(__LINE__, call(inside, y, memory.begin(), memory.bytes), BF_OVERLAP);
}

void call_property() {
#if defined(HAS_PROPERTY)
  std::vector<float> point(kInputs), lower(kInputs), upper(kInputs);
  const auto call = [&](const float* low, const float* high, void* workspace, size_t bytes) {
    bf_result result = {BF_UNKNOWN, 0, 0, point.data()};
    return CALL(_verify)(low, high, &result, workspace, bytes);
  };
  const auto without_point = [](const float* low, const float* high, void* workspace,
                                size_t bytes) {
    bf_result result = {BF_UNKNOWN, 0, 0, nullptr};
    return CALL(_verify)(low, high, &result, workspace, bytes);
  };
  constexpr size_t kBytes = SIZE(_VERIFY_WORKSPACE_BYTES);
  refuse(kBytes, call);
  accept(kBytes, call);
  accept(kBytes, without_point);
  Workspace memory(kBytes);
  expect(__LINE__, CALL(_verify)(kLower[0], kUpper[0], nullptr, memory.begin(), kBytes),
         BF_NULL_ARGUMENT);
  for (size_t number = 0; number < SIZE(_PROPERTY_CASES); ++number) {
    expect(__LINE__, CALL(_property_box)(number, lower.data(), upper.data()), BF_OK);
    expect(__LINE__, call(lower.data(), upper.data(), memory.begin(), kBytes), BF_OK);
    std::vector<float> wider = upper, beyond(upper.size());
    for (size_t i = 0; i < kInputs; ++i) {  // partly in the region, and not at all
      wider[i] += 1;
      beyond[i] = upper[i] + 2;
    }
    expect(__LINE__, call(lower.data(), wider.data(), memory.begin(), kBytes), BF_OK);
    expect(__LINE__, call(beyond.data(), beyond.data(), memory.begin(), kBytes), BF_OK);
  }
  bf_result into_box = {BF_UNKNOWN, 0, 0, lower.data()};
  expect(__LINE__, CALL(_verify)(lower.data(), upper.data(), &into_box, memory.begin(), kBytes),
         BF_OVERLAP);
  expect(__LINE__, CALL(_property_box)(0, lower.data(), lower.data()), BF_OVERLAP);
  expect(__LINE__, CALL(_property_box)(SIZE(_PROPERTY_CASES), lower.data(), upper.data()),
         BF_NO_SUCH_CASE);
  expect(__LINE__, CALL(_property_box)(0, nullptr, upper.data()), BF_NULL_ARGUMENT);
  expect(__LINE__, CALL(_property_box)(0, lower.data(), nullptr), BF_NULL_ARGUMENT);
#endif
}

void call_texts() {
  for (int status = 0; status <= BF_DEVICE_FAILED + 1; ++status)
    if (CALL(_status_text)(static_cast<bf_status>(status))[0] == '\0') ++failures;
  if (CALL(_info)()->inputs != kInputs) ++failures;
}

}  // namespace

int main() {
  call_bounds(CALL(_bounds), SIZE(_OUTPUTS));
#if defined(HAS_SPEC)
  call_bounds(CALL(_spec_bounds), SIZE(_SPEC_ROWS));
#endif
  call_evaluate();
  call_property();
  call_texts();
  std::puts(failures == 0 ? "done" : "failed");
  return failures == 0 ? 0 : 1;
}
