#include "aot/engine/jit/jit_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <string_view>
#include <variant>
#include <vector>

#include "aot/emit/calls/calls.h"
#include "aot/emit/constants/shapes.h"
#include "aot/emit/kernels/kernels.h"
#include "planner/lowering/routines.h"

namespace bf_aot::engine {
namespace {

using calls::Argument;
using calls::Call;

constexpr char kShapeName[] = "shape";

// The types in which arguments arrive, and their conversions to those that routines and kernels
// take.
constexpr char kArguments[] = R"(union Value {
  const void* pointer;
  std::int64_t integer;
  double real;
};

// An argument of any type.
struct Given {
  const Value& value;
  template <typename T>
  operator T*() const {
    return static_cast<T*>(const_cast<void*>(value.pointer));
  }
  template <typename T, std::enable_if_t<std::is_class_v<T>, int> = 0>
  operator const T&() const {
    return *static_cast<const T*>(value.pointer);
  }
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  operator T() const {
    return static_cast<T>(value.integer);
  }
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  operator T() const {
    return static_cast<T>(value.real);
  }
};

)";

// Prints arguments that are constants of the call; others are what the caller gives.
struct FixedText {
  std::string operator()(const calls::Integer& argument) const {
    return std::to_string(argument.value);
  }
  std::string operator()(const calls::Flag& argument) const {
    return argument.value ? "true" : "false";
  }
  std::string operator()(const calls::Zeros& argument) const {
    switch (argument.where) {
      case calls::Zeros::Where::kNowhere:
        return "false";
      case calls::Zeros::Where::kWhereMany:
        return argument.list == BufferId::kNone ? "true" : "";
      case calls::Zeros::Where::kEverywhere:
        break;
    }
    return "true";
  }
  std::string operator()(const calls::Shape& argument) const {
    const std::string name = emit::shape_name(kShapeName, argument);
    return argument.type ? fmt::format("bf::FixedShape<{}>{{}}", name) : name;
  }
  std::string operator()(const StridedView& argument) const {
    return calls::sources_text(argument);
  }
  std::string operator()(const calls::Live& argument) const {
    return argument.list == BufferId::kNone ? "bf::AllLive{}" : "";
  }
  template <typename Other>
  std::string operator()(const Other&) const {
    return "";
  }
};

const calls::Shape* shape_in(const Call& call) {
  for (const Argument& argument : call.arguments)
    if (const auto* const shape = std::get_if<calls::Shape>(&argument)) return shape;
  return nullptr;
}

// The arguments as text; the caller's begin with number `first`.
std::string arguments_of(const Call& call, std::size_t first) {
  std::vector<std::string> made;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    std::string text = std::visit(FixedText(), argument);
    const std::string given = fmt::format("Given{{a[{}]}}", first + i);
    if (text.empty() && std::holds_alternative<calls::Live>(argument))
      text = fmt::format("*static_cast<const bf::LivePixels*>(a[{}].pointer)", first + i);
    made.push_back(text.empty() ? given : text);
  }
  return fmt::format("{}", fmt::join(made, ",\n      "));
}

std::string wrapper(const std::string& callee, const std::string& arguments) {
  return fmt::format("extern \"C\" void {}(const Value* a, void*) {{\n  {}(\n      {});\n}}\n",
                     kJitFunction, callee, arguments);
}

template <typename Headers>
std::string includes(const Headers& headers) {
  std::string text = "#include <cstdint>\n#include <type_traits>\n\n";
  for (const std::string_view header : headers) text += fmt::format("#include \"{}\"\n", header);
  return text + "\n";
}

std::string kernel_unit(const Plan& plan, const Kernel& kernel, const Call& call) {
  loop::Needs needs;
  const std::string body = emit::print_kernel(kernel, needs);
  Plan frame;
  frame.config.target = plan.config.target;
  frame.kernels = {kernel};
  return includes(std::array{"bf/core/kernel.h"}) + emit::emit_prelude(frame, needs) + "\n" +
         kArguments + body + "\n}  // namespace\n\n" +
         wrapper(kernel.function, arguments_of(call, 1));
}

// The tile is the rule's for the shape: no sum depends on it.
std::string routine_unit(const Plan& plan, const calls::Shape& shape, const Call& call) {
  const calls::Signature& signature = signature_of(std::get<calls::Routine>(call.callee));
  std::vector<std::string> constants;
  for (const calls::TemplateArgument& constant : call.constants)
    constants.push_back(std::holds_alternative<calls::Tile>(constant)
                            ? "bf::PortableTile"
                            : std::visit(calls::ConstantText(plan), constant));
  std::string callee = fmt::format("bf::{}", signature.name);
  if (!constants.empty()) callee += fmt::format("<{}>", fmt::join(constants, ", "));
  const LinearMap& map = plan.layer(shape.layer).term(shape.term).map;
  return includes(signature.headers) + "namespace {\n\n" + kArguments +
         emit::emit_conv_shape(kShapeName, std::get<ConvMap>(map).geometry, shape) +
         "\n}  // namespace\n\n" + wrapper(callee, arguments_of(call, 0));
}

}  // namespace

std::optional<std::string> jit_source(const Plan& plan, const Call& call) {
  if (const auto* const id = std::get_if<calls::KernelCall>(&call.callee))
    return kernel_unit(plan, plan.kernel(id->id), call);
  const calls::Shape* const shape = shape_in(call);
  if (shape == nullptr) return std::nullopt;
  return routine_unit(plan, *shape, call);
}

}  // namespace bf_aot::engine
