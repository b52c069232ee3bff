#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/passes/passes.h"
#include "frontend/property/property.h"

namespace bf_aot {

struct Graph;

struct PassOptions {
  // Folded into the last affine layer; null: the network's own outputs.
  const LinearSpec* spec = nullptr;
  // The graph is to bound evaluation in float32, see round_float32(); none: real arithmetic.
  std::optional<Float32Semantics> float32;
  // The graph is to bound what the verifier's own evaluation makes of it: outputs are what that
  // rounds, so that no specification is folded into their layers. Not with float32.
  bool own_evaluation = false;
  // Maxima become sums with ReLUs, see max_as_relu(): for neurons that are split. Of real
  // arithmetic alone.
  bool max_as_relu = false;
  // Each code may be one more or less, see loosen_codes(). Only real semantics has such codes.
  bool loose_codes = false;
  // The graph is for integers: only passes that keep each tensor's grid and its constants' exact
  // values run, and the result need not be normal.
  bool grids = false;
  // Names of passes to leave out, in all their rows; an unknown one fails with BF2001, one
  // that is not optional with BF2104.
  std::vector<std::string> disabled;
  // Called after each pass that ran, with the seconds that it took.
  std::function<void(std::string_view pass, const Graph& graph, double seconds)> after_pass;
};

struct PassTraits {
  bool optional = true;  // may be left out
  // The semantics that have this pass. Evaluation in float32 does not allow every pass: two
  // computations of one number may differ there, and errors relative to the parts of a sum are not
  // relative to the sum. kOwn is the verifier's own evaluation, PassOptions::own_evaluation. It
  // evaluates the graph that the passes leave, so it has those of kReal too.
  enum class Of : std::uint8_t { kBoth, kReal, kFloat32, kOwn } of = Of::kBoth;
  bool keeps_grids = false;
  // It computes the same function by other numbers: integers do not stay exact, and bounds by
  // intervals are better around 0 and may be worse elsewhere.
  bool regroups = false;
};

struct Pass {
  std::string_view name;
  std::string_view summary;  // what --list-passes prints
  void (*run)(Graph&, const PassOptions&);
  PassTraits traits = {};
};

// The table of passes in the order in which they run; a pass may occur more than once.
std::span<const Pass> normalisation_passes();

// Runs them on an imported graph; afterwards it is normal: see check_supported. Verifies the graph
// before the first and after each pass. Throws CompileError for what cannot be brought into this
// form, all of it at once.
void normalise(Graph& graph, const PassOptions& options = {});

// Fails with BF2001 unless `name` is a pass.
void check_pass_name(std::string_view name);

// A PassOptions::after_pass that prints the graph after each row of pass `name`, or of any for
// "all"; "unchanged" when it looks like the last one printed.
std::function<void(std::string_view, const Graph&, double)> dump_after(std::string name,
                                                                       std::ostream& out);

// One line for each pass, for --list-passes.
std::string list_passes();

}  // namespace bf_aot
