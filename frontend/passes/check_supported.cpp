#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite/rewrite.h"

namespace bf_aot {

void check_supported(const Graph& graph) {
  const std::vector<const Constant*> literals = literal_values(graph);
  std::vector<Diagnostic> problems;
  const auto left = [&](std::string where, std::string_view what) {
    problems.push_back({"BF2006", std::move(where),
                        fmt::format("it is still a {} after normalisation", what),
                        "enable the pass that rewrites it"});
  };
  // A Literal is no offence of its own where a reader of it is.
  bool reader_reported = false;
  for (const Node& node : graph.nodes) {
    if (std::optional<Diagnostic> problem = lowering_problem(graph, node, literals)) {
      problems.push_back(*std::move(problem));
      reader_reported = true;
    } else if (!is_lowered(graph, node)) {
      left(node.origin, op_name(node.op));
      reader_reported = true;
    }
  }
  for (const Node& node : graph.nodes)
    if (std::holds_alternative<Literal>(node.op) && !reader_reported) left(node.origin, "literal");
  if (graph.inputs.size() > 1)
    problems.push_back({"BF2006", "",
                        fmt::format("its {} inputs are not joined", graph.inputs.size()),
                        "enable the pass that joins them"});
  if (!problems.empty()) throw CompileError(std::move(problems));
}

}  // namespace bf_aot
