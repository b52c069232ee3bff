#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "aot/emit/calls/c_routines.h"
#include "aot/emit/calls/calls.h"
#include "aot/emit/constants/shapes.h"
#include "aot/emit/text/literals.h"
#include "aot/emit/text/marks.h"
#include "runtime/bf/contract/tables.h"

namespace bf_aot::calls {
namespace {

// The type of a buffer's elements, and the macro of C for a place of such.
std::string type_of(Element element, const emit::Dialect& dialect) {
  switch (element) {
    case Element::kFloat64:
      return "double";
    case Element::kInt32:
      return dialect.integer("int32");
    case Element::kUint8:
      return "bf::integer::Code";
    case Element::kFloat32:
      break;
  }
  return "float";
}

const char* place_macro(Element element) {
  switch (element) {
    case Element::kFloat64:
      return "BF_DOUBLE_AT";
    case Element::kInt32:
      return "BF_INT32_AT";
    case Element::kUint8:
    case Element::kFloat32:
      break;
  }
  return "BF_FLOAT_AT";
}

// A program as the body of an entry point: one overload for each structure.
class ProgramText {
 public:
  ProgramText(const Lowered& lowered, const Entry& entry, const emit::Instruments& instruments,
              const ErrorConstants& errors)
      : program_(lowered.program(entry)),
        plan_(lowered.plan()),
        entry_(entry),
        dialect_(plan_.config.language),
        instruments_(instruments),
        calls_(lowered, entry, &errors) {}

  std::string text();

  void operator()(const Call& node);
  void operator()(const Part& node);
  void operator()(const Lifetime& node);
  void operator()(const Ask& node);
  void operator()(const Block& node);
  void operator()(const WhenInside& node);
  void operator()(const DefineImage& node);
  void operator()(const DefineWindow& node);
  void operator()(const DefineRows& node);
  void operator()(const DefineRowErrors& node);
  void operator()(const Tiles& node);
  void operator()(const Rounds& node);
  void operator()(const IfFits& node);
  void operator()(const Clear& node);
  void operator()(const ColdStart& node);
  void operator()(const Iterations& node);

 private:
  void line(std::string_view text);
  bool is_alone(const Call& node) const;
  void inside(const Body& body);
  std::string lifetime(const Buffer& buffer) const;
  void declare(const Buffer& buffer);
  void print(const Section& section);
  std::string origin(const Task& task) const;
  std::string read(const WindowRead& read) const;

