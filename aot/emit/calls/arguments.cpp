#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aot/emit/calls/calls.h"
#include "aot/emit/constants/shapes.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/text/banner.h"
#include "aot/emit/text/literals.h"
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

const char* type_name(ErrorsKind kind) {
  switch (kind) {
    case ErrorsKind::kRelax:
      return "RelaxErrors";
    case ErrorsKind::kPlane:
      return "PlaneErrors";
    case ErrorsKind::kInterval:
      return "IntervalErrors";
    case ErrorsKind::kLineBounds:
      return "LineBounds";
    case ErrorsKind::kLine:
      break;
  }
  return "LineErrors";
}

}  // namespace

std::string image_name(LayerId tensor) {
  return fmt::format("image{}", tensor.number() + 1);
}

std::string window_name(LayerId tensor) {
  return fmt::format("window{}", tensor.number() + 1);
}

std::string sources_text(const StridedView& view) {
  std::string text = fmt::format("bf::Strided<{}, {}", view.offset, view.stride[0]);
  for (std::size_t k = 1; k < view.count.size(); ++k)
    text += fmt::format(", {}, {}", view.count[k], view.stride[k]);
  return text + ">{}";
}

CallText::CallText(const Lowered& lowered, const Entry& entry, const ErrorConstants* errors)
    : plan_(lowered.plan()), entry_(entry), errors_(errors) {
  for (const WeightTable& table : lowered.tables())
    tables_[{table.layer, table.term, table.kind}] =
        emit::table_reference(plan_.weight_storage, table);
  for (const emit::ConvShapeName& shape : emit::conv_shapes(plan_))
    shapes_[{shape.layer, shape.term}] = shape.name;
}

std::string CallText::operator()(const Null&) const {
  return "nullptr";
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
  return fmt::format("{} + std::ptrdiff_t{{first}} * {}", first, argument.factor);
}

std::string CallText::operator()(const ElementOf& argument) const {
  return fmt::format("{}[{}]", name(argument.buffer), argument.index);
}

std::string CallText::operator()(const Given& argument) const {
  return with_offset(array_name(argument.array), argument.position);
}

std::string CallText::operator()(const Local& argument) const {
  return local_name(argument);
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
  return fmt::format("smaller({}, count - first)", argument.most);
}

std::string CallText::operator()(const OutputStride& argument) const {
  return emit::upper_case(plan_.name) + (argument.spec ? "_SPEC_ROWS" : "_OUTPUTS");
}

std::string CallText::operator()(const SumRounding& argument) const {
  return argument.exact ? "1" : "bf::kSumSlack";
}

std::string CallText::operator()(const FunctionOf& argument) const {
  return emit::function_table_name(plan_, argument.function);
}

std::string CallText::operator()(const Shape& argument) const {
  const std::string name = emit::shape_name(shapes_.at({argument.layer, argument.term}), argument);
  return argument.type ? fmt::format("bf::FixedShape<{}>{{}}", name) : name;
}

std::string CallText::operator()(const StridedView& argument) const {
  return sources_text(argument);
}

std::string CallText::operator()(const Image& argument) const {
  if (argument.made.empty()) return image_name(argument.tensor);
  return fmt::format("bf::image_made({})", (*this)(argument.made.front()));
}

std::string CallText::operator()(const Strides& argument) const {
  if (argument.pixels) return fmt::format("bf::by_pixels({})", (*this)(argument.image));
  if (argument.image.made.empty()) return (*this)(argument.image) + ".at";
  return (*this)(argument.image.made.front()) + ".out";
}

std::string CallText::operator()(const Window& argument) const {
  switch (argument.of) {
    case Window::Of::kTensor:
      return window_name(argument.tensor);
    case Window::Of::kInput:
      return fmt::format("bf::whole({}.in_size)", (*this)(argument.shape));
    case Window::Of::kOutput:
      break;
  }
  return fmt::format("bf::whole({}.out_size)", (*this)(argument.shape));
}

std::string CallText::operator()(const Live& argument) const {
  if (argument.list == BufferId::kNone) return "bf::AllLive{}";
  return fmt::format("bf::LivePixels{{{}}}", name(argument.list));
}

std::string CallText::operator()(const Zeros& argument) const {
  switch (argument.where) {
    case Zeros::Where::kNowhere:
      return "false";
    case Zeros::Where::kWhereMany:
      return (*this)(Live{argument.list}) + ".many()";
    case Zeros::Where::kEverywhere:
      break;
  }
  return "true";
}

std::string CallText::operator()(const Listed& argument) const {
  if (argument.all) return "[](int) { return true; }";
  const bool function = !argument.function.empty();
  return fmt::format("[&](int j) {{ return bf::is_{}({}{}, {}, {}, j); }}",
                     function ? "inexact" : "unstable",
                     function ? (*this)(argument.function.front()) + ", " : "",
                     name(argument.centre), name(argument.below), name(argument.above));
}

std::string CallText::operator()(const Errors& argument) const {
  std::vector<std::string> constants;
  for (const Constant& constant : argument.constants) constants.push_back((*this)(constant));
  return fmt::format("bf::{}{{{}}}", type_name(argument.kind), fmt::join(constants, ", "));
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
  std::string text = fmt::format("bf::{}", signature_of(std::get<Routine>(call.callee)).name);
  std::vector<std::string> constants;
  for (const TemplateArgument& constant : call.constants)
    constants.push_back(std::visit(ConstantText(plan_), constant));
  if (!constants.empty()) text += fmt::format("<{}>", fmt::join(constants, ", "));
  return text;
}

std::string CallText::text(const Call& call) const {
  std::vector<std::string> arguments;
  for (const Argument& argument : call.arguments) arguments.push_back(std::visit(*this, argument));
  return fmt::format("{}({})", callee(call), fmt::join(arguments, ", "));
}

}  // namespace bf_aot::calls
