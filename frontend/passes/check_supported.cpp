#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontend/passes/affine_algebra.h"
#include "frontend/passes/passes.h"
#include "frontend/passes/rewrite.h"

namespace bf {
namespace {

bool is_normal(const Op& op) {
  return std::holds_alternative<Affine>(op) || std::holds_alternative<Relu>(op);
}

// For what a pass left although it has an affine form: because of its size, or the pass did not
// run.
Diagnostic left_over(std::string where, std::string_view what, std::int64_t rows,
                     std::int64_t columns) {
  if (!fits_dense(rows, columns))
    return {"BF2004", std::move(where),
            fmt::format("written as a matrix this {} would be {} x {}, more than {} elements", what,
                        rows, columns, kMaxWeightElements),
            "place a Gemm or MatMul next to it, which absorbs it"};
  return {"BF2006", std::move(where), fmt::format("it is still a {} after normalisation", what),
          "enable the pass that rewrites it"};
}

class NormalFormCheck {
 public:
  explicit NormalFormCheck(const Graph& graph)
      : graph_(graph), literals_(literal_values(graph)), makers_(producers(graph)) {}

  std::vector<Diagnostic> run() {
    for (const Node& node : graph_.nodes) check_node(node);
    for (ValueId output : graph_.outputs) check_output(output);
    return std::move(problems_);
  }

 private:
  std::int64_t count(ValueId id) const { return element_count(graph_.value(id).shape); }

  const Node* maker(ValueId id) const {
    const int index = makers_[index_of(id)];
    return index < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(index)];
  }

  // A Literal is no offence of its own: whoever reads it is.
  void check_node(const Node& node) {
    if (std::optional<Diagnostic> problem = lowering_problem(graph_, node, literals_)) {
      problems_.push_back(*std::move(problem));
    } else if (std::holds_alternative<Relu>(node.op)) {
      const Node* input = maker(node.inputs[0]);
      const bool made_well = input != nullptr && !std::holds_alternative<Relu>(input->op);
      if (!made_well) report(node.origin, "relu of no affine result", node.inputs[0], node.output);
    } else if (!is_normal(node.op) && !std::holds_alternative<Literal>(node.op)) {
      report(node.origin, op_name(node.op), node.inputs[0], node.output);
    }
  }

  void check_output(ValueId output) {
    const Node* node = maker(output);
    if (node != nullptr && !std::holds_alternative<Literal>(node->op)) return;
    const ValueId x = graph_.inputs.empty() ? output : graph_.inputs[0];
    report(fmt::format("output '{}'", graph_.value(output).name),
           node == nullptr ? "network input" : "constant", x, output);
  }

  void report(std::string where, std::string_view what, ValueId input, ValueId output) {
    problems_.push_back(left_over(std::move(where), what, count(output), count(input)));
  }

  const Graph& graph_;
  std::vector<const Constant*> literals_;
  std::vector<int> makers_;
  std::vector<Diagnostic> problems_;
};

}  // namespace

void check_supported(const Graph& graph) {
  std::vector<Diagnostic> problems = NormalFormCheck(graph).run();
  if (!problems.empty()) throw CompileError(std::move(problems));
}

}  // namespace bf
