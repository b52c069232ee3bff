#include "planner/verify/verify_calls.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "planner/lowering/routines.h"
#include "planner/lowering/walk.h"
#include "planner/lowering/weight_tables.h"
#include "planner/verify/extent.h"
#include "planner/verify/verify_layer.h"

namespace bf_aot {
namespace calls {
namespace {

// The buffers that a step reads and writes.
struct StepAccess {
  explicit StepAccess(const Step& step) {
    const Access of = access_of(step);
    reads.insert(of.reads.begin(), of.reads.end());
    writes.insert(of.writes.begin(), of.writes.end());
  }
  std::set<BufferId> reads, writes;
};

class CallCheck {
 public:
  // access: of the step.
  CallCheck(const Plan& plan, const Entry& entry, int step, const StepAccess& access)
      : plan_(plan), entry_(entry), step_(step), access_(access) {}

  void check(const Call& call) {
    const auto* const routine = std::get_if<Routine>(&call.callee);
    if (routine == nullptr) return;
    const Signature& signature = signature_of(*routine);
    routine_ = signature.name;
    parameters_.assign(signature.parameters.begin(), signature.parameters.end());
    // Arguments at the end that may be null may be left out.
    while (parameters_.size() > call.arguments.size() && parameters_.back().may_be_null)
      parameters_.pop_back();
    expect(call.arguments.size() == parameters_.size(), "{} arguments for {} parameters",
           call.arguments.size(), parameters_.size());
    name_numbers(signature, call);
    call_ = &call;
    for (std::size_t i = 0; i < parameters_.size(); ++i) check(parameters_[i], call.arguments[i]);
  }

 private:
  template <typename... Args>
  void expect(bool ok, fmt::format_string<Args...> format, const Args&... args) const {
    if (ok) return;
    const Step& step = entry_.step(step_);
    require(false, "{}: step {} ({}), call of {}: {}", name_of(entry_), step_, step_name(step),
            routine_, fmt::vformat(format, fmt::make_format_args(args...)));
  }

  void name_numbers(const Signature& signature, const Call& call) {
    const auto& names = signature.constants;
    for (std::size_t i = 0; i < std::min(names.size(), call.constants.size()); ++i) {
      if (const auto* const number = std::get_if<Integer>(&call.constants[i]))
        values_[std::string(names[i])] = number->value;
      if (const auto* const groups = std::get_if<Groups>(&call.constants[i]))
        values_[std::string(names[i])] = plan_.layer(groups->layer).out;
    }
    values_.try_emplace("boxes", entry_.boxes);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (const auto* const number = std::get_if<Integer>(&call.arguments[i]))
        values_[std::string(parameters_[i].name)] = number->value;
      if (const auto* const shape = std::get_if<Shape>(&call.arguments[i])) name_shape(*shape);
    }
  }

  void name_shape(const Shape& shape) {
    const Term& term = plan_.layer(shape.layer).terms.at(static_cast<std::size_t>(shape.term));
    const auto* const conv = std::get_if<ConvMap>(&term.map);
    expect(conv != nullptr, "the shape of a term that is no convolution");
    const ConvGeometry& g = conv->geometry;
    values_["shape.in"] = g.in_count();
    values_["shape.out"] = g.out_count();
    values_["shape.weights"] = g.out_channels * g.in_group() * g.taps();
  }

  // Columns and weights of a sparse term without entries are tables of nothing, which are left out.
  bool reads_no_entries(const RoutineParameter& parameter) const {
    if (parameter.name != "column" && parameter.name != "weight") return false;
    for (const Argument& argument : call_->arguments) {
      const auto* const table = std::get_if<Table>(&argument);
      if (table == nullptr || table->kind != TableKind::kRowStart) continue;
      const Term& term = plan_.layer(table->layer).terms.at(static_cast<std::size_t>(table->term));
      const auto* const sparse = std::get_if<SparseMap>(&term.map);
      return sparse != nullptr && sparse->column.empty();
    }
    return false;
  }

  void check(const RoutineParameter& parameter, const Argument& argument) const {
    if (parameter.use == ArrayUse::kNone) {
      expect(fits(parameter.kind, argument), "{} is not of kind {}", parameter.name,
             parameter.type);
      return;
    }
    if (std::holds_alternative<Null>(argument)) {
      expect(parameter.may_be_null || reads_no_entries(parameter), "{} is null", parameter.name);
    } else if (const auto* const place = std::get_if<Place>(&argument)) {
      check_place(parameter, *place);
    } else if (const auto* const table = std::get_if<Table>(&argument)) {
      expect(parameter.use == ArrayUse::kIn, "{} writes to a table", parameter.name);
      check_type(parameter, element_of(table->kind));
    } else {
      expect(std::holds_alternative<Given>(argument), "{} is no array", parameter.name);
      check_type(parameter, Element::kFloat32);
    }
  }

  void check_type(const RoutineParameter& parameter, Element element) const {
    const ArgumentKind kind = parameter.kind;
    const bool any = kind == ArgumentKind::kAny && element != Element::kInt32;
    const bool same = (kind == ArgumentKind::kFloat && element == Element::kFloat32) ||
                      (kind == ArgumentKind::kDouble && element == Element::kFloat64) ||
                      (kind == ArgumentKind::kInt32 && element == Element::kInt32);
    expect(any || same, "{} is of {}, not of {}", parameter.name, to_string(element),
           parameter.type);
  }

