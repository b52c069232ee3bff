#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aot/emit/calls/c_routines.h"
#include "aot/emit/calls/calls.h"
#include "aot/emit/constants/shapes.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/routines.h"

namespace bf_aot::calls {
namespace {

std::string with_offset(const std::string& array, std::int64_t offset) {
  return offset == 0 ? array : fmt::format("{} + {}", array, offset);
}

const char* array_name(Array array) {
  switch (array) {
    case Array::kLower:
      return "lower";
    case Array::kUpper:
      return "upper";
    case Array::kOutLower:
      return "out_lower";
    case Array::kOutUpper:
      return "out_upper";
    case Array::kX:
      return "x";
    case Array::kY:
      return "y";
    case Array::kCoefficients:
      return "coefficients";
    case Array::kRanges:
      break;
  }
  return "ranges";
}

const char* local_name(Local local) {
  switch (local) {
    case Local::kState:
      return "state";
    case Local::kCall:
      return "call";
    case Local::kGroup:
      return "group";
    case Local::kCount:
      return "count";
    case Local::kRows:
      return "rows";
    case Local::kRound:
      return "round";
    case Local::kErrors:
      return "errors";
    case Local::kAbsolute:
      return "absolute";
    case Local::kAscent:
      break;
  }
  return "ascent";
}

// The types of a structure of errors in C++ and in C.
std::pair<std::string_view, std::string_view> type_names(ErrorsKind kind) {
  switch (kind) {
    case ErrorsKind::kRelax:
      return {"RelaxErrors", "relax_errors"};
    case ErrorsKind::kPlane:
      return {"PlaneErrors", "plane_errors"};
    case ErrorsKind::kInterval:
      return {"IntervalErrors", "interval_errors"};
    case ErrorsKind::kLineBounds:
      return {"LineBounds", "line_bounds"};
    case ErrorsKind::kLine:
      break;
  }
  return {"LineErrors", "line_errors"};
}

}  // namespace

bool takes_team(const Plan& plan, const Call& call) {
  if (plan.config.items == 1) return false;
  if (const auto* const kernel = std::get_if<KernelCall>(&call.callee))
    return plan.kernel(kernel->id).schedule.staged > 0;
  return find_c_routine(std::get<Routine>(call.callee))->dealt == Dealt::kTogether;
}

std::string image_name(LayerId tensor) {
  return fmt::format("image{}", tensor.number() + 1);
}

std::string window_name(LayerId tensor) {
  return fmt::format("window{}", tensor.number() + 1);
}

std::string sources_text(const StridedView& view, const emit::Dialect& dialect) {
  std::string numbers = fmt::format("{}, {}", view.offset, view.stride[0]);
  for (std::size_t k = 1; k < view.count.size(); ++k)
    numbers += fmt::format(", {}, {}", view.count[k], view.stride[k]);
  return dialect.is_c() ? fmt::format("bf_strided({})", numbers)
                        : fmt::format("bf::Strided<{}>{{}}", numbers);
}

CallText::CallText(const Lowered& lowered, const Entry& entry, const ErrorConstants* errors)
    : plan_(lowered.plan()), entry_(entry), dialect_(plan_.config.language), errors_(errors) {
  for (const WeightTable& table : lowered.tables())
    tables_[{table.layer, table.term, table.kind}] =
        emit::table_reference(plan_.weight_storage, table);
  for (const emit::ConvShapeName& shape : emit::conv_shapes(plan_))
    shapes_[{shape.layer, shape.term}] = shape.name;
}

std::string CallText::operator()(const Null&) const {
  return std::string(dialect_.null());
}

// A round's neurons have a name of their own.
std::string CallText::operator()(const Place& argument) const {
  switch (argument.by) {
    case Variable::kNone:
      return with_offset(name(argument.buffer), argument.offset);
    case Variable::kRound:
      return with_offset("neurons", argument.offset);
    case Variable::kFirst:
      break;
  }
  const std::string first = with_offset(name(argument.buffer), argument.offset);
  if (argument.factor == 1) return first + " + first";
  return fmt::format("{} + {} * {}", first,
                     dialect_.is_c() ? "(ptrdiff_t)first" : "std::ptrdiff_t{first}",
                     argument.factor);
}

std::string CallText::operator()(const ElementOf& argument) const {
  return fmt::format("{}[{}]", name(argument.buffer), argument.index);
}

std::string CallText::operator()(const Given& argument) const {
  return with_offset(array_name(argument.array), argument.position);
}

std::string CallText::operator()(const Local& argument) const {
  const bool by_pointer =
      dialect_.is_c() && (argument == Local::kErrors || argument == Local::kAscent);
  return fmt::format("{}{}", by_pointer ? "&" : "", local_name(argument));
}

std::string CallText::operator()(const Table& argument) const {
  return tables_.at({argument.layer, argument.term, argument.kind});
}

std::string CallText::operator()(const Integer& argument) const {
  return std::to_string(argument.value);
}

std::string CallText::operator()(const Flag& argument) const {
  return emit::bool_literal(argument.value);
}

std::string CallText::operator()(const Constant& argument) const {
  return errors_ == nullptr ? literal(argument) : errors_->name(argument);
}

std::string CallText::operator()(const Left& argument) const {
  return fmt::format("{}({}, count - first)", dialect_.is_c() ? "bf_smaller" : "smaller",
                     argument.most);
}

std::string CallText::operator()(const OutputStride& argument) const {
  return emit::upper_case(plan_.name) + (argument.spec ? "_SPEC_ROWS" : "_OUTPUTS");
}

std::string CallText::operator()(const SumRounding& argument) const {
  if (argument.exact) return "1";
  return dialect_.is_c() ? "BF_SUM_SLACK" : "bf::kSumSlack";
}

std::string CallText::operator()(const FunctionOf& argument) const {
  return reference(emit::function_table_name(plan_, argument));
}

std::string CallText::operator()(const Shape& argument) const {
  const std::string name = shape_text(argument);
  if (dialect_.is_c()) return reference(name);
  return argument.type ? fmt::format("bf::FixedShape<{}>{{}}", name) : name;
}

std::string CallText::operator()(const StridedView& argument) const {
  return sources_text(argument, dialect_);
}

std::string CallText::operator()(const Image& argument) const {
  if (argument.made.empty()) return image_name(argument.tensor);
  return fmt::format("{}({})", dialect_.runtime("image_made"), (*this)(argument.made.front()));
}

std::string CallText::operator()(const Strides& argument) const {
  if (argument.pixels)
    return fmt::format("{}({})", dialect_.runtime("by_pixels"), (*this)(argument.image));
  if (argument.image.made.empty()) return (*this)(argument.image) + ".at";
  return member(argument.image.made.front(), "out");
}

std::string CallText::operator()(const Window& argument) const {
  switch (argument.of) {
    case Window::Of::kTensor:
      return window_name(argument.tensor);
    case Window::Of::kInput:
      return fmt::format("{}({})", dialect_.runtime("whole"), member(argument.shape, "in_size"));
    case Window::Of::kOutput:
      break;
  }
  return fmt::format("{}({})", dialect_.runtime("whole"), member(argument.shape, "out_size"));
}

std::string CallText::operator()(const Live& argument) const {
  const bool all = argument.list == BufferId::kNone;
  if (dialect_.is_c()) return all ? std::string(dialect_.null()) : name(argument.list);
  return all ? "bf::AllLive{}" : fmt::format("bf::LivePixels{{{}}}", name(argument.list));
}

std::string CallText::operator()(const Zeros& argument) const {
  switch (argument.where) {
    case Zeros::Where::kNowhere:
      return "false";
    case Zeros::Where::kWhereMany:
      return dialect_.is_c() ? fmt::format("bf_many({})", (*this)(Live{argument.list}))
                             : (*this)(Live{argument.list}) + ".many()";
    case Zeros::Where::kEverywhere:
      break;
  }
  return "true";
}

std::string CallText::operator()(const Listed& argument) const {
  if (dialect_.is_c()) {  // bf_list_image_all() has no such argument
    const std::string function =
        argument.function.empty() ? "" : (*this)(argument.function.front()) + ", ";
    return argument.all ? ""
                        : fmt::format("{}{}, {}, {}", function, name(argument.centre),
                                      name(argument.below), name(argument.above));
  }
  if (argument.all) return "[](int) { return true; }";
  const bool function = !argument.function.empty();
  return fmt::format("[&](int j) {{ return bf::is_{}({}{}, {}, {}, j); }}",
                     function ? "inexact" : "unstable",
                     function ? (*this)(argument.function.front()) + ", " : "",
                     name(argument.centre), name(argument.below), name(argument.above));
}

std::string CallText::members(const Errors& argument) const {
  std::vector<std::string> constants;
  for (const Constant& constant : argument.constants) constants.push_back((*this)(constant));
  return fmt::format("{}", fmt::join(constants, ", "));
}

std::string CallText::operator()(const Errors& argument) const {
  const auto [cpp_name, c_name] = type_names(argument.kind);
  return dialect_.structure(cpp_name, c_name, members(argument));
}

std::string CallText::made_structure(const Call& call) const {
  if (!dialect_.is_of_device()) return {};
  for (const Argument& argument : call.arguments)
    if (const auto* const errors = std::get_if<Errors>(&argument))
      return dialect_.made_structure(type_names(errors->kind).second, members(*errors));
  return {};
}

std::string ConstantText::operator()(const Integer& constant) const {
  return std::to_string(constant.value);
}

std::string ConstantText::operator()(const Flag& constant) const {
  return emit::bool_literal(constant.value);
}

std::string ConstantText::operator()(const Tile& constant) const {
  return fmt::format("bf::GivenTile<{}, {}, {}>", constant.columns, constant.pixels,
                     constant.last_columns);
}

std::string ConstantText::operator()(const Groups& constant) const {
  return emit::max_groups_name(plan_.layer(constant.layer));
}

std::string CallText::callee(const Call& call) const {
  if (const auto* const kernel = std::get_if<KernelCall>(&call.callee))
    return plan_.kernel(kernel->id).function;
  const Routine routine = std::get<Routine>(call.callee);
  if (dialect_.is_c()) return dialect_.runtime(c_name(call));
  std::string text = fmt::format("bf::{}", signature_of(routine).name);
  std::vector<std::string> constants;
  for (const TemplateArgument& constant : call.constants)
    constants.push_back(std::visit(ConstantText(plan_), constant));
  if (!constants.empty()) text += fmt::format("<{}>", fmt::join(constants, ", "));
  return text;
}

// The words that C adds to the name of a routine for what is overloaded in C++.
static std::string_view added_word(const Listed& listed) {
  return listed.all ? "_all" : listed.function.empty() ? "_unstable" : "_inexact";
}

std::string CallText::c_name(const Call& call) const {
  const CRoutine* const found = find_c_routine(std::get<Routine>(call.callee));
  BF_CHECK(found != nullptr);  // check_language() has refused others
  std::string name(found->name);
  for (const Argument& argument : call.arguments)
    if (const auto* const listed = std::get_if<Listed>(&argument)) name += added_word(*listed);
  if (found->routine != Routine::kListLive) return name;
  const auto& centre = std::get<Place>(call.arguments.front());
  const bool wide = entry_.buffer(centre.buffer).element == Element::kFloat64;
  return name + (wide ? "_double" : "_float");
}

// Elements that are taken as they are, by a table, or by a view.
std::string CallText::sources_in_c(const Argument& argument) const {
  if (std::holds_alternative<Null>(argument)) return "bf_same()";
  const std::string text = std::visit(*this, argument);
  return std::holds_alternative<Table>(argument) ? fmt::format("bf_listed({})", text) : text;
}

// Returns whether C has an argument for a template argument: it has one box, and no tiles.
static bool is_argument_of_c(std::string_view name) {
  return name != "boxes" && name != "tile";
}

// The arguments that are template arguments in C++.
std::vector<std::string> CallText::constants_in_c(const Call& call) const {
  std::vector<std::string> made;
  if (!dialect_.is_c() || !std::holds_alternative<Routine>(call.callee)) return made;
  const auto& names = signature_of(std::get<Routine>(call.callee)).constants;
  for (std::size_t i = 0; i < call.constants.size(); ++i)
    if (std::holds_alternative<Groups>(call.constants[i]) || is_argument_of_c(names[i]))
      made.push_back((std::holds_alternative<Groups>(call.constants[i]) ? "&" : "") +
                     std::visit(ConstantText(plan_), call.constants[i]));
  return made;
}

std::string CallText::reference(const std::string& name) const {
  return dialect_.is_c() ? "&" + name : name;
}

std::string CallText::member(const Shape& shape, std::string_view name) const {
  return fmt::format("{}.{}", shape_text(shape), name);
}

std::string CallText::shape_text(const Shape& shape) const {
  return emit::shape_name(shapes_.at({shape.layer, shape.term}), shape);
}

std::string CallText::text(const Call& call) const {
  std::vector<std::string> arguments = constants_in_c(call);
  const auto* const routine = std::get_if<Routine>(&call.callee);
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const bool sources = dialect_.is_c() && routine != nullptr &&
                         signature_of(*routine).parameters[i].kind == ArgumentKind::kSources;
    std::string text =
        sources ? sources_in_c(call.arguments[i]) : std::visit(*this, call.arguments[i]);
    if (!text.empty()) arguments.push_back(std::move(text));
  }
  if (dialect_.is_c() && routine != nullptr)  // defaults of C++ are null pointers
    arguments.resize(
        arguments.size() + signature_of(*routine).parameters.size() - call.arguments.size(),
        std::string(dialect_.null()));
  if (takes_team(plan_, call)) arguments.emplace_back("team");
  return fmt::format("{}({})", callee(call), fmt::join(arguments, ", "));
}

}  // namespace bf_aot::calls
