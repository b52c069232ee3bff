#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "planner/plan/functions.h"
#include "runtime/bf.h"
#include "runtime/bf/contract/limit.h"

namespace bf_aot::engine {

// The types of pointers to exported functions, from their signatures.

template <ParameterType kType>
struct CType;
template <>
struct CType<ParameterType::kFloats> : std::type_identity<float> {};
template <>
struct CType<ParameterType::kMemory> : std::type_identity<void> {};
template <>
struct CType<ParameterType::kResult> : std::type_identity<bf_result> {};
template <>
struct CType<ParameterType::kStatus> : std::type_identity<bf_status> {};
template <>
struct CType<ParameterType::kBudget> : std::type_identity<bf_budget> {};
template <>
struct CType<ParameterType::kSearch> : std::type_identity<bf_search> {};
template <>
struct CType<ParameterType::kCounters> : std::type_identity<bf_cache_counters> {};
template <>
struct CType<ParameterType::kExecutor> : std::type_identity<bf_executor> {};
template <>
struct CType<ParameterType::kLimit> : std::type_identity<bf_limit> {};
template <>
struct CType<ParameterType::kReached> : std::type_identity<bf_reached> {};

template <ParameterType kType, bool kWritten>
struct Argument {
  using Pointee = typename CType<kType>::type;
  using type = std::conditional_t<kWritten, Pointee*, const Pointee*>;
};
template <bool kWritten>
struct Argument<ParameterType::kSize, kWritten> : std::type_identity<std::size_t> {};

template <bool kWritten>
struct Argument<ParameterType::kCode, kWritten> : std::type_identity<bf_status> {};

template <Purpose kPurpose>
struct Result : std::type_identity<bf_status> {};
template <>
struct Result<Purpose::kInfo> : std::type_identity<const bf_model_info*> {};
template <>
struct Result<Purpose::kStatusText> : std::type_identity<const char*> {};

template <Signature kSignature, std::size_t... kIndices>
auto exported_pointer(std::index_sequence<kIndices...>) {
  return static_cast<typename Result<kSignature.purpose>::type (*)(
      typename Argument<parameters_of(kSignature)[kIndices].type,
                        parameters_of(kSignature)[kIndices].written>::type...)>(nullptr);
}

template <Signature kSignature>
using ExportedPointer = decltype(exported_pointer<kSignature>(
    std::make_index_sequence<parameters_of(kSignature).size()>()));

}  // namespace bf_aot::engine
