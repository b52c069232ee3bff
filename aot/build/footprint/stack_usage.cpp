#include "aot/build/footprint/stack_usage.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

namespace bf_aot::build {
namespace {

constexpr std::string_view kIndirectCall = "__indirect_call";

struct Function {
  std::int64_t frame = 0;
  bool bounded = true;
  std::set<std::string> callees;
};
using Functions = std::map<std::string, Function>;

// The text in quotes behind `key`, without resolving escapes.
std::string quoted(const std::string& line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return {};
  const std::size_t begin = line.find('"', at + key.size());
  const std::size_t end = line.find('"', begin + 1);
  if (begin == std::string::npos || end == std::string::npos) return {};
  return line.substr(begin + 1, end - begin - 1);
}

// Lines
//   node: { title: "name" label: "text\nfile:line:column\n24 bytes (static)" }
//   edge: { sourcename: "caller" targetname: "callee" label: "file:line:column" }
// A function of another source is a node without bytes.
void read_graph(const std::string& graph, Functions& functions) {
  std::istringstream lines(graph);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("edge:")) {
      functions[quoted(line, "sourcename:")].callees.insert(quoted(line, "targetname:"));
    } else if (line.starts_with("node:")) {
      const std::string label = quoted(line, "label:");
      const std::size_t unit = label.find(" bytes (");
      if (unit == std::string::npos) continue;
      const std::size_t number = label.rfind("\\n", unit) + 2;
      Function& function = functions[quoted(line, "title:")];
      function.frame = std::max<std::int64_t>(function.frame, std::stoll(label.substr(number)));
      if (label.find(" bytes (dynamic)") != std::string::npos) function.bounded = false;
    }
  }
}

class DeepestChain {
 public:
  explicit DeepestChain(const Functions& functions) : functions_(functions) {}

  std::optional<std::int64_t> below(const std::string& name) {
    if (name == kIndirectCall) return std::nullopt;
    const auto function = functions_.find(name);
    if (function == functions_.end()) return 0;
    if (const auto known = known_.find(name); known != known_.end()) return known->second;
    if (!function->second.bounded || !open_.insert(name).second) return std::nullopt;
    std::int64_t most = 0;
    for (const std::string& callee : function->second.callees) {
      const auto depth = below(callee);
      if (!depth) return std::nullopt;
      most = std::max(most, *depth);
    }
    open_.erase(name);
    return known_[name] = function->second.frame + most;
  }

 private:
  const Functions& functions_;
  std::map<std::string, std::int64_t> known_;
  std::set<std::string> open_;  // on the chain: met again, it recurses
};

}  // namespace

std::optional<std::int64_t> deepest_stack(const std::vector<std::string>& graphs) {
  Functions functions;
  for (const std::string& graph : graphs) read_graph(graph, functions);
  DeepestChain chain(functions);
  std::int64_t most = 0;
  for (const auto& [name, function] : functions) {
    const auto depth = chain.below(name);
    if (!depth) return std::nullopt;
    most = std::max(most, *depth);
  }
  return functions.empty() ? std::nullopt : std::optional(most);
}

// Lines "file:line:column:function <tab> bytes <tab> qualifiers".
std::optional<std::int64_t> sum_of_frames(const std::string& report) {
  std::istringstream lines(report);
  std::int64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line.substr(std::min(line.find('\t'), line.size())));
    std::int64_t bytes = 0;
    std::string qualifiers;
    if (!(fields >> bytes >> qualifiers) || qualifiers == "dynamic") return std::nullopt;
    sum += bytes;
  }
  return sum;
}

}  // namespace bf_aot::build
