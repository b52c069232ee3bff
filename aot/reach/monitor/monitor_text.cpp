#include "aot/reach/monitor/monitor_text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <string>
#include <string_view>

#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "aot/emit/text/literals.h"
#include "aot/emit/text/wrap.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "runtime/bf.h"

namespace bf_aot::reach {
namespace {

using Kind = ScalarStep::Kind;

// Text of a comment of one line.
std::string comment_text(const std::string& text) {
  std::string made = printable(text);
  for (char& c : made)
    if (c == '\\' || c == '\n') c = ' ';
  for (std::size_t at = 0; (at = made.find("*/", at)) != std::string::npos;)
    made.replace(at, 2, "* ");
  return made;
}

std::string number(double x) {
  if (std::isinf(x)) return x > 0 ? "__builtin_inf()" : "-__builtin_inf()";
  return emit::double_literal(x);
}

std::string_view name_of_step(Kind kind) {
  switch (kind) {
    case Kind::kInput:
      return "kInput";
    case Kind::kConstant:
      return "kConstant";
    case Kind::kAdd:
      return "kAdd";
    case Kind::kSubtract:
      return "kSubtract";
    case Kind::kMultiply:
      return "kMultiply";
    case Kind::kDivide:
      return "kDivide";
    case Kind::kRelu:
      return "kRelu";
    case Kind::kLarger:
      return "kLarger";
    case Kind::kFunction:
      return "kFunction";
  }
  return "";
}

// "kLeakyRelu" of leaky_relu.
std::string name_of_function(FunctionKind kind) {
  std::string made = "k";
  bool first = true;
  for (const char c : name_of(kind)) {
    if (c != '_')
      made += first ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    first = c == '_';
  }
  return made;
}

std::string step_text(const ScalarStep& step) {
  const std::string kind = fmt::format("    {{MonitorStep::Kind::{}, ", name_of_step(step.kind));
  switch (step.kind) {
    case Kind::kInput:
    case Kind::kRelu:
      return kind + fmt::format("{}, 0, {{}}, {{}}}},\n", step.a);
    case Kind::kConstant:
      return kind + fmt::format("0, 0, {{{}, {}}}, {{}}}},\n", number(step.constant.value),
                                number(step.constant.error));
    case Kind::kFunction:
      return kind + fmt::format("{}, 0, {{}}, {{MonitorFunction::Kind::{}, {}, {}}}}},\n", step.a,
                                name_of_function(step.function.kind), number(step.function.a),
                                number(step.function.b));
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply:
    case Kind::kDivide:
    case Kind::kLarger:
      break;
  }
  return kind + fmt::format("{}, {}, {{}}, {{}}}},\n", step.a, step.b);
}

template <class List>
std::string numbers_text(const List& list) {
  std::string made;
  for (const auto each : list) made += fmt::format("{}{}", made.empty() ? "" : ", ", each);
  return made;
}

// The tables NAME_steps and NAME_outputs.
std::string program_text(const std::string& name, const ScalarProgram& program) {
  std::string made = fmt::format("constexpr MonitorStep {}_steps[] = {{\n", name);
  for (const ScalarStep& step : program.steps) made += step_text(step);
  return made + fmt::format("}};\nconstexpr std::uint16_t {}_outputs[] = {{{}}};\n", name,
                            numbers_text(program.outputs));
}

std::string reference(const std::string& name, const ScalarProgram& program) {
  return fmt::format("{{{{{0}_steps, {1}}}, {{{0}_outputs, {2}}}}}", name, program.steps.size(),
                     program.outputs.size());
}

std::string formula_text(const Formula& formula, const ScalarProgram& values) {
  if (formula.kind == Formula::Kind::kCompare)
    return fmt::format("{}(v[{}])", formula.strict ? "below_zero" : "at_most_zero",
                       values.outputs[formula.value]);
  const bool all = formula.kind == Formula::Kind::kAll;
  if (formula.parts.empty()) return all ? "true" : "false";
  std::string made;
  for (const Formula& part : formula.parts)
    made += (made.empty() ? "" : all ? " && " : " || ") + formula_text(part, values);
  return "(" + made + ")";
}

// -----------------------------------------------------------------------------------------------

constexpr std::string_view kBanner =
    R"(@name@: a look-ahead monitor of a closed loop. Do not edit.

