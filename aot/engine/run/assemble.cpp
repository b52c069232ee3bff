#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "aot/engine/run/operations.h"
#include "bf/contract/tables.h"
#include "bf/sums/terms.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/routines.h"

namespace bf_aot::engine {
namespace {

using calls::Argument;
using calls::Routine;

// Fails: a plan of lowering prebuilt calls nothing that the prebuilt code lacks.
[[noreturn]] void missing(const std::string& what) {
  BF_BROKEN(fmt::format("the engine has no code for {}", what));
}

bool is_call_of(const calls::Call& call, Routine routine) {
  const auto* const which = std::get_if<Routine>(&call.callee);
  return which != nullptr && *which == routine;
}

bool relaxes(const calls::Call& call) {
  return is_call_of(call, Routine::kRelax) || is_call_of(call, Routine::kRelaxFunction) ||
         is_call_of(call, Routine::kRelaxBox);
}

bool is_bent(const Layer& layer) {
  return layer.relu || layer.function.has_value();
}

class Assembler {
 public:
  Assembler(const Plan& plan, const Entry& entry, const Prebuilt& code, Constants& constants,
            bool parts)
      : plan_(plan), entry_(entry), code_(code), constants_(constants), parts_(parts) {
    made_.entry = &entry;
    made_.windows = static_cast<int>(plan.layers.size()) + 1;
  }

  EntryOperations assemble(const calls::Program& program);

  // ---- arguments
  Operand operator()(const calls::Null&) { return fixed(nullptr); }
  Operand operator()(const calls::Place& argument);
  Operand operator()(const calls::ElementOf& argument);
  Operand operator()(const calls::Given& argument);
  Operand operator()(const calls::Local& argument);
  Operand operator()(const calls::Table& argument) { return fixed(constants_.table(argument)); }
  Operand operator()(const calls::Integer& argument) { return integer(argument.value); }
  Operand operator()(const calls::Flag& argument) { return integer(argument.value ? 1 : 0); }
  Operand operator()(const calls::Constant& argument) { return real(value_of(argument)); }
  Operand operator()(const calls::Left& argument) {
    return numbered(Operand::Kind::kLeft, argument.most);
  }
  Operand operator()(const calls::OutputStride& argument) { return integer(argument.numbers); }
  Operand operator()(const calls::SumRounding& argument) {
    return real(argument.exact ? 1 : bf::kSumSlack);
  }
  Operand operator()(const calls::FunctionOf& argument) {
    return argument.in_float ? fixed(constants_.float_function(argument.function))
                             : fixed(constants_.function(argument.function));
  }
  Operand operator()(const calls::Shape& argument) { return fixed(shape(argument)); }
  Operand operator()(const StridedView& argument) { return fixed(constants_.sources(argument)); }
  Operand operator()(const calls::Image& argument) { return fixed(image(argument)); }
  Operand operator()(const calls::Strides& argument);
  Operand operator()(const calls::Window& argument);
  Operand operator()(const calls::Live& argument);
  Operand operator()(const calls::Zeros& argument);
  Operand operator()(const calls::Listed& argument);
  Operand operator()(const calls::Errors& argument);

  // ---- nodes
  void operator()(const calls::Call& node) { add(call(node)); }
  void operator()(const calls::Part& node);
  void operator()(const calls::Lifetime&) {}
  void operator()(const calls::Ask&) { BF_BROKEN("code in this process has one method"); }
  void operator()(const calls::Block& node);
  void operator()(const calls::WhenInside& node);
  void operator()(const calls::DefineImage& node);
  void operator()(const calls::DefineWindow& node);
  void operator()(const calls::DefineRows& node);
  void operator()(const calls::DefineRowErrors& node);
  void operator()(const calls::Tiles& node);
  void operator()(const calls::Rounds& node);
  void operator()(const calls::IfFits& node);
  void operator()(const calls::Clear& node);
  void operator()(const calls::ColdStart& node);
  void operator()(const calls::Iterations& node);

