#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "planner/plan/routine.h"

namespace bf_aot::calls {

// An argument is an array of numbers, or one of the kinds of Argument.
enum class ArgumentKind : std::uint8_t {
  kFloat,
  kDouble,
  kInt32,
  kAny,  // an array of floats or doubles
  kInt,
  kBool,
  kReal,
  kElement,
  kLeft,
  kStride,
  kRounding,
  kFunction,
  kFloatFunction,
  kShape,
  kSources,
  kImage,
  kStrides,
  kWindow,
  kLive,
  kZeros,
  kListed,
  kRelaxErrors,
  kPlaneErrors,
  kIntervalErrors,
  kLineBounds,
  kLineErrors,
  kRowErrors,
  kState,
  kCall,
  kGroup,
  kCount,
  kRows,
  kRound,
  kAbsolute,
  kAscent,
};

// Says how a routine uses an array.
enum class ArrayUse : std::uint8_t { kNone, kIn, kOut, kInout };

struct RoutineParameter {
  ArrayUse use = ArrayUse::kNone;  // kNone: it is no array
  ArgumentKind kind = ArgumentKind::kInt;
  std::string_view type;  // the kind's word
  std::string_view name;
  // The elements of an array: a sum of products of integers among the parameters and template
  // parameters, of shape.in, shape.out, shape.weights, image.size, image.pixels, and of numbers; /
  // rounds up.
  std::string_view extent;
  bool may_be_null = false;
};

template <class T, std::size_t kMost>
class ConstantList {
 public:
  constexpr void add(const T& item) { items_.at(size_++) = item; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr const T& operator[](std::size_t i) const { return items_.at(i); }
  constexpr std::size_t size() const { return size_; }

 private:
  std::array<T, kMost> items_ = {};
  std::size_t size_ = 0;
};

// The name, template parameters and parameters of a routine of the runtime.
struct Signature {
  Routine routine = Routine::kBindFloat;
  std::string_view name;                        // "bind_box"
  ConstantList<std::string_view, 3> headers;    // its own, then those of what its arguments name
  ConstantList<std::string_view, 8> constants;  // names of its template parameters
  ConstantList<RoutineParameter, 20> parameters;
};

// The signatures of all routines, in the order of Routine.
std::span<const Signature> signatures();

inline const Signature& signature_of(Routine routine) {
  return signatures()[static_cast<std::size_t>(routine)];
}

}  // namespace bf_aot::calls
