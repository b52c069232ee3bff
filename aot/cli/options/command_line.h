#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot/build/options/value_rule.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// The command line's options. CLI11 is used in command_line.cpp alone, behind this header, since
// its headers take seconds to compile in each file.
namespace bf_aot::cli {

using build::ValueRule;

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  // Functions that describe the option return it, so that calls can be chained.
  Option* type_name(const std::string& name);
  // The type of an option whose values are files that are written, or that goes on with one.
  Option* writes(const std::string& name);
  Option* group(const std::string& name);
  Option* transform(const ValueRule& rule);
  Option* of_many();  // an answer to many questions has it, too
  Option* capture_default_str();
  Option* default_str(const std::string& text);  // that the help text shows
  Option* required(bool value = true);
  Option* excludes(const std::string& other);
  Option* excludes(Option* other);
  Option* needs(const std::string& other);
  Option* needs(Option* other);
  // Makes the option take a list: "0,1", "0 1" or 0 1, where the words that follow are taken as
  // long as they can be its elements, up to `most` of them.
  using IsElement = std::function<bool(const std::string& word)>;
  Option* list(IsElement is_element, std::size_t most = SIZE_MAX);
  Option* allow_extra_args(bool value);
  Option* expected(int count);
  Option* expected(int least, int most);

  // The option's name, "--method", or that of an argument.
  std::string get_name() const;
  std::vector<std::string> get_snames() const;  // without dashes
  std::vector<std::string> get_lnames() const;
  bool nonpositional() const;
  bool get_positional() const { return !nonpositional(); }
  bool is_flag() const;
  bool is_written() const { return is_written_; }
  bool is_of_many() const { return is_of_many_; }
  bool takes_many() const;
  bool get_required() const;
  std::string get_group() const;
  std::string get_type_name() const;  // with the rules' `told`
  std::string get_description() const;
  std::string get_default_str() const;

  // The number of times that the parsed command line has it, and the values there.
  std::size_t count() const;
  std::vector<std::string> results() const;

  // Reads these values as if they had been typed. Throws: UsageError.
  void set(const std::vector<std::string>& words);

 private:
  friend class CommandLine;
  CLI::Option* option_;
  bool is_written_ = false, is_of_many_ = false;
  IsElement is_element_;  // of lists
  std::size_t most_ = 0;
};

// A command line that is wrong; the text says why in one line.
struct UsageError {
  std::string text;
};

// The parts of a help text other than its options.
struct HelpText {
  std::string examples;  // command lines, each with its indented remarks
  std::string notes;     // paragraphs, separated by empty lines; they are wrapped
  std::string page;      // below docs/: "reference/properties.md"
};

// The options of a command, and the variables that hold their values, which must outlive it.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const std::string& description, const std::string& name);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // names: "-m,--method", or "MODEL", an argument.
  Option* add_option(const std::string& names, std::string& value, const std::string& help);
  Option* add_option(const std::string& names, int& value, const std::string& help);
  Option* add_option(const std::string& names, std::uint64_t& value, const std::string& help);
  Option* add_option(const std::string& names, double& value, const std::string& help);
  Option* add_option(const std::string& names, std::optional<std::string>& value,
                     const std::string& help);
  Option* add_option(const std::string& names, std::optional<int>& value, const std::string& help);
  Option* add_option(const std::string& names, std::optional<std::uint64_t>& value,
                     const std::string& help);
  Option* add_option(const std::string& names, std::optional<double>& value,
                     const std::string& help);
  Option* add_option(const std::string& names, std::vector<std::string>& values,
                     const std::string& help);
  Option* add_option(const std::string& names, std::optional<std::vector<std::string>>& values,
                     const std::string& help);
  Option* add_option(const std::string& names, std::vector<std::uint64_t>& values,
                     const std::string& help);
  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  // Adds an option whose values go to a function, all of them each time, as they are after
  // transform(). many: it may be repeated.
  using Taker = std::function<void(const std::vector<std::string>& words)>;
  Option* add_option(const std::string& names, Taker take, bool many, const std::string& help);
  Option* add_flag(const std::string& names, std::function<void(bool)> take,
                   const std::string& help);
  // Adds a flag with a value: "--decide{auto}" in `names` gives the value of the flag alone;
  // --decide=inputs gives another.
  Option* add_flag(const std::string& names, std::string& value, const std::string& help);
  // Adds a flag that prints a text, and ends.
  Option* set_version_flag(const std::string& names, const std::string& text);
  Option* set_help_flag(const std::string& names, const std::string& help);
  Option* set_help_all_flag(const std::string& names, const std::string& help);

  void require_option(int least);
  void remove_option(Option* option);

  const std::string& get_name() const;
  std::string get_description() const;
  std::vector<const Option*> get_options() const;
  Option* get_option_no_throw(const std::string& name);
  const Option* get_option_no_throw(const std::string& name) const;
  Option* get_option(const std::string& name);  // it must exist

  const HelpText& help_text() const { return help_text_; }
  void set_help_text(HelpText text) { help_text_ = std::move(text); }
  // Sets the function that makes the text of --help, or of --help-all if `all`.
  void set_help_printer(std::function<std::string(bool all)> printer);

  // Parses. Returns the exit code where --help, --version and the like have printed their text.
  // Throws: UsageError.
  std::optional<int> parse(const std::vector<const char*>& arguments);

 private:
  Option* keep(CLI::Option* option);
  std::vector<std::string> with_joined_lists(const std::vector<const char*>& arguments) const;

  std::unique_ptr<CLI::App> app_;
  std::vector<std::unique_ptr<Option>> options_;
  std::vector<std::unique_ptr<bool>> flags_;  // of those that call a function
  HelpText help_text_;
};

// How a command is called.
struct Call {
  std::vector<const char*> arguments;  // the first: what the usage text calls the command
  std::function<void(const CommandLine&)> visit;  // if set: gets the options, and nothing is done
};

}  // namespace bf_aot::cli
