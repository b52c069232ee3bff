#include "aot/emit/calls/dump.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aot/emit/calls/calls.h"

namespace bf_aot::calls {
namespace {

// One overload for each structure.
class Dump {
 public:
  Dump(const Lowered& lowered, const Entry& entry)
      : plan_(lowered.plan()), entry_(entry), calls_(lowered, entry, nullptr) {}

  std::string text(const Program& program);

  void operator()(const Call& node) { line(calls_.text(node)); }
  void operator()(const Part&) {}
  void operator()(const Lifetime&) {}
  void operator()(const Block& node) { all(node.body); }
  void operator()(const WhenInside& node) {
    line(fmt::format("if {}inside the anchor: {}", node.inside ? "" : "not ",
                     calls_.text(node.call)));
  }
  void operator()(const DefineImage& node) {
    line(fmt::format("{} = {} x {} channels of [{}]", image_name(node.image.tensor),
                     node.image.batch, node.image.channels, fmt::join(node.image.size, ", ")));
  }
  void operator()(const DefineWindow& node);
  void operator()(const DefineRows& node) {
    line(fmt::format("{} = {}", node.boxes == 1 ? "count" : "rows", calls_.text(node.list)));
  }
  void operator()(const DefineRowErrors& node);
  void operator()(const Tiles& node) {
    line(fmt::format("for each {} of count{}", node.neurons, node.workers ? ", by workers" : ""));
    inside(node.body);
  }
  void operator()(const Rounds& node) {
    line(fmt::format("for each round of {}, {} boxes", calls_.name(node.neurons), node.boxes));
    inside(node.body);
  }
  void operator()(const IfFits& node) {
    line(fmt::format("if {} are left at most", node.neurons));
    inside(node.fits);
    line("else");
    inside(node.other);
  }
  void operator()(const Clear& node) {
    line(fmt::format("{}[0 .. {}] = 0", calls_.name(node.buffer), node.count - 1));
  }
  void operator()(const Ask& node) { line(fmt::format("ask for {} operations", node.operations)); }
  void operator()(const ColdStart& node) {
    line("unless slopes are kept");
    inside(node.body);
  }
  void operator()(const Iterations& node);

 private:
  void line(const std::string& text) {
    text_.append(static_cast<std::size_t>(2 * depth_), ' ').append(text) += '\n';
  }
  void all(const Body& body) {
    for (const Node& node : body) std::visit(*this, node.what);
  }
  void inside(const Body& body) {
    ++depth_;
    all(body);
    --depth_;
  }

  const Plan& plan_;
  const Entry& entry_;
  CallText calls_;
  std::string text_;
  int depth_ = 1;
};

const char* when_text(RunWhen when) {
  switch (when) {
    case RunWhen::kUnlessShared:
      return ", unless the box is that of the call before";
    case RunWhen::kUnlessKept:
      return ", unless its results are kept";
    case RunWhen::kAlways:
      break;
  }
  return "";
}

std::string Dump::text(const Program& program) {
  text_ = fmt::format("entry {}{}\n", name_of(entry_),
                      program.groups ? fmt::format(", for each {} boxes", entry_.boxes) : "");
  for (const Section& section : program.sections)
    for (const TaskCalls& task : section.tasks) {
      text_ += fmt::format("task {}: {}{}\n", task.task + 1, entry_.task(task.task).name,
                           when_text(section.when));
      for (const StepCalls& step : task.steps) all(step.body);
    }
  return std::move(text_);
}

void Dump::operator()(const DefineWindow& node) {
  std::vector<std::string> reads;
  if (node.count > 0) reads.push_back(fmt::format("{} neurons", node.count));
  for (const WindowRead& read : node.reads)
    reads.push_back(read.reader < 0 ? "the box" : plan_.layer(read.reader).name);
  line(fmt::format("{} = what {} touch", window_name(node.tensor), fmt::join(reads, ", ")));
}

void Dump::operator()(const DefineRowErrors& node) {
  std::vector<std::string> links;
  for (const BufferId link : node.links) links.push_back(calls_.name(link));
  line(fmt::format("errors = concretize {}, weight {}, inflate {}, {} + {} ({})",
                   calls_(node.concretize), calls_(node.weight), calls_(node.inflate),
                   calls_.name(node.row_slack), calls_(node.underflow), fmt::join(links, ", ")));
}

void Dump::operator()(const Iterations& node) {
  if (node.count == 1) return all(node.rows);
  line(node.warm > 0 ? fmt::format("{} times, or {} with kept slopes", node.count, node.warm)
                     : fmt::format("{} times", node.count));
  inside(node.rows);
  line("between two of them");
  inside(node.better);
}

}  // namespace

std::string dump_calls(const Lowered& lowered) {
  std::string text;
  for (const Entry& entry : lowered.plan().entries)
    text += Dump(lowered, entry).text(lowered.program(entry)) + "\n";
  return text;
}

}  // namespace bf_aot::calls