 private:
  static double value_of(const calls::Constant& constant) {
    return constant.to_float ? static_cast<double>(bf::float_up(constant.value)) : constant.value;
  }
  static float float_of(const calls::Constant& constant) {
    return static_cast<float>(value_of(constant));
  }
  static Operand fixed(const void* pointer) {
    Operand made;
    made.value.pointer = pointer;
    return made;
  }
  static Operand integer(std::int64_t value) {
    Operand made;
    made.value.integer = value;
    return made;
  }
  static Operand real(double value) {
    Operand made;
    made.value.real = value;
    return made;
  }
  static Operand numbered(Operand::Kind kind, int index) {
    Operand made;
    made.kind = kind;
    made.index = index;
    return made;
  }
  template <typename T>
  static const T* keep(std::vector<std::unique_ptr<T>>& list, const T& value) {
    list.push_back(std::make_unique<T>(value));
    return list.back().get();
  }

  BufferPlace place(BufferId id, std::int64_t elements = 0) const;
  const bf::ConvShape* shape(const calls::Shape& shape);
  void share_rows(const calls::Call& call, Operation& made);
  const bf::Image* image(const calls::Image& image);
  static int window_number(LayerId tensor) { return tensor.number() + 1; }

  void add(Operation operation) { to_->push_back(std::move(operation)); }
  Operations inside(const calls::Body& body);
  Operation call(const calls::Call& call);
  NeuronRanges ranges_of(LayerId layer, BufferId centre, BufferId below, BufferId above) const;
  std::vector<NeuronRanges> ranges_of(const calls::Call& call) const;
  Thunk routine(const calls::Call& call, Routine routine) const;
  Thunk kernel(const Kernel& kernel) const;
  bool is_double(const Argument& argument) const;