  made by     bf-aot @version@
  plant       @plant@
  controller  @controller@
  periods     @periods@ of @seconds@ @unit@, each in @substeps@@order@
  symbols     @symbols@, and @all@ within a period
  workspace   @bytes@ bytes
  operations  @operations@ on doubles at most, and @calls@ calls of the network's verifier

This file and the headers that it includes may be used, changed and shipped by anyone,
for any purpose, without attribution and without warranty (0BSD).
)";

constexpr std::string_view kHeader = R"(#ifndef BF_MONITOR_@NAME@_H
#define BF_MONITOR_@NAME@_H

#include <stddef.h>

#include "bf.h"

#define @NAME@_STATES @states@
#define @NAME@_PERIODS @periods@
#define @NAME@_REQUIREMENTS @requirements@
#define @NAME@_WORKSPACE_BYTES @bytes@
#define @NAME@_WORKSPACE_ALIGN 8

#ifdef __cplusplus
extern "C" {
#endif

/* What is proven of the next @NAME@_PERIODS periods. Period p lasts from p to p + 1 periods from
 * now; the last one has its end, too. */
typedef struct @name@_result {
  /* So many periods from now on are proven to meet all requirements; then the first that is not. */
  bf_uint32 safe_periods;
  /* The requirement that is not proven in that period, from 0; @NAME@_REQUIREMENTS where all are
   * proven, or where no bounds were found. */
  bf_uint32 open_requirement;
  /* 1 for each period that is proven, else 0. */
  unsigned char proven[@NAME@_PERIODS];
  /* States of each period, and at the end; infinite where no bounds were found. */
  double lower[(@NAME@_PERIODS + 1) * @NAME@_STATES];
  double upper[(@NAME@_PERIODS + 1) * @NAME@_STATES];
} @name@_result;

/* Looks ahead from every state with lower <= x <= upper: @NAME@_STATES numbers, finite. The control
 * is computed now, and at the beginning of each period.
@requirement_lines@ * result is written on BF_OK alone. workspace: @NAME@_WORKSPACE_BYTES bytes aligned to
 * @NAME@_WORKSPACE_ALIGN, the caller's; its contents do not matter before or after. What a call
 * writes, and its workspace, must not overlap its other arrays: BF_OVERLAP. Reentrant. */
bf_status @name@_look_ahead(const double *lower, const double *upper, @name@_result *result,
                            void *workspace, size_t workspace_bytes);

#ifdef __cplusplus
}
#endif

#endif /* BF_MONITOR_@NAME@_H */
)";

constexpr std::string_view kSource = R"(
#include "@stem@.h"

@includes@#include "bf/loops/tube.h"

static_assert(BF_ABI_VERSION == @abi@, "bf.h is of another version");

namespace {

using namespace bf::loops;

@tables@struct Loop {
  static constexpr PlantKind kKind = PlantKind::@kind@;
  static constexpr std::size_t kStates = @states@, kControls = @controls@, kDisturbances = @disturbances@;
  static constexpr std::size_t kPeriods = @periods@, kSubsteps = @substeps@, kOrder = @order@;
  static constexpr std::size_t kSymbols = @symbols@, kAllSymbols = @all@, kSlopes = kAllSymbols + 1;
  static constexpr double kSeconds = @seconds@, kSecondsError = @error@;
  static constexpr std::size_t kRequirements = @requirements@;
  static constexpr bool kLines = @lines@;
  static constexpr TubeSizes kSizes = {kStates, kControls, kDisturbances, kSymbols, kAllSymbols,
                                       @sizes@};
  static_assert(kSizes.bytes() == @NAME@_WORKSPACE_BYTES, "bf: another layout of the workspace");

  static MonitorProgram plant() { return @plant@; }
  static const std::uint16_t* places() { return @places@; }
  static MonitorProgram condition(std::size_t i) { return conditions[i]; }
  static Range disturbance(std::size_t@i_disturbance@) { return @disturbance@; }
  static bool is_constant(std::size_t@i_disturbance@) { return @is_constant@; }

  template <class Form>
  static bool holds(std::size_t i, const Form* v) {
    switch (i) {
@formulas@    }
    return false;
  }

@bound@};

}  // namespace

