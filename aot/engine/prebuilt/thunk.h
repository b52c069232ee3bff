#pragma once

#include <type_traits>
#include <utility>

#include "aot/engine/prebuilt/prebuilt.h"

namespace bf_aot::engine {
namespace {

// Converts an argument to the type of a function's parameter.
template <typename T>
struct Passed {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  static T from(const Value& value) {
    if constexpr (std::is_pointer_v<Plain>)
      return static_cast<Plain>(const_cast<void*>(value.pointer));
    else if constexpr (std::is_floating_point_v<Plain>)
      return static_cast<Plain>(value.real);
    else if constexpr (std::is_integral_v<Plain>)
      return static_cast<Plain>(value.integer);
    else if constexpr (!std::is_reference_v<T> && std::is_constructible_v<Plain, const void*>)
      return Plain(value.pointer);
    else
      return *static_cast<Plain*>(const_cast<void*>(value.pointer));
  }
};

template <auto kFunction>
struct ThunkOf;
template <typename Result, typename... Parameters, Result (*kFunction)(Parameters...)>
struct ThunkOf<kFunction> {
  static void call(const Value* arguments, void* result) {
    call(arguments, result, std::index_sequence_for<Parameters...>());
  }

 private:
  template <std::size_t... kIndices>
  static void call(const Value* arguments, [[maybe_unused]] void* result,
                   std::index_sequence<kIndices...>) {
    if constexpr (std::is_void_v<Result>)
      kFunction(Passed<Parameters>::from(arguments[kIndices])...);
    else
      *static_cast<Result*>(result) = kFunction(Passed<Parameters>::from(arguments[kIndices])...);
  }
};

// The Thunk that calls kFunction.
template <auto kFunction>
constexpr Thunk thunk = &ThunkOf<kFunction>::call;

}  // namespace
}  // namespace bf_aot::engine
