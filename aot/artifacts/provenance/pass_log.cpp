#include "aot/artifacts/provenance/pass_log.h"

#include <map>
#include <utility>

namespace bf_aot::artifacts {
namespace {

std::vector<LoggedNode> logged(const Graph& graph) {
  std::vector<LoggedNode> nodes;
  for (const Node& node : graph.nodes) {
    LoggedNode made{graph.value(node.output).name,
                    std::string(op_name(node.op)),
                    {},
                    graph.value(node.output).shape,
                    node.origin};
    for (const ValueId input : node.inputs) made.inputs.push_back(graph.value(input).name);
    nodes.push_back(std::move(made));
  }
  return nodes;
}

std::map<std::string_view, const LoggedNode*> by_value(const std::vector<LoggedNode>& nodes) {
  std::map<std::string_view, const LoggedNode*> found;
  for (const LoggedNode& node : nodes) found.emplace(node.value, &node);
  return found;
}

}  // namespace

void PassLog::after(std::string_view pass, const Graph& graph) {
  std::vector<LoggedNode> now = logged(graph);
  PassRecord record{std::string(pass), now.size(), {}, {}, {}};
  const auto before = by_value(nodes_), after = by_value(now);
  for (const LoggedNode& node : nodes_)
    if (!after.contains(node.value)) record.removed.push_back(node);
  for (const LoggedNode& node : now) {
    const auto old = before.find(node.value);
    if (old == before.end())
      record.added.push_back(node);
    else if (*old->second != node)
      record.changed.push_back({*old->second, node});
  }
  records_.push_back(std::move(record));
  nodes_ = std::move(now);
}

}  // namespace bf_aot::artifacts
