#include "aot/build/options/values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmpxx.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <sstream>
#include <utility>

#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::build {
namespace {

constexpr std::size_t kMostDigits = 20;  // of 2^64 - 1
constexpr char kNoNumber[] = " is no number as 0.03, 1e-3 or 8/255";

// Returns the text in lower case, with "-" for "_".
std::string plain_name(std::string_view text) {
  std::string name;
  for (const char c : text)
    name += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// Returns the digits of a whole number without leading zeros; nothing for another text.
std::optional<std::string> whole_digits(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  while (text.size() > 1 && text.starts_with('0')) text.remove_prefix(1);
  return std::string(text);
}

bool at_least(const std::string& digits, std::uint64_t number) {
  return mpz_class(digits) >= mpz_class(std::to_string(number));
}

// Returns the exponent of two of a unit: 10 for "k", "kb", "ki" and "kib". Nothing for another
// text.
std::optional<mp_bitcnt_t> shift_of_unit(std::string_view unit) {
  constexpr std::string_view kPrefixes = "kmgtpe";
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() || unit == "b") return 0;
  const std::size_t prefix = kPrefixes.find(unit[0]);
  const std::string_view rest = unit.substr(1);
  if (prefix == std::string_view::npos ||
      !(rest.empty() || rest == "b" || rest == "i" || rest == "ib"))
    return std::nullopt;
  return 10 * (prefix + 1);
}

mpq_class constant(const std::string& text) {
  return *vnnlib::read_exact_text(text);
}

bool is_number(const std::string& text, vnnlib::Number& number) {
  return vnnlib::parse_quotient(text, number) == vnnlib::NumberError::kNone;
}

// Reads a whole text as a number: the nearest double. Returns false unless that is finite.
bool read_number(const std::string& text, double& number) {
  vnnlib::Number read;
  if (vnnlib::parse_quotient(text, read) != vnnlib::NumberError::kNone) return false;
  number = nearest(read);
  return std::isfinite(number);
}

}  // namespace

std::string name_among(std::string_view text, const std::vector<std::string>& names) {
  std::string meant = plain_name(text);
  if (meant == "crown-optimized") meant = "alpha-crown";  // as auto_LiRPA has it
  const auto found = std::ranges::find_if(
      names, [&](const std::string& name) { return plain_name(name) == meant; });
  return found == names.end() ? std::string() : *found;
}

double nearest(const vnnlib::Number& number) {
  if (number.is_double() || !std::isfinite(number.below)) return number.below;
  if (!std::isfinite(number.above)) return number.above;
  const mpq_class exact = vnnlib::exact(number);
  return exact - mpq_class(number.below) <= mpq_class(number.above) - exact ? number.below
                                                                            : number.above;
}

ValueRule one_of(std::vector<std::string> names) {
  std::string told = fmt::format("{{{}}}", fmt::join(names, ","));
  return ValueRule{[names, told](std::string& text) {
                     std::string name = name_among(text, names);
                     if (name.empty()) return text + " not in " + told;
                     text = std::move(name);
                     return std::string();
                   },
                   told, names};
}

ValueRule whole(std::uint64_t least, std::uint64_t most) {
  return ValueRule{[least, most](std::string& text) {
                     const auto digits = whole_digits(text);
                     const bool fits = digits && digits->size() <= kMostDigits &&
                                       at_least(*digits, least) && !at_least(*digits, most + 1);
                     if (!fits)
                       return most == INT64_MAX
                                  ? fmt::format("{} is no whole number of at least {}", text, least)
                                  : fmt::format("{} is no whole number from {} to {}", text, least,
                                                most);
                     text = *digits;
                     return std::string();
                   },
                   fmt::format("INT in [{} - {}]", least, most)};
}

ValueRule number(std::string least, std::string most) {
  std::string told = fmt::format("FLOAT in [{} - {}]", least, most);
  return ValueRule{[least = std::move(least), most = std::move(most)](std::string& text) {
                     vnnlib::Number read;
                     if (!is_number(text, read)) return text + kNoNumber;
                     const mpq_class exact = vnnlib::exact(read);
                     if (exact < constant(least) || exact > constant(most))
                       return fmt::format("{} is not from {} to {}", text, least, most);
                     text = fmt::format("{}", nearest(read));
                     return std::string();
                   },
                   told};
}

ValueRule positive_number(std::string most) {
  return ValueRule{[most = std::move(most)](std::string& text) {
                     vnnlib::Number read;
                     if (!is_number(text, read)) return text + kNoNumber;
                     const mpq_class exact = vnnlib::exact(read);
                     if (exact <= 0 || exact > constant(most))
                       return fmt::format("{} is not above 0 and at most {}", text, most);
                     // The least double where the number is nearer to zero.
                     text = fmt::format("{}", nearest(read) > 0 ? nearest(read) : read.above);
                     return std::string();
                   },
                   "POSITIVE"};
}

ValueRule byte_count() {
  return ValueRule{[](std::string& text) {
                     const std::size_t end =
                         std::min(text.find_first_not_of("+0123456789"), text.size());
                     const auto digits = whole_digits(std::string_view(text).substr(0, end));
                     const auto units = shift_of_unit(plain_name(text.substr(end)));
                     if (!digits || digits->size() > kMostDigits || !units)
                       return text + " is no count of bytes as 65536, 64K or 2M";
                     const mpz_class bytes = mpz_class(*digits) << *units;
                     if (bytes > mpz_class(std::to_string(INT64_MAX)))
                       return text + " is beyond 2^63 - 1 bytes";
                     text = bytes.get_str();
                     return std::string();
                   },
                   ""};
}

double parse_seconds(const std::string& text, const std::string& option) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"", 1}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    if (read_number(text.substr(0, text.size() - unit.size()), number) && number > 0)
      return number * seconds;
  }
  fail("BF3308", option, fmt::format("'{}' is no time", printable(text)),
       "write seconds, or a number with a unit: 0.5, 50us, 2ms, 1s");
}

Objective parse_objective(const std::string& text, const std::string& option) {
  Objective objective;
  const std::pair<std::string_view, double Objective::*> names[] = {
      {"time", &Objective::time},
      {"memory", &Objective::memory},
      {"looseness", &Objective::looseness},
      {"compile", &Objective::compile}};
  std::istringstream parts(text);
  bool any = false;
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t equals = part.find('=');
    const auto found = std::ranges::find(names, std::string_view(part).substr(0, equals),
                                         &std::pair<std::string_view, double Objective::*>::first);
    double weight = 0;
    if (equals == std::string::npos || found == std::end(names) ||
        !read_number(part.substr(equals + 1), weight) || weight < 0)
      fail("BF3309", option, fmt::format("'{}' is no weight of a metric", printable(part)),
           "write time=1,memory=0.1,looseness=2,compile=0, of which any may be left out");
    objective.*(found->second) = weight;
    any = any || weight > 0;
  }
  if (!any) fail("BF3309", option, "all weights are 0", "give at least one metric a weight");
  return objective;
}

}  // namespace bf_aot::build
