#include "aot/artifacts/provenance/integer_trace.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "planner/integer/step_work.h"

namespace bf_aot::artifacts {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> functions_of(const IntegerPlan& plan, const IntegerStep& step) {
  std::vector<std::string> functions;
  for (const StepCalls& calls : calls_of(plan, step)) functions.emplace_back(calls.function);
  return functions;
}

// Whether a step of method crown has rows that go back, in the room.
bool calls_back(const IntegerStep& step) {
  return std::holds_alternative<GridDense>(step) || std::holds_alternative<DequantizeSums>(step);
}

class IntegerTracer {
 public:
  IntegerTracer(const Plan& plan, const std::map<std::string, Json>& lines)
      : integer_(*plan.integer), entry_(plan.entries.front()), lines_(lines) {}

  Traced trace() {
    for (std::size_t i = 0; i < integer_.steps.size(); ++i) add_step(i);
    if (integer_.property)
      for (const PropertySums& sums : integer_.property->sums) add_rows(sums);
    traced_.kernels = Json::array();
    add_buffers();
    return std::move(traced_);
  }

 private:
  Json lines_of(const std::string& what) const {
    const auto found = lines_.find(what);
    return found == lines_.end() ? Json::array() : found->second;
  }

  std::vector<std::string> buffers_of(GridId id) const {
    const GridTensor& tensor = integer_.tensor(id);
    return {entry_.buffer(tensor.lower).name, entry_.buffer(tensor.upper).name};
  }

  static std::string step_name(std::size_t number) {
    return fmt::format("{}/{}", to_string(EntryKind::kBounds), number);
  }

  void add_layer(const IntegerStep& step, const std::string& name, const std::string& number) {
    const Origin& origin = origin_of(integer_, step);
    const std::int64_t bytes = constant_bytes(step);
    Json tables = Json::array();
    if (bytes > 0) {
      tables.push_back(name);
      traced_.tables.push_back(
          {{"table", name}, {"bytes", bytes}, {"lines", lines_of("table " + name)}});
    }
    traced_.layers.push_back({{"layer", name},
                              {"origin", origin.text},
                              {"nodes", origin.nodes},
                              {"complete", origin.complete},
                              {"tables", std::move(tables)},
                              {"steps", {number}},
                              {"passed_by", Json::array()}});
    traced_.sources.push_back({name, origin});
  }

  void add_step(std::size_t i) {
    const IntegerStep& step = integer_.steps[i];
    const std::string name = name_of_result(integer_, step);
    const std::string number = step_name(i);
    add_layer(step, name, number);
    std::vector<std::string> reads, writes;
    for (const GridId in : inputs_of(step))
      for (const std::string& buffer : buffers_of(in)) reads.push_back(buffer);
    if (const GridId out = output_of(step); out >= 0) writes = buffers_of(out);
    if (const auto* const conv = std::get_if<GridConv>(&step))
      for (const BufferId id : {conv->window_lower, conv->window_upper}) {
        writes.push_back(entry_.buffer(id).name);
        reads.push_back(entry_.buffer(id).name);
      }
    if (integer_.crown && calls_back(step)) {
      const std::string& room = entry_.buffer(integer_.crown->room).name;
      reads.push_back(room);
      writes.push_back(room);
    }
    push(number, name_of(step), name, name, functions_of(integer_, step), reads, writes);
  }

  void add_rows(const PropertySums& sums) {
    push(step_name(traced_.steps.size()), "rows", "rows", nullptr, {"bf::integer::add_rows"},
         buffers_of(sums.in), {});
  }

  void push(const std::string& number, std::string_view kind, const std::string& task,
            const Json& layer, const std::vector<std::string>& calls,
            const std::vector<std::string>& reads, const std::vector<std::string>& writes) {
    for (const std::string& buffer : reads) read_by_[buffer].push_back(number);
    for (const std::string& buffer : writes) written_by_[buffer].push_back(number);
    traced_.steps.push_back({{"step", number},
                             {"kind", kind},
                             {"task", task},
                             {"layer", layer},
                             {"through", Json::array()},
                             {"kernels", Json::array()},
                             {"calls", calls},
                             {"lines", lines_of("step " + number)},
                             {"reads", reads},
                             {"writes", writes}});
  }

  void add_buffers() {
    for (const Buffer& buffer : entry_.buffers)
      traced_.buffers.push_back({{"entry", to_string(entry_.kind)},
                                 {"name", buffer.name},
                                 {"scope", to_string(buffer.scope)},
                                 {"per_worker", buffer.per_worker},
                                 {"offset", buffer.offset},
                                 {"bytes", buffer.bytes},
                                 {"written_by", written_by_[buffer.name]},
                                 {"read_by", read_by_[buffer.name]}});
  }

  const IntegerPlan& integer_;
  const Entry& entry_;
  const std::map<std::string, Json>& lines_;
  Traced traced_{{}, Json::array(), Json::array(), Json::array(), Json::array(), Json::array()};
  std::map<std::string, std::vector<std::string>> read_by_, written_by_;
};

}  // namespace

Traced trace_integers(const Plan& plan, const std::map<std::string, Json>& lines) {
  return IntegerTracer(plan, lines).trace();
}

}  // namespace bf_aot::artifacts
