#include "frontend/passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"
#include "frontend/float_environment.h"
#include "frontend/graph/checked_data.h"
#include "frontend/graph/graph.h"
#include "frontend/passes/passes.h"

namespace bf_aot {
namespace {

template <auto run>
void without_options(Graph& graph, const PassOptions&) {
  run(graph);
}

void fold_spec_if_given(Graph& graph, const PassOptions& options) {
  if (options.spec != nullptr)
    fold_output_spec(graph, *options.spec, !options.float32 && !options.own_evaluation);
}

void maxima_as_asked(Graph& graph, const PassOptions& options) {
  if (options.max_as_relu) max_as_relu(graph);
}

// A verifier's own evaluation rounds each result. Splits of neurons of the networks that have
// maxima written as ReLUs need all of their functions to be ReLUs.
void functions_of_one_tensor(Graph& graph, const PassOptions& options) {
  const bool maxima = options.max_as_relu && std::ranges::any_of(graph.nodes, [](const Node& node) {
                        return std::holds_alternative<GroupMax>(node.op);
                      });
  if (!options.own_evaluation && !maxima) collapse_univariate(graph);
}

void loose_codes_as_asked(Graph& graph, const PassOptions& options) {
  if (options.loose_codes) loosen_codes(graph);
}

// The searches that split neurons know functions and products, and no log-softmax.
void softmax_as_asked(Graph& graph, const PassOptions& options) {
  if (options.max_as_relu) softmax_as_pairs(graph);
}

// A verifier's own evaluation rounds each result, and the searches that split neurons know no
// log-softmax.
void logarithms_of_sums(Graph& graph, const PassOptions& options) {
  if (!options.own_evaluation && !options.max_as_relu) log_sum_exp(graph);
}

// The searches that split neurons get the pairs of its elements, if these are not too many.
void softmax_written_out(Graph& graph, const PassOptions& options) {
  if (options.own_evaluation) return;
  if (!options.max_as_relu) return softmax_of_powers(graph);
  softmax_of_powers(graph, kMostDifferences);
  softmax_as_pairs(graph);
}

// A verifier's own evaluation rounds each result.
void squares_of_forms(Graph& graph, const PassOptions& options) {
  if (!options.own_evaluation) quadratic_forms(graph);
}

// A verifier's own evaluation rounds each result.
void folded_clips(Graph& graph, const PassOptions& options) {
  if (!options.own_evaluation) fold_clips(graph);
}

// It does not run for a verifier's own evaluation, whose roundings no constant of the graph holds.
void arguments_of_network(Graph& graph, const PassOptions& options) {
  if (!options.own_evaluation) bound_arguments(graph);
}

// The searches that split neurons, and the passes that add the roundings of float32 or of a grid,
// need products of matrices written as products of elements and their sums.
void lower_as_asked(Graph& graph, const PassOptions& options) {
  lower_affine(graph, !options.max_as_relu && !options.float32 && !options.grids);
}

void round_as_given(Graph& graph, const PassOptions& options) {
  round_float32(graph, *options.float32);
}

bool is_disabled(const PassOptions& options, std::string_view name) {
  return std::find(options.disabled.begin(), options.disabled.end(), name) !=
         options.disabled.end();
}

bool has_pass(const PassOptions& options, PassTraits::Of of) {
  switch (of) {
    case PassTraits::Of::kBoth:
      return true;
    case PassTraits::Of::kReal:
      return !options.float32;
    case PassTraits::Of::kFloat32:
      return options.float32.has_value();
    case PassTraits::Of::kOwn:
      return options.own_evaluation;
  }
  return true;
}

bool runs(const PassOptions& options, const Pass& pass) {
  return has_pass(options, pass.traits.of) && !is_disabled(options, pass.name);
}

bool runs(const PassOptions& options, std::string_view name) {
  return std::ranges::any_of(normalisation_passes(), [&](const Pass& pass) {
    return pass.name == name && runs(options, pass);
  });
}

void check_disabled(const PassOptions& options) {
  for (const std::string& name : options.disabled) check_pass_name(name);
  for (const Pass& pass : normalisation_passes())
    if (!pass.traits.optional && is_disabled(options, pass.name))
      fail("BF2104", fmt::format("pass '{}'", pass.name),
           "the other passes leave to it what nobody reads: it cannot be left out",
           "--list-passes says which passes can");
}

// Repeats passes that enable each other. Each of them shrinks the graph or moves a node towards an
// end; the limit is for what nobody thought of.
void settle(Graph& graph, const PassOptions& options) {
  constexpr int kRounds = 16;
  bool changed = true;
  for (int round = 0; changed && round < kRounds; ++round) {
    changed = false;
    if (runs(options, "fold-scale")) changed = fold_scale(graph) || changed;
    if (runs(options, "eliminate-permutes")) changed = eliminate_permutes(graph) || changed;
    if (runs(options, "merge-affine")) changed = merge_affine(graph) || changed;
    if (runs(options, "drop-unread")) changed = drop_unread(graph) || changed;
  }
}

// The rows of a specification stay apart from outputs that are rounded.
void settle_rows(Graph& graph, const PassOptions& options) {
  if (!options.own_evaluation) settle(graph, options);
}

constexpr Pass kPasses[] = {
    {"round-float32",
     "count the roundings of float32 evaluation (--semantics float32)",
     round_as_given,
     {.optional = false, .of = PassTraits::Of::kFloat32}},
    {"softmax-as-pairs",
     "write softmax as functions of differences, where neurons of such networks are split",
     softmax_as_asked,
     {.of = PassTraits::Of::kReal}},
    {"fold-constants",
     "compute what depends on constants alone",
     without_options<fold_constants>,
     {.keeps_grids = true}},
    {"float32-reach",
     "find the inputs for which float32 evaluation cannot overflow",
     without_options<find_float32_reach>,
     {.optional = false, .of = PassTraits::Of::kFloat32}},
    // What constants alone give is rounded once, as the file says.
    {"loosen-codes",
     "let each code be one more or less (--semantics quantised-any)",
     loose_codes_as_asked,
     {.optional = false, .of = PassTraits::Of::kReal, .keeps_grids = true}},
    {"lower-affine",
     "reduce operators to linear ones, sums and products of tensors of equal size",
     lower_as_asked,
     {.keeps_grids = true}},
    {"join-inputs",
     "make one input of several",
     without_options<join_inputs>,
     {.keeps_grids = true}},
    {"remove-dead-nodes",
     "drop results nobody reads",
     without_options<remove_dead_nodes>,
     {.optional = false, .keeps_grids = true}},
    {"expand-constants", "make the constants that are left results of the network",
     without_options<expand_constants>},
    {"remove-duplicates",
     "compute equal results once",
     without_options<remove_duplicates>,
     {.of = PassTraits::Of::kReal}},
    // It needs equal powers to be one node, and runs before compare-arguments, which knows softmax.
    {"softmax-of-powers",
     "write powers over their sum by log-softmax",
     softmax_written_out,
     {.of = PassTraits::Of::kReal}},
    // It runs while constants are exact.
    {"quadratic-forms",
     "write quadratic forms of few variables as sums of few squares",
     squares_of_forms,
     {.of = PassTraits::Of::kReal, .regroups = true}},
    // Both run before scales and maps leave their places.
    {"compare-arguments",
     "compare what softmax and other functions that keep order read",
     without_options<compare_arguments>,
     {.of = PassTraits::Of::kReal}},
    {"limit-equalities",
     "limit integers that are compared with a tensor of limited reach",
     without_options<limit_equalities>,
     {.of = PassTraits::Of::kReal}},
    // It runs before log(1 + exp x) becomes a function.
    {"log-sum-exp",
     "write logarithms of sums of powers by log-softmax",
     logarithms_of_sums,
     {.of = PassTraits::Of::kReal}},
    // It runs before scales leave for the layers beside a function.
    {"collapse-univariate",
     "make one function of what elementwise nodes compute of one tensor",
     functions_of_one_tensor,
     {.of = PassTraits::Of::kReal}},
    {"eliminate-permutes", "absorb data movement into weights",
     without_options<eliminate_permutes>},
    {"fold-scale", "absorb elementwise scaling into weights", without_options<fold_scale>},
    // It runs again because a Scale between a map and its Affine may be gone now.
    {"eliminate-permutes", "absorb data movement into weights",
     without_options<eliminate_permutes>},
    {"remove-duplicates",
     "compute equal results once",
     without_options<remove_duplicates>,
     {.of = PassTraits::Of::kReal}},
    {"merge-affine",
     "compose adjacent linear layers",
     without_options<merge_affine>,
     {.of = PassTraits::Of::kReal}},
    {"fold-relu-pairs",
     "replace relu(z) - relu(-z) by z",
     [](Graph& graph, const PassOptions&) { fold_relu_pairs(graph); },
     {.of = PassTraits::Of::kReal}},
    {"fold-steps",
     "make one function of a sign of a sign",
     without_options<fold_steps>,
     {.of = PassTraits::Of::kReal}},
    {"fold-clips",
     "make one function of rounding to a grid and limits",
     folded_clips,
     {.of = PassTraits::Of::kReal}},
    // It needs maps to be gone from between operators, which then read what they need themselves.
    {"drop-unread", "leave out elements that nobody reads", without_options<drop_unread>},
    {"max-as-relu",
     "write maxima as sums with ReLUs, where neurons of such networks are split",
     maxima_as_asked,
     {.of = PassTraits::Of::kReal}},
    // It runs before the specification gives the last layers a second reader, so that the graph
    // with a folded specification is as tight as the one without.
    {"settle", "repeat those that enable each other until nothing changes", settle},
    // It runs again because maps between two steps may be gone now.
    {"fold-steps",
     "make one function of a sign of a sign",
     without_options<fold_steps>,
     {.of = PassTraits::Of::kReal}},
    {"float32-reach",
     "find the inputs for which float32 evaluation cannot overflow",
     without_options<find_float32_reach>,
     {.optional = false, .of = PassTraits::Of::kOwn}},
    {"fold-output-spec", "fold the linear specification into the last linear layer",
     fold_spec_if_given},
    // Few rows may make merging pay.
    {"settle", "repeat those that enable each other until nothing changes", settle_rows},
    {"bound-arguments", "find what arguments of functions of restricted domain never leave",
     arguments_of_network},
    // Cleans up after the others.
    {"remove-dead-nodes",
     "drop results nobody reads",
     without_options<remove_dead_nodes>,
     {.optional = false}},
};

}  // namespace

std::span<const Pass> normalisation_passes() {
  return kPasses;
}

void check_pass_name(std::string_view name) {
  for (const Pass& pass : kPasses)
    if (pass.name == name) return;
  fail("BF2001", fmt::format("pass '{}'", name), "there is no such pass",
       "--list-passes prints their names");
}

void normalise(Graph& graph, const PassOptions& options) {
  expect_float_environment();
  check_disabled(options);
  if (options.spec != nullptr && is_disabled(options, "fold-output-spec"))
    fail("BF2010", "pass 'fold-output-spec'", "there are no rows of a specification without it",
         "enable it, or leave out the specification");
  CheckedData data;
  verify(graph, data);
  for (const Pass& pass : kPasses) {
    if (!runs(options, pass) || (options.grids && !pass.traits.keeps_grids)) continue;
    const CheckScope scope(fmt::format("pass '{}'", pass.name));
    const auto start = std::chrono::steady_clock::now();
    pass.run(graph, options);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    verify(graph, data);
    if (options.after_pass) options.after_pass(pass.name, graph, seconds.count());
  }
  verify(graph);
  if (!options.grids) check_supported(graph);
}

std::function<void(std::string_view, const Graph&, double)> dump_after(std::string name,
                                                                       std::ostream& out) {
  if (name != "all") check_pass_name(name);
  return [name = std::move(name), &out, last = std::string()](std::string_view pass,
                                                              const Graph& graph, double) mutable {
    if (name != "all" && name != pass) return;
    std::string text = to_string(graph);
    out << "after " << pass << (text == last ? ": unchanged\n" : ":\n" + text);
    last = std::move(text);
  };
}

std::string list_passes() {
  std::string text;
  for (const Pass& pass : kPasses)
    text +=
        fmt::format("{:<22}  {}{}\n", pass.name, pass.traits.optional ? "" : "* ", pass.summary);
  return text;
}

}  // namespace bf_aot