extern "C" bf_status @name@_look_ahead(const double* lower, const double* upper,
                                       @name@_result* result, void* workspace,
                                       std::size_t workspace_bytes) {
  return look_ahead<Loop>(lower, upper, result, workspace, workspace_bytes);
}
)";

constexpr std::string_view kBound =
    R"(  static bool bound(const float* lower, const float* upper, float* low, float* high, float* @lines@,
                    void* workspace) {
    return @name@_network_spec_@function@(lower, upper, low, high, @argument@workspace,
                                          @NAME@_NETWORK_WORKSPACE_BYTES) == BF_OK;
  }
)";

class MonitorText {
 public:
  MonitorText(const MonitorPlan& plan, const Question& question)
      : plan_(plan), loop_(question.loop) {}

  std::string header() const {
    return banner("/*", " * ", " */\n/* clang-format off */\n") +
           emit::fill_in(kHeader,
                         {{"states", plan_.sizes.states},
                          {"periods", plan_.periods},
                          {"requirements", plan_.conditions.size()},
                          {"bytes", plan_.sizes.bytes()},
                          {"requirement_lines", requirement_lines()}},
                         names());
  }

  std::string source() const {
    return banner("", "// ", "// clang-format off\n") +
           emit::fill_in(
               kSource,
               {{"stem", plan_.stem},
                {"includes",
                 plan_.network ? fmt::format("#include \"{}_network.h\"\n", plan_.stem) : ""},
                {"abi", BF_ABI_VERSION},
                {"tables", tables()},
                {"kind", kind()},
                {"states", plan_.sizes.states},
                {"controls", plan_.sizes.controls},
                {"disturbances", plan_.sizes.disturbances},
                {"periods", plan_.periods},
                {"substeps", plan_.flow.substeps},
                {"order", plan_.flow.order},
                {"symbols", plan_.flow.symbols},
                {"all", plan_.flow.all_symbols},
                {"seconds", number(plan_.seconds.value)},
                {"error", number(plan_.seconds.error)},
                {"requirements", plan_.conditions.size()},
                {"lines", plan_.lines},
                {"sizes", sizes()},
                {"plant", plan_.plant ? reference("plant", *plan_.plant) : "{}"},
                {"places", plan_.places.empty() ? "nullptr" : "plant_places"},
                {"i_disturbance", disturbed() ? " i" : ""},
                {"disturbance", disturbed() ? "disturbances[i]" : "{}"},
                {"is_constant", disturbed() ? "constant[i]" : "true"},
                {"formulas", formulas()},
                {"bound", bound()}},
               names());
  }

 private:
  bool disturbed() const { return plan_.sizes.disturbances > 0; }

  emit::Arguments names() const {
    return {{"name", plan_.name}, {"NAME", emit::upper_case(plan_.name)}};
  }

  static std::string file_text(const Part& part) {
    return fmt::format("{}\n  sha256      {}", comment_text(part.info.file_name), part.info.sha256);
  }