  // Images have no extent of their own: their windows are verify_windows()'s.
  void check_place(const RoutineParameter& parameter, const Place& place) const {
    const Buffer& buffer = entry_.buffer(place.buffer);
    check_type(parameter, buffer.element);
    const bool writes = access_.writes.contains(place.buffer);
    const bool reads = writes || access_.reads.contains(place.buffer);
    expect(parameter.use == ArrayUse::kIn ? reads : writes, "{} is {}, which the step does not {}",
           parameter.name, buffer.name, parameter.use == ArrayUse::kIn ? "read" : "write");
    expect(place.offset >= 0 && place.offset < buffer.count, "{} begins at {} of {}[{}]",
           parameter.name, place.offset, buffer.name, buffer.count);
    if (parameter.extent.find("image.") != std::string_view::npos) return;
    const std::int64_t end = place.offset + extent_of(parameter.extent, values_);
    expect(buffer.count <= std::numeric_limits<std::int32_t>::max(), "{} has {} elements",
           buffer.name, buffer.count);
    expect(end <= buffer.count, "{} ends at {} of {}[{}]", parameter.name, end, buffer.name,
           buffer.count);
  }

  static bool is_function(const Argument& argument, bool in_float) {
    const auto* const function = std::get_if<FunctionOf>(&argument);
    return function != nullptr && function->in_float == in_float;
  }

  template <typename... Kinds>
  static bool is_one_of(const Argument& argument) {
    return (std::holds_alternative<Kinds>(argument) || ...);
  }

  static bool is_errors(const Argument& argument, ErrorsKind kind) {
    const auto* const errors = std::get_if<Errors>(&argument);
    return errors != nullptr && errors->kind == kind;
  }

  static bool is_local(const Argument& argument, Local local) {
    const auto* const name = std::get_if<Local>(&argument);
    return name != nullptr && *name == local;
  }

  static bool fits(ArgumentKind kind, const Argument& a) {
    switch (kind) {
      case ArgumentKind::kInt:
        return is_one_of<Integer>(a);
      case ArgumentKind::kBool:
        return is_one_of<Flag>(a);
      case ArgumentKind::kReal:
        return is_one_of<Constant>(a);
      case ArgumentKind::kElement:
        return is_one_of<ElementOf>(a);
      case ArgumentKind::kLeft:
        return is_one_of<Left>(a);
      case ArgumentKind::kStride:
        return is_one_of<OutputStride>(a);
      case ArgumentKind::kRounding:
        return is_one_of<SumRounding>(a);
      case ArgumentKind::kFunction:
        return is_function(a, false);
      case ArgumentKind::kFloatFunction:
        return is_function(a, true);
      case ArgumentKind::kShape:
        return is_one_of<Shape>(a);
      case ArgumentKind::kSources:
        return is_one_of<StridedView, Table, Null>(a);
      case ArgumentKind::kImage:
        return is_one_of<Image>(a);
      case ArgumentKind::kStrides:
        return is_one_of<Strides>(a);
      case ArgumentKind::kWindow:
        return is_one_of<Window>(a);
      case ArgumentKind::kLive:
        return is_one_of<Live>(a);
      case ArgumentKind::kZeros:
        return is_one_of<Zeros>(a);
      case ArgumentKind::kListed:
        return is_one_of<Listed>(a);
      case ArgumentKind::kRelaxErrors:
        return is_errors(a, ErrorsKind::kRelax);
      case ArgumentKind::kPlaneErrors:
        return is_errors(a, ErrorsKind::kPlane);
      case ArgumentKind::kIntervalErrors:
        return is_errors(a, ErrorsKind::kInterval);
      case ArgumentKind::kLineBounds:
        return is_errors(a, ErrorsKind::kLineBounds);
      case ArgumentKind::kLineErrors:
        return is_errors(a, ErrorsKind::kLine);
      case ArgumentKind::kRowErrors:
        return is_local(a, Local::kErrors);
      case ArgumentKind::kState:
        return is_local(a, Local::kState);
      case ArgumentKind::kCall:
        return is_local(a, Local::kCall);
      case ArgumentKind::kGroup:
        return is_local(a, Local::kGroup);
      case ArgumentKind::kCount:
        return is_local(a, Local::kCount);
      case ArgumentKind::kRows:
        return is_local(a, Local::kRows);
      case ArgumentKind::kRound:
        return is_local(a, Local::kRound);
      case ArgumentKind::kAbsolute:
        return is_local(a, Local::kAbsolute);
      case ArgumentKind::kAscent:
        return is_local(a, Local::kAscent);
      case ArgumentKind::kFloat:
      case ArgumentKind::kDouble:
      case ArgumentKind::kInt32:
      case ArgumentKind::kAny:
        return false;  // arrays
    }
    return false;
  }

  const Call* call_ = nullptr;  // that is checked
  const Plan& plan_;
  const Entry& entry_;
  int step_;
  const StepAccess& access_;
  std::string_view routine_;
  std::vector<RoutineParameter> parameters_;
  Extents values_;
};

}  // namespace
}  // namespace calls

void verify_calls(const Plan& plan, const Entry& entry, const calls::Program& program) {
  for (const calls::Section& section : program.sections)
    for (const calls::TaskCalls& task : section.tasks)
      for (const calls::StepCalls& step : task.steps) {
        const calls::StepAccess access(entry.steps.at(static_cast<std::size_t>(step.step)));
        calls::for_each_call(step.body, [&](const calls::Call& call) {
          calls::CallCheck(plan, entry, step.step, access).check(call);
        });
      }
}

}  // namespace bf_aot
