#include "aot/build/options/option_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <type_traits>
#include <utility>

#include "aot/build/device/device.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/passes/pipeline.h"
#include "planner/plan/pipeline.h"
#include "runtime/bf/contract/lists.h"

namespace bf_aot::build {
namespace {

using Form = OptionRow::Form;
using Set = OptionRow::Set;
using Words = std::vector<std::string>;

constexpr char kNoName[] = "TEXT";

template <class Field>
using TypeOf =
    std::remove_reference_t<decltype(std::declval<Field>()(std::declval<OptionValues&>()))>;

// The type of a number that may be absent.
template <class Value>
struct NumberIn {
  using Type = Value;
};
template <class Value>
struct NumberIn<std::optional<Value>> {
  using Type = Value;
};

// The makers of rows: `row` has the members up to in_process; `field` gives the member of
// OptionValues that the option sets.

template <class Field>
OptionRow choice(OptionRow row, Field field) {
  using Value = TypeOf<Field>;
  row.value_name = kNoName;
  row.rule = one_of(names_of<Value>());
  row.take = [field](OptionValues& values, const Words& words) {
    field(values) = *value_named<Value>(words.back());
  };
  row.shown = [field](const OptionValues& values) {
    const auto found = std::ranges::find(kNames<Value>, field(values), &NamedValue<Value>::value);
    return std::string(found->name);
  };
  return row;
}

// Makes a row of a number. shows: help texts tell its default.
template <class Field>
OptionRow number_row(OptionRow row, const char* value_name, ValueRule rule, bool shows,
                     Field field) {
  row.value_name = value_name;
  row.rule = std::move(rule);
  row.take = [field](OptionValues& values, const Words& words) {
    const std::string& text = words.back();
    typename NumberIn<TypeOf<Field>>::Type number = {};
    std::from_chars(text.data(), text.data() + text.size(), number);
    field(values) = number;
  };
  if constexpr (std::is_same_v<typename NumberIn<TypeOf<Field>>::Type, TypeOf<Field>>)
    if (shows)
      row.shown = [field](const OptionValues& values) { return fmt::format("{}", field(values)); };
  return row;
}

template <class Field>
OptionRow flag(OptionRow row, Field field) {
  row.form = Form::kFlag;
  row.take = [field](OptionValues& values, const Words& words) {
    field(values) = words.back() == "true";
  };
  return row;
}

// Makes a row of a text, which goes to `take`.
OptionRow text(OptionRow row, const char* value_name,
               std::function<void(OptionValues&, const std::string&)> take) {
  row.value_name = value_name;
  row.take = [take = std::move(take)](OptionValues& values, const Words& words) {
    take(values, words.back());
  };
  return row;
}

OptionRow words_row(OptionRow row, Form form, const char* value_name, ValueRule rule,
                    std::function<void(OptionValues&, const Words&)> take) {
  row.form = form;
  row.value_name = value_name;
  row.rule = std::move(rule);
  row.take = std::move(take);
  return row;
}

Words split(const std::string& text) {
  Words words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool has(const Words& list, const char* word) {
  return std::ranges::count(list, word) > 0;
}

OptionRow target_row() {
  OptionRow row{"target", Set::kModel, kMethodGroup, "machine that the code is made for", false};
  row.value_name = kNoName;
  row.rule = one_of(target_names());
  row.take = [](OptionValues& values, const Words& words) {
    values.target = words.back();
    values.compile.planner.target = find_target(words.back());
  };
  row.shown = [](const OptionValues& values) { return values.target; };
  return row;
}

OptionRow device_row() {
  OptionRow row = text(
      {"device", Set::kDevice, kMethodGroup,
       "device that bounds: opencl or cuda, the first of its devices, or opencl:N, cuda:N, from 0 "
       "(default: this processor)"},
      "NAME", [](OptionValues& values, const std::string& name) { values.compile.device = name; });
  row.rule.read = [](std::string& name) {
    std::string lower = name;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::string fault = device_name_fault(lower);
    if (fault.empty()) name = std::move(lower);
    return fault.empty() ? fault : device_name_fault(name);
  };
  return row;
}

OptionRow semantics_row() {
  OptionRow row = choice(
      {"semantics", Set::kModel, kMethodGroup,
       "arithmetic of the network that the bounds hold for: real, its exact value; "
       "float32, every evaluation in float32, in any order of its sums; "
       "float32-exact, what the verifier's own NAME_evaluate makes of it; or "
       "quantised-any, its exact value but that each code of a quantised network may be "
       "one more or less. With --project float32, but for verifiers of integers"},
      [](auto& values) -> auto& { return values.compile.planner.semantics; });
  row.take = [take = std::move(row.take)](OptionValues& values, const Words& words) {
    take(values, words);
    values.semantics_is_default = false;
  };
  return row;
}

OptionRow method_row() {
  OptionRow row = choice(
      {"method", Set::kMethod, kMethodGroup,
       "ibp: intervals; crown-ibp: backward bounds of the outputs on interval bounds; "
       "crown: backward bounds of every unstable neuron; alpha-crown: the same, with the "
       "outputs' slopes optimised; forward: intervals and lines in one pass forward, for dense "
       "layers with ReLU; auto: the best mix of the others within the budgets; several, as "
       "ibp,crown: the bounds of each in one verifier, and calls within a limit"},
      [](auto& values) -> auto& { return values.compile.planner.method; });
  row.rule.read = [one = std::move(row.rule.read)](std::string& text) {
    std::string problem;
    Words methods = split(text);
    for (std::string& method : methods)
      if (problem.empty()) problem = one(method);
    text = fmt::format("{}", fmt::join(methods, ","));
    return problem;
  };
  row.take = [](OptionValues& values, const Words& words) {
    PlannerConfig& planner = values.compile.planner;
    planner.cheaper.clear();
    for (const std::string& method : split(words.back()))
      planner.cheaper.push_back(*value_named<Method>(method));
    planner.method = planner.cheaper.back();
    planner.cheaper.pop_back();
    values.compile.method_is_default = false;
  };
  return row;
}

std::vector<OptionRow> model_rows() {
  return {
      choice(
          {"lowering", Set::kModel, kPlannerGroup,
           "code: generic (portable C++17), vector (SIMD), tuned (the same with the "
           "schedules of --tuning-log), prebuilt (SIMD, in extents of a few sizes), "
           "or reference (no code: the plan executed in double, not sound in floating "
           "point)",
           false},
          [](auto& values) -> auto& { return values.compile.planner.lowering; }),
      text({"tuning-log", Set::kModel, kPlannerGroup,
            "JSON lines that bf-aot tune wrote: the schedules of --lowering tuned", false},
           "FILE", [](OptionValues& values, const std::string& file) { values.tuning_log = file; }),
      target_row(),
      semantics_row(),
      number_row(
          {"libm-ulps", Set::kModel, kPlannerGroup,
           "of --semantics float32: largest error of the library's tanh, exp, erf, ..., in "
           "units of the last place"},
          "X", number("0.5", "1e6"), true,
          [](auto& values) -> auto& { return values.compile.float32.libm_ulps; }),
      flag(
          {"flush-to-zero", Set::kModel, kMethodGroup,
           "--semantics float32 where subnormal inputs and results of an operation may be "
           "taken for zero"},
          [](auto& values) -> auto& { return values.compile.planner.flush_to_zero; }),
      number_row(
          {"row-tile", Set::kModel, kPlannerGroup,
           "rows of backward bounds made together: less needs less memory (default: chosen "
           "by the planner)"},
          "N", whole(2, 1 << 20), false,
          [](auto& values) -> auto& { return values.compile.planner.row_tile; }),
      choice(
          {"granularity", Set::kModel, kPlannerGroup,
           "what a task of the plan covers: a step, a layer's region, or the whole entry"},
          [](auto& values) -> auto& { return values.compile.planner.granularity; }),
      words_row(
          {"cache", Set::kModel, kPlannerGroup,
           "also emit functions that keep something between calls: reuse-ibp (what was made "
           "for a box), cache-bounds (bounds on a box, for boxes inside), reuse-alpha (slopes "
           "to start from)",
           false},
          Form::kList, "LIST", one_of({"reuse-ibp", "cache-bounds", "reuse-alpha"}),
          [](OptionValues& values, const Words& words) {
            values.compile.planner.reuse = {has(words, "reuse-ibp"), has(words, "cache-bounds"),
                                            has(words, "reuse-alpha")};
          }),
      number_row(
          {"batch", Set::kModel, kPlannerGroup,
           "also emit functions that bound up to N boxes in a call"},
          "N", whole(1, kMostBatch), true,
          [](auto& values) -> auto& { return values.compile.planner.batch; }),
      number_row(
          {"parallel", Set::kModel, kPlannerGroup,
           "also emit functions whose work up to N workers share, through an executor that "
           "the caller supplies",
           false},
          "N", whole(1, bf::kMostWorkers), true,
          [](auto& values) -> auto& { return values.compile.planner.workers; }),
      number_row(
          {"iterations", Set::kModel, kPlannerGroup,
           "alpha-crown: times that each row's slopes are tried and improved"},
          "N", whole(1, 1000), true,
          [](auto& values) -> auto& { return values.compile.planner.iterations; }),
      choice(
          {"alpha", Set::kModel, kPlannerGroup,
           "alpha-crown: whose slopes are improved: those of the outputs' rows, or of all "
           "unstable neurons', which is tighter and takes longer"},
          [](auto& values) -> auto& { return values.compile.planner.alpha; }),
      words_row({"disable-pass", Set::kModel, kPlannerGroup,
                 "leave out these passes (see bf-aot inspect --list-passes)"},
                Form::kList, "LIST", {},
                [](OptionValues& values, const Words& words) { values.disabled_passes = words; }),
      text({"profile", Set::kModel, kPlannerGroup,
            "machine profile to predict times with: a file that bf-aot profile wrote, or a "
            "name (default: of the target; on this machine, of its CPU)",
            false},
           "NAME|FILE",
           [](OptionValues& values, const std::string& profile) { values.profile = profile; }),
  };
}

// The rows of the method, and of the goals of `auto`, which the library does not have.
std::vector<OptionRow> method_rows() {
  return {
      method_row(),
      words_row({"sample-box", Set::kMethod, kPlannerGroup,
                 "JSON file of boxes like those that the verifier will get: layers whose backward "
                 "bounds do not matter on them keep intervals, and auto compares plans on them; "
                 "may be repeated (default: those of the property)",
                 false},
                Form::kWords, "FILE", {},
                [](OptionValues& values, const Words& words) { values.sample_boxes = words; }),
      text({"time-budget", Set::kMethod, kPlannerGroup,
            "auto: most predicted time of a call, as 0.001, 50us or 2ms", false},
           "TIME",
           [](OptionValues& values, const std::string& time) {
             values.compile.planner.search.time_budget = parse_seconds(time, "--time-budget");
           }),
      number_row(
          {"memory-budget", Set::kMethod, kPlannerGroup,
           "most bytes of workspace, as 65536, 64K or 2M: rows go through in smaller tiles "
           "where they must, and compute again what is stored otherwise; auto looks for "
           "plans within it"},
          "BYTES", byte_count(), false,
          [](auto& values) -> auto& { return values.compile.planner.memory_budget; }),
      number_row(
          {"looseness-target", Set::kMethod, kPlannerGroup,
           "auto: the fastest plan whose mean width is at most so many times crown's", false},
          "X", number("0", "1e9"), false,
          [](auto& values) -> auto& { return values.compile.planner.search.looseness_target; }),
      text({"objective", Set::kMethod, kPlannerGroup,
            "auto: weights of what is minimised, each relative to crown: "
            "time=1,memory=0,looseness=1,compile=0 (default: the tightest within the budgets, "
            "then the fastest)",
            false},
           "WEIGHTS",
           [](OptionValues& values, const std::string& weights) {
             values.compile.planner.search.objective = parse_objective(weights, "--objective");
           }),
      choice(
          {"search", Set::kMethod, kPlannerGroup, "auto: how plans are searched", false},
          [](auto& values) -> auto& { return values.compile.planner.search.kind; }),
      number_row(
          {"beam-width", Set::kMethod, kPlannerGroup, "auto: candidates kept by --search beam",
           false},
          "N", whole(1, 1000), true,
          [](auto& values) -> auto& { return values.compile.planner.search.beam_width; }),
  };
}

std::vector<OptionRow> other_rows() {
  std::vector<OptionRow> rows = {
      choice(
          {"norm", Set::kNorm, kMethodGroup,
           "linf: bounds hold for the box; l2, l1: for the ellipsoid or the cross-polytope in it "
           "that touches its faces, which is a ball where the box is a cube (crown-ibp, crown, "
           "alpha-crown)"},
          [](auto& values) -> auto& { return values.compile.planner.norm; }),
      choice(
          {"arithmetic", Set::kArithmetic, kPlannerGroup,
           "numbers that the verifier computes with: float; integer, for a quantised network "
           "and method ibp, or crown of dense layers; auto: integer where the target has no "
           "floating-point unit and "
           "the network and the other options allow it",
           false},
          [](auto& values) -> auto& { return values.compile.planner.arithmetic; }),
      device_row(),
      choice(
          {"language", Set::kLanguage, kPlannerGroup,
           "language of the code: c++, C++17; c, C99; opencl; cuda; as the end of -o's name says, "
           ".cpp, .c, .cl or .cu",
           false},
          [](auto& values) -> auto& { return values.compile.planner.language; }),
      number_row(
          {"items", Set::kLanguage, kPlannerGroup,
           "of code for devices: work-items of the group that bounds a box; 1 for processors, as "
           "PoCL makes one a device (default: 64)",
           false},
          "N", whole(1, kMostItems), false, [](auto& values) -> auto& { return values.items; }),
      text({"cxx", Set::kCompiler, kCompilerGroup,
            "C++ compiler of the verifier (default: $CXX, else c++, g++ or clang++; for "
            "cortex targets arm-none-eabi-g++)"},
           kNoName,
           [](OptionValues& values, const std::string& cxx) { values.compiler.cxx = cxx; }),
      words_row({"cxx-flags", Set::kCompiler, kCompilerGroup,
                 "more flags for it, as one word: --cxx-flags=\"-g -O2\"; may be repeated"},
                Form::kWords, "FLAGS", {},
                [](OptionValues& values, const Words& words) {
                  values.compiler.flags.clear();
                  for (const std::string& word : words)
                    for (std::string& one : split_words(word))
                      values.compiler.flags.push_back(std::move(one));
                }),
      choice(
          {"jit", Set::kJit, kCompilerGroup,
           "compile the kernels that take the time for this network: auto (in the "
           "background, once calls have taken a second), off, wait (after the first call)"},
          [](auto& values) -> auto& { return values.compiler.jit; }),
  };
  // Several questions at once leave no processor free for a compiler.
  for (OptionRow& row : rows) row.of_many = row.of_many && row.set != Set::kCompiler;
  return rows;
}

// Seconds, from 0.
template <class Field>
OptionRow seconds(OptionRow row, Field field) {
  return number_row(std::move(row), "S", number("0", "1e6"), false, field);
}

OptionRow flagged(OptionRow row, const char* flags) {
  row.flags = flags;
  return row;
}

// Makes a row of a file that is written, or of what belongs to it: of one question.
template <class Field>
OptionRow of_file(OptionRow row, const char* value_name, Field field) {
  row = text(std::move(row), value_name, [field](OptionValues& values, const std::string& name) {
    field(values.decision) = name;
  });
  row.writes = std::string_view(value_name) == "FILE";
  row.of_many = false;
  return row;
}

OptionRow alone(OptionRow row) {
  row.of_company = false;
  return row;
}

std::vector<OptionRow> decision_rows() {
  return {
      seconds(
          {"timeout", Set::kDecide, kDecisionGroup,
           "seconds until the answer is 'timeout', in the library 'unknown'"},
          [](auto& values) -> auto& { return values.decision.timeout_seconds; }),
      flagged(seconds(
                  {"search-seconds", Set::kDecide, kDecisionGroup,
                   "most seconds to search for a counterexample (default: 5, with a timeout as "
                   "long as that allows)"},
                  [](auto& values) -> auto& { return values.decision.search_seconds; }),
              "--search"),
      flagged(seconds(
                  {"branch-seconds", Set::kDecide, kDecisionGroup,
                   "most seconds to split boxes where few inputs vary, else neurons; 0: never "
                   "(default: 20, with a timeout as long as that allows)"},
                  [](auto& values) -> auto& { return values.decision.branch_seconds; }),
              "--branch"),
      flagged(number_row(
                  {"jobs", Set::kDecide, kDecisionGroup,
                   "threads that bound and split (default: as many as there are cores)"},
                  "N", whole(1, 256), false,
                  [](auto& values) -> auto& { return values.decision.jobs; }),
              "-j,--jobs"),
      of_file(
          {"checkpoint", Set::kDecide, kTreeGroup,
           "keeps the tree of a search in this file, written every minute and when the search "
           "ends or is interrupted; a search whose file is there goes on from it"},
          "FILE", [](auto& decision) -> auto& { return decision.checkpoint; }),
      alone(of_file(
          {"part", Set::kDecide, kTreeGroup,
           "searches part I of N alone, from 0; 'bf-aot merge' joins the files of all", false},
          "I/N", [](auto& decision) -> auto& { return decision.part; })),
      alone(of_file(
          {"save-part", Set::kDecide, kTreeGroup, "the part's file, as of --checkpoint", false},
          "FILE", [](auto& decision) -> auto& { return decision.save_part; })),
      of_file(
          {"proof", Set::kDecide, kProofGroup,
           "write a certificate of the answer, verified or falsified, which bf-check "
           "checks by itself, compressed where FILE ends in '.gz'; with --part its part, for "
           "'bf-aot merge'"},
          "FILE", [](auto& decision) -> auto& { return decision.proof.file; }),
      alone(text({"proofs", Set::kProofs, kProofGroup,
                  "certificates of many answers, which bf-check checks: a folder, or an archive "
                  "where the name ends in '.zip'",
                  false},
                 "FOLDER",
                 [](OptionValues& values, const std::string& folder) {
                   values.decision.proof.folder = folder;
                 })),
      seconds(
          {"proof-seconds", Set::kProofs, kProofGroup,
           "most seconds to make a certificate, after deciding (default: no limit)"},
          [](auto& values) -> auto& { return values.decision.proof.seconds; }),
      alone(flag(
          {"recheck", Set::kDecide, kProofGroup,
           "check the certificate that is there: where it proves that this property of this "
           "model holds, it is not decided anew"},
          [](auto& values) -> auto& { return values.decision.proof.recheck; })),
  };
}

std::string with(std::string_view name, char from, char to) {
  std::string text(name);
  std::ranges::replace(text, from, to);
  return text;
}

bool is_known(const OptionRow& row, bool decisions) {
  return row.in_process && (decisions || !row.of_decisions());
}

void resolve_semantics(CompileOptions& options) {
  PlannerConfig& planner = options.planner;
  options.float32.flush = planner.flush_to_zero;
  if (!planner.flush_to_zero) return;
  if (planner.semantics == Semantics::kFloat32Exact)
    fail("BF3315", "--flush-to-zero", "the verifier's own evaluation keeps subnormal numbers",
         "use --semantics float32");
  if (planner.semantics == Semantics::kQuantisedAny)
    fail("BF3315", "--flush-to-zero", "it is about --semantics float32, not quantised-any",
         "use --semantics float32");
  planner.semantics = Semantics::kFloat32;
}

}  // namespace

std::string OptionRow::flag() const {
  const std::string_view all = flags;
  return all.empty() ? fmt::format("--{}", name) : std::string(all.substr(all.find("--")));
}

bool OptionRow::of_decisions() const {
  return set == Set::kDecide || set == Set::kProofs || std::string_view(group) == kCompilerGroup;
}

const std::vector<OptionRow>& option_rows() {
  static const std::vector<OptionRow> kRows = [] {
    std::vector<OptionRow> rows = model_rows();
    for (auto* const more : {&method_rows, &other_rows, &decision_rows})
      for (OptionRow& row : (*more)()) rows.push_back(std::move(row));
    return rows;
  }();
  return kRows;
}

const OptionRow* find_option_row(std::string_view name) {
  const std::string asked = with(name, '_', '-');
  for (const OptionRow& row : option_rows())
    if (row.name == asked) return &row;
  return nullptr;
}

void set_in_process(OptionValues& values, std::string_view name, const std::string& text,
                    bool decisions) {
  const OptionRow* const row = find_option_row(name);
  const std::string where = printable(with(name, '-', '_'));
  if (row == nullptr || !is_known(*row, decisions)) {
    Words known;
    for (const OptionRow& each : option_rows())
      if (is_known(each, decisions)) known.push_back(with(each.name, '-', '_'));
    fail("BF3501", where, "there is no such option",
         fmt::format("there are {}", fmt::join(known, ", ")));
  }
  // 0 leaves numbers that have no default of their own, and are not 0, as they are.
  if (std::string zero = text;
      text == "0" && row->rule.read && row->shown(values).empty() && !row->rule.read(zero).empty())
    return;
  Words words = {text};
  if (row->form == Form::kList || row->form == Form::kWords) words = split(text);
  if (row->form == Form::kFlag && text != "true" && text != "false")
    fail("BF3501", where, printable(text) + " is neither true nor false");
  if (row->rule.read)
    for (std::string& word : words)
      if (const std::string fault = row->rule.read(word); !fault.empty())
        fail("BF3501", where, printable(fault));
  row->take(values, words);
}

CompileOptions resolved(const OptionValues& values) {
  CompileOptions options = values.compile;
  resolve_semantics(options);
  if (values.profile.empty() && values.target == "host") options.planner.profile = host_profile();
  for (const std::string& pass : values.disabled_passes)
    (find_planner_pass(pass) != nullptr ? options.planner.disabled_passes : options.disabled_passes)
        .push_back(pass);
  for (const std::string& pass : options.disabled_passes) check_pass_name(pass);
  return options;
}

}  // namespace bf_aot::build