  std::string banner(const std::string& first, const std::string& mark,
                     const std::string& last) const {
    const bool discrete = loop_.kind == PlantKind::kDiscrete;
    std::string text = emit::fill_in(
        kBanner,
        {{"name", plan_.name},
         {"version", emit::version_text()},
         {"plant", file_text(loop_.plant)},
         {"controller", loop_.controller ? file_text(*loop_.controller) : "none"},
         {"periods", plan_.periods},
         {"seconds", fmt::format("{:.9g}", loop_.period.get_d())},
         {"unit", discrete ? "steps" : "seconds"},
         {"substeps", plan_.flow.substeps == 1 ? "one step"
                                               : fmt::format("{} steps", plan_.flow.substeps)},
         {"order", plan_.places.empty() ? "" : fmt::format(" of order {}", plan_.flow.order)},
         {"symbols", plan_.flow.symbols},
         {"all", plan_.flow.all_symbols},
         {"bytes", plan_.sizes.bytes()},
         {"operations", plan_.operations},
         {"calls", plan_.network_calls()}});
    std::string made = first.empty() ? "" : first + "\n";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      std::string line = mark + text.substr(at, end - at);
      while (!line.empty() && line.back() == ' ') line.pop_back();
      made += line + "\n";
      at = end + 1;
    }
    return made + last;
  }

  std::string requirement_lines() const {
    std::string made;
    for (std::size_t i = 0; i < plan_.conditions.size(); ++i)
      made += fmt::format(" * Requirement {}: {}\n", i, comment_text(plan_.conditions[i].text));
    return made;
  }

  std::string kind() const {
    if (!plan_.plant) return "kNetwork";
    return plan_.kind == PlantKind::kContinuous ? "kContinuous"
           : plan_.kind == PlantKind::kEuler    ? "kEuler"
                                                : "kDiscrete";
  }

  std::string sizes() const {
    const bf::loops::TubeSizes& sizes = plan_.sizes;
    return fmt::format("{}, {}, {}, {}, {}, {}, {}, {}", sizes.plant_steps, sizes.series,
                       sizes.order, sizes.condition_steps, sizes.network_inputs,
                       sizes.network_outputs, sizes.network_workspace, sizes.network_align);
  }

  std::string tables() const {
    std::string made;
    if (plan_.plant) {
      made += fmt::format("// {}: its inputs are states, controls and disturbances.\n",
                          comment_text(loop_.plant.info.file_name));
      made += program_text("plant", *plan_.plant);
    }
    if (!plan_.places.empty())
      made += fmt::format(
          "// The number of Taylor series before those of each step.\n"
          "constexpr std::uint16_t plant_places[] = {{{}}};\n",
          numbers_text(plan_.places));
    if (!made.empty()) made += "\n";
    std::string list;
    for (std::size_t i = 0; i < plan_.conditions.size(); ++i) {
      const MonitorCondition& each = plan_.conditions[i];
      const std::string name = fmt::format("condition_{}", i);
      made += fmt::format("// {}\n", comment_text(each.text)) + program_text(name, each.values);
      list += "    " + reference(name, each.values) + ",\n";
    }
    made += "constexpr MonitorProgram conditions[] = {\n" + list + "};\n\n";
    return made + disturbances();
  }

  std::string disturbances() const {
    if (!disturbed()) return {};
    std::string ranges, constants;
    for (const Disturbance& each : loop_.disturbances)
      for (std::size_t i = 0; i < each.box.lower.size(); ++i) {
        ranges +=
            fmt::format("    {{{}, {}}},\n", number(each.box.lower[i]), number(each.box.upper[i]));
        constants += fmt::format("{}{}", constants.empty() ? "" : ", ", each.is_constant());
      }
    return "constexpr Range disturbances[] = {\n" + ranges + "};\nconstexpr bool constant[] = {" +
           constants + "};\n\n";
  }

  std::string formulas() const {
    std::string made;
    for (std::size_t i = 0; i < plan_.conditions.size(); ++i) {
      const MonitorCondition& each = plan_.conditions[i];
      made += fmt::format("      case {}:\n        return {};\n", i,
                          formula_text(each.formula, each.values));
    }
    return made;
  }

  std::string bound() const {
    if (!plan_.network) return {};
    return emit::fill_in(kBound,
                         {{"lines", plan_.lines ? "lines" : ""},
                          {"function", plan_.lines ? "coefficients" : "bounds"},
                          {"argument", plan_.lines ? "lines, " : ""}},
                         names());
  }

  const MonitorPlan& plan_;
  const Loop& loop_;
};

}  // namespace

std::vector<emit::EmittedFile> monitor_files(const MonitorPlan& plan, const Question& question) {
  const MonitorText text(plan, question);
  std::vector<emit::EmittedFile> files = {{".cpp", text.source()}, {".h", text.header()}};
  emit::wrap_files(files);
  if (!plan.network) return files;
  for (const emit::EmittedFile& file : plan.network->files)
    if (!file.suffix.ends_with(".json"))
      files.push_back({"_network" + file.suffix, file.bytes, file.flags});
  return files;
}

}  // namespace bf_aot::reach
