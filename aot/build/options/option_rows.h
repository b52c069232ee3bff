#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build/compile_options.h"
#include "aot/build/library.h"
#include "aot/build/options/decision_options.h"
#include "aot/build/options/values.h"

// The options of plans, of their compiler and of decisions: one table, which the command line,
// --config, the library with its C interface, and the Python package read.

namespace bf_aot::build {

// The values of the options. Files are named here; the command line reads them.
struct OptionValues {
  OptionValues() { compile.planner.target = find_target("host"); }

  CompileOptions compile;
  bool semantics_is_default = true;  // compile.planner.semantics was not asked for
  CompilerOptions compiler;
  DecisionOptions decision;
  std::string target = "host";               // as it was asked for
  std::optional<int> items;                  // of a device's group; none: as the target has them
  std::string tuning_log, profile;           // files; of a profile also a name
  std::vector<std::string> sample_boxes;     // files
  std::vector<std::string> disabled_passes;  // of the graph and of the planner
};

struct OptionRow {
  enum class Form { kValue, kFlag, kWords, kList };  // kWords: may be repeated; kList: a list
  // The set of options that a command has together.
  // kDecide: of a question; kProofs: of certificates of many answers.
  enum class Set {
    kModel,
    kMethod,
    kNorm,
    kArithmetic,
    kLanguage,
    kDevice,
    kCompiler,
    kJit,
    kDecide,
    kProofs
  };

  const char* name;  // "row-tile"; in the library, C and Python "row_tile"
  Set set;
  const char* group;
  const char* help;
  bool in_process = true;  // of plans that the engine carries out: library, C and Python take it

  Form form = Form::kValue;
  const char* value_name = "";  // in help texts: "N"; "TEXT" where the rule tells choices
  ValueRule rule = {};          // of each word; `read` empty: any text
  // words: of a flag "true" or "false", as the rule has read them. Throws: CompileError.
  std::function<void(OptionValues&, const std::vector<std::string>& words)> take = {};
  // The value that help texts show as the default. Empty: none is shown.
  std::function<std::string(const OptionValues&)> shown = [](const OptionValues&) {
    return std::string();
  };

  const char* flags = "";  // on the command line, "-j,--jobs"; empty: "--" and the name
  bool writes = false;     // its value is a file that is written
  bool of_many = true;     // where it is of decisions or in_process: --instances takes it
  bool of_company = true;  // processes that search one tree take it

  std::string flag() const;   // "--jobs"
  bool of_decisions() const;  // of no verifier alone
  bool goes_with_many() const { return of_many && (in_process || of_decisions()); }
};

// Returns the table, in the order in which help texts list it.
const std::vector<OptionRow>& option_rows();

// Returns the option of this name, in which "_" may stand for "-"; null if there is none.
const OptionRow* find_option_row(std::string_view name);

// Sets the option of plans in this process that has this name from a text as it would be typed;
// kList and kWords: separated by commas; a "0" that is no value of the option leaves its default.
// Throws: CompileError BF3501 with the name in `where`, of an unknown one with those that there
// are, or what `take` throws. decisions: options of decisions are known, too.
void set_in_process(OptionValues& values, std::string_view name, const std::string& text,
                    bool decisions);

// Returns the options of a compilation, without the contents of files. Throws: CompileError BF3315
// semantics that contradict each other, BF2102 an unknown pass.
CompileOptions resolved(const OptionValues& values);

}  // namespace bf_aot::build