  const Program& program_;
  const Plan& plan_;
  const Entry& entry_;
  const emit::Dialect dialect_;
  const emit::Instruments& instruments_;
  CallText calls_;
  std::string text_;
  int depth_ = 1;
  int task_ = -1;
};

// Lines are indented by two more for each block that is open.
void ProgramText::line(std::string_view text) {
  text_.append(static_cast<std::size_t>(2 * depth_), ' ').append(text) += '\n';
}

void ProgramText::inside(const Body& body) {
  ++depth_;
  for (const Node& node : body) std::visit(*this, node.what);
  --depth_;
}

std::string ProgramText::text() {
  if (!entry_.buffers.empty()) {
    line("// The arena: what holds what, how many, in which tasks.");
    for (const Buffer& buffer : entry_.buffers)
      if (!buffer.per_worker) declare(buffer);
  }
  if (entry_.workers > 1)
    line(fmt::format("const bf::Scratch scratch = {{at<unsigned char>(workspace, {}), {}}};",
                     entry_.storage.planned_bytes, entry_.worker_storage.planned_bytes));
  if (program_.groups) {
    line(fmt::format("bf::BoxGroup<{}> group = {{}};", entry_.boxes));
    line("while (bf::next_group(group, count, statuses)) {");
    ++depth_;
  }
  for (const Section& section : program_.sections) print(section);
  if (program_.groups) {
    --depth_;
    line("}");
  }
  task_ = -1;
  (*this)(Part{});
  return std::move(text_);
}

// Prints a section; tasks are set apart by an empty line, before what opens it.
void ProgramText::print(const Section& section) {
  const bool always = section.when == RunWhen::kAlways;
  for (const TaskCalls& calls : section.tasks) {
    task_ = calls.task;
    text_ += "\n";
    if (!always && &calls == &section.tasks.front()) {
      line(section.when == RunWhen::kUnlessShared ? "if (!call.shared) {" : "if (!call.kept) {");
      ++depth_;
    }
    const Task& task = entry_.task(calls.task);
    line(fmt::format("// Task {}: {}.{}", calls.task + 1, task.name, origin(task)));
    for (const StepCalls& step : calls.steps) {
      if (instruments_.marks) line(emit::begin_mark(step_mark(plan_, entry_, step.step)));
      for (const Node& node : step.body) std::visit(*this, node.what);
      if (instruments_.marks) line(emit::end_mark());
    }
  }
  if (always) return;
  --depth_;
  line("}");
}

std::string ProgramText::origin(const Task& task) const {
  if (!task.layer) return {};
  const Layer& layer = plan_.layer(*task.layer);
  std::vector<int> sizes;
  for (const Term& term : layer.terms) sizes.push_back(term.in);
  if (layer.kind == LayerKind::kDense) sizes = {layer.in};
  return fmt::format(" {}: [{}] -> [{}].", layer.origin.text, fmt::join(sizes, "], ["), layer.out);
}

// The tasks from the first that writes a buffer to the last that reads it.
std::string ProgramText::lifetime(const Buffer& buffer) const {
  const auto task_of = [&](int step) {
    std::size_t task = 0;
    while (std::ranges::count(entry_.tasks.at(task).steps, step) == 0) ++task;
    return task + 1;
  };
  const std::size_t first = task_of(buffer.first), last = task_of(buffer.last);
  return first == last ? fmt::format(", task {}", first)
                       : fmt::format(", tasks {} to {}", first, last);
}

void ProgramText::declare(const Buffer& buffer) {
  const bool kept = buffer.scope != CacheScope::kRun;
  const std::string type = type_of(buffer.element, dialect_);
  const std::string place =
      dialect_.is_c() ? place_macro(buffer.element) : fmt::format("at<{}>", type);
  line(fmt::format("{}{}* const {} = {}({}, {});  // [{}]{}", dialect_.shared(), type, buffer.name,
                   place,
                   buffer.per_worker ? "own"
                   : kept            ? "context"
                                     : "workspace",
                   buffer.offset, buffer.count, kept ? "" : lifetime(buffer)));
}

// The items of a device's group wait for each other after each call.
void ProgramText::operator()(const Call& node) {
  const std::string structure = calls_.made_structure(node);
  if (!structure.empty()) {
    line("{");
    ++depth_;
    line(structure);
  }
  line((is_alone(node) ? "BF_ONCE " : "") + calls_.text(node) + ";");
  if (!structure.empty()) {
    --depth_;
    line("}");
  }
  if (plan_.config.items > 1) line("BF_BARRIER;");
}

// Returns whether one item of a group does it.
bool ProgramText::is_alone(const Call& node) const {
  const auto* const routine = std::get_if<Routine>(&node.callee);
  return plan_.config.items > 1 && routine != nullptr &&
         find_c_routine(*routine)->dealt == Dealt::kAlone;
}

void ProgramText::operator()(const Part& node) {
  if (instruments_.time_parts)
    line(fmt::format("if ({0}_trace != {3}) {0}_trace({1}, \"{2}\");", plan_.name, task_, node.name,
                     dialect_.null()));
}

void ProgramText::operator()(const Lifetime& node) {
  if (!instruments_.poison) return;
  const Buffer& buffer = entry_.buffer(node.buffer);
  line(fmt::format("poison({}, {}, {});", buffer.name, buffer.bytes, *instruments_.poison));
}

void ProgramText::operator()(const Ask& node) {
  line(fmt::format("if (!bf::may_spend(meter, {})) return false;", node.operations));
}

void ProgramText::operator()(const Block& node) {
  line("{");
  inside(node.body);
  line("}");
}

void ProgramText::operator()(const WhenInside& node) {
  line(node.inside ? "if (call.inside)" : "if (!call.inside)");
  inside({Node{node.call}});
}

void ProgramText::operator()(const DefineImage& node) {
  const RowImage& image = node.image;
  line(fmt::format("{} {}{}{{{}, {}, {}, {}}};  // {}",
                   dialect_.is_c() ? "const bf_image" : "constexpr bf::Image",
                   image_name(image.tensor), dialect_.is_c() ? " = " : "", image.batch,
                   image.channels, emit::extent_literal(image.size),
                   emit::strides_literal(image.layout),
                   image.tensor < 0 ? "the box" : plan_.layer(image.tensor).name));
}

std::string ProgramText::read(const WindowRead& read) const {
  switch (read.kind) {
    case WindowRead::Kind::kWhole:
      return fmt::format("{}({}.in_size)", dialect_.runtime("whole"),
                         calls_.shape_text(read.shape));
    case WindowRead::Kind::kThroughConvolution:
      return fmt::format("{}({}, {})", dialect_.runtime("read_window"), calls_(read.shape),
                         window_name(read.reader));
    case WindowRead::Kind::kSame:
      break;
  }
  return window_name(read.reader);
}

void ProgramText::operator()(const DefineWindow& node) {
  std::string window;
  if (node.count > 0)
    window = fmt::format("{}({}, {}, {})", dialect_.runtime("window_of"), image_name(node.tensor),
                         calls_(node.neurons), node.count);
  for (const WindowRead& each : node.reads)
    window = window.empty()
                 ? read(each)
                 : fmt::format("{}({}, {})", dialect_.runtime("unite"), window, read(each));
  line(fmt::format("const {} {} = {};", dialect_.runtime(dialect_.is_c() ? "window" : "Window"),
                   window_name(node.tensor), window));
}

void ProgramText::operator()(const DefineRows& node) {
  const std::string list = calls_.text(node.list);
  if (node.boxes == 1)
    line(fmt::format("const int count = {};", list));
  else
    line(fmt::format("const bf::BoxRows<{}> rows = {};", node.boxes, list));
  if (plan_.config.items > 1) line("BF_BARRIER;");
}

void ProgramText::operator()(const DefineRowErrors& node) {
  const bool one = node.boxes == 1;
  std::string underflow = std::to_string(node.inputs);
  for (const BufferId link : node.links)
    underflow += one ? fmt::format(" + {}[2]", calls_.name(link))
                     : fmt::format(" + {}[b + {}]", calls_.name(link), 2 * node.boxes);
  const std::string absolute = fmt::format("{} * ({})", calls_(node.underflow), underflow);
  const std::string rows = calls_.name(node.row_slack);
  const std::string errors = fmt::format(
      "const {}{{{}, {}, {},", dialect_.is_c() ? "bf_row_errors errors = " : "bf::RowErrors errors",
      calls_(node.concretize), calls_(node.weight), calls_(node.inflate));
  if (one) return line(fmt::format("{} {}, {}}};", errors, absolute, rows));
  line(fmt::format("{} 0, {}}};", errors, rows));
  line(fmt::format("double absolute[{}];", node.boxes));
  line(fmt::format("for (int b = 0; b < {}; ++b)", node.boxes));
  line(fmt::format("  absolute[b] = {};", absolute));
}

void ProgramText::operator()(const Tiles& node) {
  if (!node.workers) {
    line(fmt::format("for (int first = 0; first < count; first += {}) {{", node.neurons));
    inside(node.body);
    return line("}");
  }
  line("const auto tile = [&](int index, unsigned char* own) {");
  ++depth_;
  line(fmt::format("const int first = index * {};", node.neurons));
  for (const BufferId id : node.own) declare(entry_.buffer(id));
  --depth_;
  inside(node.body);
  line("};");
  line(fmt::format("const int tiles = bf::tiles_of(count, {});", node.neurons));
  line("if (const bf_status status = bf::run_tiles(team, scratch, tiles, tile)) return status;");
}

void ProgramText::operator()(const Rounds& node) {
  line("for (int round = 0; round < rows.rounds; ++round) {");
  ++depth_;
  line(fmt::format("const std::int32_t* const neurons = {} + {} * round;",
                   calls_.name(node.neurons), node.boxes));
  --depth_;
  inside(node.body);
  line("}");
}

void ProgramText::operator()(const IfFits& node) {
  line(fmt::format("if (count - first <= {}) {{", node.neurons));
  inside(node.fits);
  line("} else {");
  inside(node.other);
  line("}");
}

void ProgramText::operator()(const Clear& node) {
  const bool dealt = plan_.config.items > 1;
  const std::string each = dealt ? fmt::format("BF_EACH(i, {})", node.count)
                                 : fmt::format("for (int i = 0; i < {}; ++i)", node.count);
  line(fmt::format("{} {}[i] = 0;", each, calls_.name(node.buffer)));
  if (dealt) line("BF_BARRIER;");
}

void ProgramText::operator()(const ColdStart& node) {
  line("const bool warm = (state.starts & call.own) != 0;");
  line("if (!warm) {");
  inside(node.body);
  line("}");
}

void ProgramText::operator()(const Iterations& node) {
  if (node.count == 1) {
    for (const Node& each : node.rows) std::visit(*this, each.what);
    return;
  }
  line(dialect_.is_c() ? "bf_slope_ascent ascent = bf_begin_ascent();" : "bf::SlopeAscent ascent;");
  line("for (int iteration = 1;; ++iteration) {");
  inside(node.rows);
  ++depth_;
  line(fmt::format("if (iteration == {}) break;",
                   node.warm > 0 ? fmt::format("(warm ? {} : {})", node.warm, node.count)
                                 : std::to_string(node.count)));
  (*this)(Part{"choose_slopes"});
  line(dialect_.is_c() ? "bf_next_step(&ascent);" : "ascent.next();");
  --depth_;
  inside(node.better);
  line("}");
}

}  // namespace

std::string step_mark(const Plan& plan, const Entry& entry, int step) {
  return fmt::format("step {} {}", &entry - plan.entries.data(), step);
}

Bodies::Bodies(const Lowered& lowered, const emit::Instruments& instruments)
    : lowered_(lowered),
      instruments_(instruments),
      errors_(lowered.programs(), emit::Dialect(lowered.plan().config.language)) {}

std::string Bodies::of(const Entry& entry) const {
  return ProgramText(lowered_, entry, instruments_, errors_).text();
}

}  // namespace bf_aot::calls
