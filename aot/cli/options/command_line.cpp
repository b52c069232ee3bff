#include "aot/cli/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

namespace bf_aot::cli {
namespace {

class HelpPrinter : public CLI::FormatterBase {
 public:
  explicit HelpPrinter(std::function<std::string(bool)> print) : print_(std::move(print)) {}

  std::string make_help(const CLI::App*, std::string, CLI::AppFormatMode mode) const override {
    return print_(mode == CLI::AppFormatMode::All);
  }

 private:
  std::function<std::string(bool)> print_;
};

constexpr char kSpaces[] = " \t";

std::string trimmed(std::string text) {
  text.erase(0, text.find_first_not_of(kSpaces));
  text.erase(text.find_last_not_of(kSpaces) + 1);
  return text;
}

// The elements of "0,1", "0, 1" or "0 1"; between two commas there is an empty one.
std::vector<std::string> elements_of(const std::string& text) {
  std::vector<std::string> elements;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    part = trimmed(part);
    for (std::size_t space = part.find_first_of(kSpaces); space != std::string::npos;
         space = part.find_first_of(kSpaces)) {
      elements.push_back(part.substr(0, space));
      part = trimmed(part.substr(space));
    }
    elements.push_back(part);
  }
  return elements;
}

}  // namespace

// ---- an option

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}
Option* Option::writes(const std::string& name) {
  is_written_ = true;
  return type_name(name);
}
Option* Option::of_many() {
  is_of_many_ = true;
  return this;
}
Option* Option::group(const std::string& name) {
  option_->group(name);
  return this;
}
Option* Option::transform(const ValueRule& rule) {
  option_->transform(CLI::Validator(rule.read, rule.told));
  return this;
}
Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}
Option* Option::default_str(const std::string& text) {
  option_->default_str(text);
  return this;
}
Option* Option::required(bool value) {
  option_->required(value);
  return this;
}
Option* Option::excludes(const std::string& other) {
  option_->excludes(other);
  return this;
}
Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}
Option* Option::needs(const std::string& other) {
  option_->needs(other);
  return this;
}
Option* Option::needs(Option* other) {
  option_->needs(other->option_);
  return this;
}
Option* Option::list(IsElement is_element, std::size_t most) {
  is_element_ = std::move(is_element);
  most_ = most;
  option_->delimiter(',')->allow_extra_args(false);
  return this;
}
Option* Option::allow_extra_args(bool value) {
  option_->allow_extra_args(value);
  return this;
}
Option* Option::expected(int count) {
  option_->expected(count);
  return this;
}
Option* Option::expected(int least, int most) {
  option_->expected(least, most);
  return this;
}

std::string Option::get_name() const {
  return option_->get_name(option_->get_positional());
}
std::vector<std::string> Option::get_snames() const {
  return option_->get_snames();
}
std::vector<std::string> Option::get_lnames() const {
  return option_->get_lnames();
}
bool Option::nonpositional() const {
  return option_->nonpositional();
}
bool Option::is_flag() const {
  return option_->get_expected_max() == 0 || option_->get_type_size() == 0;
}
bool Option::takes_many() const {
  return option_->get_expected_max() > 1;
}
bool Option::get_required() const {
  return option_->get_required();
}
std::string Option::get_group() const {
  return option_->get_group();
}
std::string Option::get_type_name() const {
  return option_->get_type_name();
}
std::string Option::get_description() const {
  return option_->get_description();
}
std::string Option::get_default_str() const {
  return option_->get_default_str();
}
std::size_t Option::count() const {
  return option_->count();
}
std::vector<std::string> Option::results() const {
  return option_->results();
}

void Option::set(const std::vector<std::string>& words) {
  try {
    for (const std::string& word : words) option_->add_result(word);
    option_->run_callback();
  } catch (const CLI::Error& error) {
    throw UsageError{error.what()};
  }
}

// ---- the options of a command

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>()) {}
CommandLine::CommandLine(const std::string& description, const std::string& name)
    : app_(std::make_unique<CLI::App>(description, name)) {}
CommandLine::~CommandLine() = default;

Option* CommandLine::keep(CLI::Option* option) {
  const auto same =
      std::ranges::find_if(options_, [&](const auto& each) { return each->option_ == option; });
  if (same != options_.end()) return same->get();
  return options_.emplace_back(std::make_unique<Option>(option)).get();
}

