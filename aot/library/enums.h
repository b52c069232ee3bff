#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "aot/build/library.h"
#include "aot/build/options/values.h"
#include "aot/library/bf_aot.h"

// The interface's enums beside those that plans have, whose table of names is theirs, too.

namespace bf_aot::api {

template <class Public, class Internal>
using Pair = std::pair<Public, Internal>;

template <class Public>
inline constexpr int kPairs = 0;

template <>
inline constexpr auto kPairs<Method> = std::to_array<Pair<Method, bf_aot::Method>>({
    {Method::kIbp, bf_aot::Method::kIbp},
    {Method::kCrownIbp, bf_aot::Method::kCrownIbp},
    {Method::kCrown, bf_aot::Method::kCrown},
    {Method::kAlphaCrown, bf_aot::Method::kAlphaCrown},
    {Method::kForward, bf_aot::Method::kForward},
});
template <>
inline constexpr auto kPairs<AlphaRows> = std::to_array<Pair<AlphaRows, bf_aot::AlphaRows>>({
    {AlphaRows::kOutputs, bf_aot::AlphaRows::kOutputs},
    {AlphaRows::kAll, bf_aot::AlphaRows::kAll},
});
template <>
inline constexpr auto kPairs<Norm> = std::to_array<Pair<Norm, bf_aot::Norm>>({
    {Norm::kLinf, bf_aot::Norm::kLargest},
    {Norm::kL2, bf_aot::Norm::kEuclid},
    {Norm::kL1, bf_aot::Norm::kSum},
});
// kFloat32Flushed is kFloat32 with another option.
template <>
inline constexpr auto kPairs<Semantics> = std::to_array<Pair<Semantics, bf_aot::Semantics>>({
    {Semantics::kReal, bf_aot::Semantics::kReal},
    {Semantics::kFloat32, bf_aot::Semantics::kFloat32},
    {Semantics::kFloat32Flushed, bf_aot::Semantics::kFloat32},
    {Semantics::kFloat32Exact, bf_aot::Semantics::kFloat32Exact},
    {Semantics::kQuantisedAny, bf_aot::Semantics::kQuantisedAny},
});
template <>
inline constexpr auto kPairs<Arithmetic> = std::to_array<Pair<Arithmetic, bf_aot::Arithmetic>>({
    {Arithmetic::kFloat, bf_aot::Arithmetic::kFloat},
    {Arithmetic::kInteger, bf_aot::Arithmetic::kInteger},
    {Arithmetic::kAuto, bf_aot::Arithmetic::kAuto},
});
template <>
inline constexpr auto kPairs<Jit> = std::to_array<Pair<Jit, build::JitMode>>({
    {Jit::kOff, build::JitMode::kOff},
    {Jit::kAuto, build::JitMode::kAuto},
    {Jit::kWait, build::JitMode::kWait},
});

// Returns nothing for what is no value of the enum.
template <class Public>
constexpr auto internal_of(Public value) {
  std::optional<typename decltype(kPairs<Public>)::value_type::second_type> found;
  for (const auto& [each, internal] : kPairs<Public>)
    if (each == value) found = internal;
  return found;
}

// Returns nothing where the interface does not have the value.
template <class Public, class Internal>
constexpr std::optional<Public> public_of(Internal value) {
  for (const auto& [each, internal] : kPairs<Public>)
    if (internal == value) return each;
  return std::nullopt;
}

// Returns the name in the table; "?" for what is no value of the enum. It ends in '\0'.
template <class Public>
constexpr std::string_view name_of(Public value) {
  if (const auto internal = internal_of(value))
    for (const auto& each : kNames<typename decltype(internal)::value_type>)
      if (each.value == *internal) return each.name;
  return "?";
}

template <class Public>
std::optional<Public> named(std::string_view name) {
  using Internal = typename decltype(kPairs<Public>)::value_type::second_type;
  const std::optional<Internal> internal = build::value_named<Internal>(name);
  return internal ? public_of<Public>(*internal) : std::nullopt;
}

}  // namespace bf_aot::api