  const Plan& plan_;
  const Entry& entry_;
  const Prebuilt& code_;
  Constants& constants_;
  bool parts_;
  EntryOperations made_;
  Operations* to_ = nullptr;
  int step_ = 0;
  std::map<int, const bf::Image*> images_;  // by number of the tensor
  std::vector<Thunk> code_of_calls_;
};

// ---- arguments

BufferPlace Assembler::place(BufferId id, std::int64_t elements) const {
  const Buffer& buffer = entry_.buffer(id);
  const Region region = buffer.per_worker                  ? Region::kOwn
                        : buffer.scope == CacheScope::kRun ? Region::kWorkspace
                                                           : Region::kContext;
  return {region, buffer.offset + elements * static_cast<std::int64_t>(size_of(buffer.element))};
}

Operand Assembler::operator()(const calls::Place& argument) {
  const auto size = static_cast<std::int64_t>(size_of(entry_.buffer(argument.buffer).element));
  const BufferPlace at = place(argument.buffer, argument.offset);
  Operand made;
  made.kind = Operand::Kind::kPlace;
  made.region = at.region;
  made.offset = at.offset;
  if (argument.by == calls::Variable::kFirst) {
    made.kind = Operand::Kind::kByFirst;
    made.factor = argument.factor * size;
  } else if (argument.by == calls::Variable::kRound) {
    made.kind = Operand::Kind::kByRound;
    made.offset = argument.offset * size;
  }
  return made;
}

Operand Assembler::operator()(const calls::ElementOf& argument) {
  const BufferPlace at = place(argument.buffer, argument.index);
  Operand made;
  made.kind = entry_.buffer(argument.buffer).element == Element::kFloat64
                  ? Operand::Kind::kDoubleElement
                  : Operand::Kind::kFloatElement;
  made.region = at.region;
  made.offset = at.offset;
  return made;
}

Operand Assembler::operator()(const calls::Given& argument) {
  Operand made = numbered(Operand::Kind::kGiven, static_cast<int>(argument.array));
  made.offset = argument.position * static_cast<std::int64_t>(sizeof(float));
  return made;
}

Operand Assembler::operator()(const calls::Local& argument) {
  return numbered(Operand::Kind::kLocal, static_cast<int>(argument));
}

const bf::ConvShape* Assembler::shape(const calls::Shape& shape) {
  const LinearMap& map = plan_.layer(shape.layer).term(shape.term).map;
  const bf::ConvShape made = shape_of(std::get<ConvMap>(map).geometry);
  const bf::KnownShape known(bf::by_pixels(made, shape.in_pixels, shape.out_pixels));
  return &keep(made_.shapes, known)->shape;  // its first member
}

const bf::Image* Assembler::image(const calls::Image& image) {
  if (image.made.empty()) return images_.at(image.tensor.number());
  return keep(made_.images, bf::image_made(*shape(image.made.front())));
}

Operand Assembler::operator()(const calls::Strides& argument) {
  if (argument.pixels) return fixed(keep(made_.strides, bf::by_pixels(*image(argument.image))));
  if (argument.image.made.empty())
    return fixed(keep(made_.strides, images_.at(argument.image.tensor.number())->at));
  return fixed(keep(made_.strides, shape(argument.image.made.front())->out));
}

Operand Assembler::operator()(const calls::Window& argument) {
  switch (argument.of) {
    case calls::Window::Of::kTensor:
      return numbered(Operand::Kind::kWindow, window_number(argument.tensor));
    case calls::Window::Of::kInput:
      return fixed(keep(made_.whole, bf::whole(shape(argument.shape)->in_size)));
    case calls::Window::Of::kOutput:
      break;
  }
  return fixed(keep(made_.whole, bf::whole(shape(argument.shape)->out_size)));
}

Operand Assembler::operator()(const calls::Live& argument) {
  static constexpr bf::AnyLive kAll = {nullptr};
  if (argument.list == BufferId::kNone) return fixed(&kAll);
  Operand made = (*this)(calls::Place{argument.list});
  made.kind = Operand::Kind::kLive;
  return made;
}

Operand Assembler::operator()(const calls::Zeros& argument) {
  switch (argument.where) {
    case calls::Zeros::Where::kNowhere:
      return integer(0);
    case calls::Zeros::Where::kWhereMany: {
      if (argument.list == BufferId::kNone) return integer(1);
      Operand made = (*this)(calls::Place{argument.list});
      made.kind = Operand::Kind::kMany;
      return made;
    }
    case calls::Zeros::Where::kEverywhere:
      break;
  }
  return integer(1);
}

Operand Assembler::operator()(const calls::Listed& argument) {
  ListedPlaces listed;
  listed.all = argument.all;
  if (!argument.all) {
    if (!argument.function.empty())
      listed.function = constants_.function(argument.function.front().function);
    listed.centre = place(argument.centre);
    listed.below = place(argument.below);
    listed.above = place(argument.above);
  }
  made_.listed.push_back(listed);
  return numbered(Operand::Kind::kListed, static_cast<int>(made_.listed.size()) - 1);
}

Operand Assembler::operator()(const calls::Errors& argument) {
  const auto real = [&](std::size_t i) { return value_of(argument.constants.at(i)); };
  const auto narrow = [&](std::size_t i) { return float_of(argument.constants.at(i)); };
  switch (argument.kind) {
    case calls::ErrorsKind::kRelax:
      return fixed(keep(made_.relax_errors,
                        bf::RelaxErrors{real(0), real(1), real(2), real(3), real(4), real(5)}));
    case calls::ErrorsKind::kPlane:
      return fixed(keep(made_.plane_errors, bf::PlaneErrors{real(0), real(1)}));
    case calls::ErrorsKind::kInterval:
      return fixed(
          keep(made_.interval_errors, bf::IntervalErrors{narrow(0), narrow(1), narrow(2)}));
    case calls::ErrorsKind::kLineBounds:
      return fixed(
          keep(made_.line_bounds, bf::LineBounds{narrow(0), narrow(1), narrow(2), real(3)}));
    case calls::ErrorsKind::kLine:
      break;
  }
  return fixed(keep(made_.line_errors, bf::LineErrors{narrow(0), narrow(1), narrow(2)}));
}

// ---- callees

bool Assembler::is_double(const Argument& argument) const {
  const auto* const place = std::get_if<calls::Place>(&argument);
  return place != nullptr && entry_.buffer(place->buffer).element == Element::kFloat64;
}

// The engine's code of a routine with the template arguments of this call, whose encoding is that
// of routines.cpp.
Thunk Assembler::routine(const calls::Call& call, Routine routine) const {
  std::vector<int> wanted;
  for (const calls::TemplateArgument& constant : call.constants) {
    if (const auto* const number = std::get_if<calls::Integer>(&constant)) {
      wanted.push_back(static_cast<int>(number->value));
    } else if (const auto* const flag = std::get_if<calls::Flag>(&constant)) {
      wanted.push_back(flag->value ? 1 : 0);
    } else if (const auto* const tile = std::get_if<calls::Tile>(&constant)) {
      wanted.insert(wanted.end(), {tile->columns, tile->pixels, tile->last_columns});
    } else {
      wanted.push_back(-1);  // groups: no code has them
    }
  }
  // Overloads by types are told apart by numbers: one for boxes in lanes, one for the type of
  // centres.
  const bool by_group = !call.arguments.empty() &&
                        std::get_if<calls::Local>(&call.arguments.front()) != nullptr &&
                        std::get<calls::Local>(call.arguments.front()) == calls::Local::kGroup;
  if (by_group) wanted.push_back(entry_.boxes);
  if (routine == Routine::kListLive || routine == Routine::kListLiveBoxes)
    wanted.push_back(is_double(call.arguments.front()) ? 8 : 4);
  for (const Span<Span<PrebuiltRoutine>>& list : {code_.routines, code_.conv_rows, code_.relax})
    for (std::size_t i = 0; i < list.count; ++i)
      for (std::size_t k = 0; k < list.first[i].count; ++k) {
        const PrebuiltRoutine& have = list.first[i].first[k];
        if (have.routine == routine && wanted.size() <= kMostConstants &&
            std::equal(wanted.begin(), wanted.end(), have.constants))
          return have.call;
      }
  std::string text;
  for (const int each : wanted) text += fmt::format(" {}", each);
  missing(fmt::format("{}<{}>", signature_of(routine).name, text));
}

Thunk Assembler::kernel(const Kernel& kernel) const {
  const KernelVariant wanted = variant_of(kernel);
  for (std::size_t i = 0; i < code_.kernels.count; ++i)
    if (code_.kernels.first[i].variant == wanted) return code_.kernels.first[i].call;
  missing(kernel.key);
}

Operation Assembler::call(const calls::Call& call) {
  Operation made;
  made.kind = Operation::Kind::kCall;
  std::vector<Operand> operands;
  made.call = static_cast<std::uint32_t>(code_of_calls_.size());
  if (const auto* const id = std::get_if<calls::KernelCall>(&call.callee)) {
    const Kernel& of = plan_.kernel(id->id);
    code_of_calls_.push_back(kernel(of));
    operands.push_back(fixed(
        keep(made_.extents, KernelExtents{of.in, of.out, of.panel, of.schedule.chunk, of.lines})));
  } else {
    const Routine which = std::get<Routine>(call.callee);
    code_of_calls_.push_back(routine(call, which));
  }
  for (const Argument& argument : call.arguments) operands.push_back(std::visit(*this, argument));
  // Arguments that the call leaves out are null, as the routine's declaration has it.
  if (const auto* const which = std::get_if<Routine>(&call.callee))
    operands.resize(signature_of(*which).parameters.size());
  share_rows(call, made);
  made.ranges = ranges_of(call);
  made.first_operand = static_cast<std::uint32_t>(made_.operands.size());
  made.operands = static_cast<std::uint32_t>(operands.size());
  BF_CHECK(operands.size() <= kMostOperands);
  made_.operands.insert(made_.operands.end(), operands.begin(), operands.end());
  return made;
}

NeuronRanges Assembler::ranges_of(LayerId layer, BufferId centre, BufferId below,
                                  BufferId above) const {
  NeuronRanges made;
  made.layer = layer.number();
  made.count = static_cast<std::size_t>(plan_.layer(layer).out);
  made.centre = place(centre);
  made.below = place(below);
  made.above = place(above);
  return made;
}

// Those of a relaxation, and of the factors of a product that nothing else relaxes.
std::vector<NeuronRanges> Assembler::ranges_of(const calls::Call& call) const {
  std::vector<NeuronRanges> made;
  const auto* const relax = std::get_if<Relax>(&entry_.step(step_));
  if (relax != nullptr && relaxes(call) && is_bent(plan_.layer(relax->layer))) {
    made.push_back(ranges_of(relax->layer, relax->centre, relax->below, relax->above));
    made.back().relaxes = true;
    for (const Argument& argument : call.arguments)
      if (const auto* const function = std::get_if<calls::FunctionOf>(&argument))
        made.back().function = constants_.function(function->function);
  }
  const auto* const product = std::get_if<RelaxProduct>(&entry_.step(step_));
  if (product == nullptr || !is_call_of(call, Routine::kRelaxProduct)) return made;
  const std::pair<BufferId, BufferId> factors[] = {{product->centre_x, product->radius_x},
                                                   {product->centre_y, product->radius_y}};
  for (std::size_t k = 0; k < 2; ++k) {
    const LayerId factor = plan_.layer(product->layer).terms[k].input;
    const auto [centre, radius] = factors[k];
    if (factor.is_layer() && !is_bent(plan_.layer(factor)))
      made.push_back(ranges_of(factor, centre, radius, radius));
  }
  return made;
}

// Lets workers share the rows of a convolution's outputs. Each output is summed as without them.
void Assembler::share_rows(const calls::Call& call, Operation& made) {
  constexpr std::int64_t kWorthSharing = std::int64_t{1} << 20;  // products: tens of microseconds
  constexpr std::int64_t kMostShares = 32;
  const auto* const routine = std::get_if<Routine>(&call.callee);
  if (routine == nullptr ||
      (*routine != Routine::kConvInterval && *routine != Routine::kConvCentre))
    return;
  const auto at = std::ranges::find_if(call.arguments, [](const Argument& argument) {
    return std::holds_alternative<calls::Shape>(argument);
  });
  BF_CHECK(at != call.arguments.end());
  const bf::ConvShape& whole = *shape(std::get<calls::Shape>(*at));
  const std::int64_t outputs = bf::elements(whole.batch, whole.out_channels, whole.out_size);
  const std::int64_t products = outputs * bf::in_group(whole) * bf::taps(whole);
  const std::int64_t rows = whole.out_size[1];
  const std::int64_t count = std::min({products / kWorthSharing, rows, kMostShares});
  if (whole.transposed || count < 2) return;
  for (std::int64_t share = 0; share < count; ++share) {
    const auto first = static_cast<int>(rows * share / count);
    bf::ConvShape part = whole;
    part.out_size[1] = static_cast<int>(rows * (share + 1) / count) - first;
    part.pad[1] -= first * part.stride[1];
    part.out.offset += first * part.out.spatial[1];
    made.shares.push_back(keep(made_.shapes, bf::KnownShape(part)));
  }
  made.shape_operand = static_cast<std::uint32_t>(at - call.arguments.begin());
  made.own = code_of_calls_.back();
}

// ---- nodes

Operations Assembler::inside(const calls::Body& body) {
  Operations made;
  Operations* const outside = std::exchange(to_, &made);
  for (const calls::Node& node : body) std::visit(*this, node.what);
  to_ = outside;
  return made;
}

void Assembler::operator()(const calls::Part& node) {
  if (!parts_) return;
  Operation made;
  made.kind = Operation::Kind::kPart;
  made.index = static_cast<int>(made_.parts.size());
  made_.parts.push_back(node.name);
  add(std::move(made));
}

void Assembler::operator()(const calls::Block& node) {
  Operation made;
  made.kind = Operation::Kind::kBlock;
  made.body = inside(node.body);
  add(std::move(made));
}

void Assembler::operator()(const calls::WhenInside& node) {
  Operation made = call(node.call);
  made.kind = Operation::Kind::kWhenInside;
  made.flag = node.inside;
  add(std::move(made));
}

void Assembler::operator()(const calls::DefineImage& node) {
  images_[node.image.tensor.number()] = keep(made_.images, image_of(node.image));
}

void Assembler::operator()(const calls::DefineWindow& node) {
  Operation made;
  made.kind = Operation::Kind::kDefineWindow;
  made.index = window_number(node.tensor);
  if (node.count > 0) {
    made.neurons = node.count;
    made.image = images_.at(node.tensor.number());
    const auto size = static_cast<std::int64_t>(sizeof(std::int32_t));
    made.place = place(node.neurons.buffer, node.neurons.offset);
    made.offset = node.neurons.by == calls::Variable::kFirst ? node.neurons.factor * size : 0;
    BF_CHECK(node.neurons.by != calls::Variable::kRound);
  }
  for (const calls::WindowRead& read : node.reads)
    made.reads.push_back({read.kind,
                          read.kind == calls::WindowRead::Kind::kSame ? nullptr : shape(read.shape),
                          window_number(read.reader)});
  add(std::move(made));
}

void Assembler::operator()(const calls::DefineRows& node) {
  Operation made = call(node.list);
  made.kind = Operation::Kind::kDefineRows;
  made.flag = node.boxes > 1;
  made.neurons = node.boxes;
  add(std::move(made));
}

void Assembler::operator()(const calls::DefineRowErrors& node) {
  Operation made;
  made.kind = Operation::Kind::kDefineRowErrors;
  made.flag = node.boxes > 1;
  made.neurons = node.boxes;
  made.errors = {value_of(node.concretize), value_of(node.weight), value_of(node.inflate), 0,
                 nullptr};
  made.underflow = value_of(node.underflow);
  made.inputs = static_cast<double>(node.inputs);
  made.place = place(node.row_slack);
  for (const BufferId link : node.links)
    made.links.push_back(place(link, static_cast<std::int64_t>(2) * node.boxes));
  add(std::move(made));
}

void Assembler::operator()(const calls::Tiles& node) {
  Operation made;
  made.kind = Operation::Kind::kTiles;
  made.neurons = node.neurons;
  made.flag = node.workers;
  made.body = inside(node.body);
  add(std::move(made));
}

void Assembler::operator()(const calls::Rounds& node) {
  Operation made;
  made.kind = Operation::Kind::kRounds;
  made.neurons = node.boxes;
  made.place = place(node.neurons);
  made.body = inside(node.body);
  add(std::move(made));
}

void Assembler::operator()(const calls::IfFits& node) {
  Operation made;
  made.kind = Operation::Kind::kIfFits;
  made.neurons = node.neurons;
  made.body = inside(node.fits);
  made.other = inside(node.other);
  add(std::move(made));
}

void Assembler::operator()(const calls::Clear& node) {
  Operation made;
  made.kind = Operation::Kind::kClear;
  made.place = place(node.buffer);
  made.count = node.count * static_cast<std::int64_t>(size_of(entry_.buffer(node.buffer).element));
  add(std::move(made));
}

void Assembler::operator()(const calls::ColdStart& node) {
  Operation made;
  made.kind = Operation::Kind::kColdStart;
  made.body = inside(node.body);
  add(std::move(made));
}

void Assembler::operator()(const calls::Iterations& node) {
  Operation made;
  made.kind = Operation::Kind::kIterations;
  made.count = node.count;
  made.index = node.warm;
  made.body = inside(node.rows);
  made.other = inside(node.better);
  add(std::move(made));
}

EntryOperations Assembler::assemble(const calls::Program& program) {
  for (const calls::Section& section : program.sections) {
    SectionOperations& made = made_.sections.emplace_back();
    made.when = section.when;
    for (const calls::TaskCalls& task : section.tasks) {
      TaskOperations& to = made.tasks.emplace_back();
      to.task = task.task;
      to_ = &to.body;
      for (const calls::StepCalls& step : task.steps) {
        step_ = step.step;
        for (const calls::Node& node : step.body) std::visit(*this, node.what);
      }
    }
  }
  for (const Step& step : entry_.steps)
    if (const auto* const rows = std::get_if<BackwardRows>(&step))
      made_.improves = made_.improves || rows->warm_iterations > 0;
  made_.calls = static_cast<std::uint32_t>(code_of_calls_.size());
  made_.code = std::make_unique<std::atomic<Thunk>[]>(code_of_calls_.size());
  std::ranges::copy(code_of_calls_, made_.code.get());
  return std::move(made_);
}

}  // namespace

EntryOperations assemble(const Lowered& lowered, const Entry& entry, const Prebuilt& code,
                         Constants& constants, bool parts) {
  return Assembler(lowered.plan(), entry, code, constants, parts).assemble(lowered.program(entry));
}

}  // namespace bf_aot::engine