Option* CommandLine::add_option(const std::string& names, std::string& value,
                                const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, int& value, const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, std::uint64_t& value,
                                const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, double& value, const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, std::optional<std::string>& value,
                                const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, std::optional<int>& value,
                                const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, std::optional<std::uint64_t>& value,
                                const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, std::optional<double>& value,
                                const std::string& help) {
  return keep(app_->add_option(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, std::vector<std::string>& values,
                                const std::string& help) {
  return keep(app_->add_option(names, values, help));
}
Option* CommandLine::add_option(const std::string& names,
                                std::optional<std::vector<std::string>>& values,
                                const std::string& help) {
  return keep(app_->add_option(names, values, help));
}
Option* CommandLine::add_option(const std::string& names, std::vector<std::uint64_t>& values,
                                const std::string& help) {
  return keep(app_->add_option(names, values, help));
}
Option* CommandLine::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep(app_->add_flag(names, value, help));
}
Option* CommandLine::add_flag(const std::string& names, std::string& value,
                              const std::string& help) {
  return keep(app_->add_flag(names, value, help));
}
Option* CommandLine::add_option(const std::string& names, Taker take, bool many,
                                const std::string& help) {
  CLI::Option* const option = app_->add_option(
      names,
      [take = std::move(take)](const std::vector<std::string>& words) {
        take(words);
        return true;
      },
      help);
  if (many) option->expected(1, CLI::detail::expected_max_vector_size);
  return keep(option);
}
Option* CommandLine::add_flag(const std::string& names, std::function<void(bool)> take,
                              const std::string& help) {
  // The place says what cannot be converted.
  CLI::Option* const option =
      app_->add_flag(names, *flags_.emplace_back(std::make_unique<bool>()), help);
  option->each([take = std::move(take)](const std::string& word) {
    bool value = false;
    if (CLI::detail::lexical_cast(word, value)) take(value);
  });
  return keep(option);
}
Option* CommandLine::set_version_flag(const std::string& names, const std::string& text) {
  return keep(app_->set_version_flag(names, text));
}
Option* CommandLine::set_help_flag(const std::string& names, const std::string& help) {
  return keep(app_->set_help_flag(names, help));
}
Option* CommandLine::set_help_all_flag(const std::string& names, const std::string& help) {
  return keep(app_->set_help_all_flag(names, help));
}

void CommandLine::require_option(int least) {
  app_->require_option(least);
}

void CommandLine::remove_option(Option* option) {
  app_->remove_option(option->option_);
  std::erase_if(options_, [&](const auto& each) { return each.get() == option; });
}

const std::string& CommandLine::get_name() const {
  return app_->get_name();
}
std::string CommandLine::get_description() const {
  return app_->get_description();
}

std::vector<const Option*> CommandLine::get_options() const {
  std::vector<const Option*> found;
  for (const CLI::Option* option : std::as_const(*app_).get_options())
    for (const auto& each : options_)
      if (each->option_ == option) found.push_back(each.get());
  return found;
}

Option* CommandLine::get_option_no_throw(const std::string& name) {
  CLI::Option* const option = app_->get_option_no_throw(name);
  return option == nullptr ? nullptr : keep(option);
}
const Option* CommandLine::get_option_no_throw(const std::string& name) const {
  const CLI::Option* const option = std::as_const(*app_).get_option_no_throw(name);
  for (const auto& each : options_)
    if (option != nullptr && each->option_ == option) return each.get();
  return nullptr;
}
Option* CommandLine::get_option(const std::string& name) {
  return keep(app_->get_option(name));
}

void CommandLine::set_help_printer(std::function<std::string(bool)> printer) {
  app_->formatter(std::make_shared<HelpPrinter>(std::move(printer)));
}

// The arguments in which the words of each list are one: "--clip=0,1". Throws: UsageError.
std::vector<std::string> CommandLine::with_joined_lists(
    const std::vector<const char*>& arguments) const {
  std::vector<std::string> joined;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string word = arguments[i];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* const option =
        i > 0 && name.starts_with('-') && name != "--" ? get_option_no_throw(name) : nullptr;
    if (option == nullptr || !option->is_element_ ||
        (equals == std::string::npos && i + 1 == arguments.size())) {
      joined.push_back(word);
      continue;
    }
    std::vector<std::string> elements =
        elements_of(equals == std::string::npos ? arguments[++i] : word.substr(equals + 1));
    while (i + 1 < arguments.size() && elements.size() < option->most_) {
      const std::vector<std::string> more = elements_of(arguments[i + 1]);
      if (!std::ranges::all_of(more, option->is_element_)) break;
      elements.insert(elements.end(), more.begin(), more.end());
      ++i;
    }
    if (elements.empty() || std::ranges::count(elements, "") > 0)
      throw UsageError{name + ": an element of the list is empty"};
    std::string text = name + "=";
    for (std::size_t k = 0; k < elements.size(); ++k) text += (k > 0 ? "," : "") + elements[k];
    joined.push_back(std::move(text));
  }
  return joined;
}

std::optional<int> CommandLine::parse(const std::vector<const char*>& arguments) {
  const std::vector<std::string> joined = with_joined_lists(arguments);
  std::vector<const char*> words;
  for (const std::string& word : joined) words.push_back(word.c_str());
  try {
    app_->parse(static_cast<int>(words.size()), words.data());
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app_->exit(error);
    throw UsageError{error.what()};
  }
}

}  // namespace bf_aot::cli
