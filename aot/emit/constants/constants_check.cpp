#include "aot/emit/constants/constants_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>

#include "aot/emit/text/banner.h"
#include "aot/emit/text/fill_in.h"
#include "frontend/diagnostic.h"
#include "runtime/bf/contract/crc32.h"

namespace bf_aot::emit {
namespace {

enum class Form : std::uint8_t {
  kFloat32,
  kFloat64,
  kInteger8,
  kInteger16,
  kInteger32,
  kInteger64
};

// A member of a row; arrays of plain numbers have one without a name.
struct Field {
  std::string_view name;
  Form form;
};

struct ElementType {
  std::string_view text;
  std::vector<Field> fields;
};

std::vector<Field> requantizer(Form multiplier) {
  return {{"addend", Form::kInteger64}, {"multiplier", multiplier}, {"shift", Form::kInteger8},
          {"odd", Form::kInteger8},     {"low", Form::kInteger8},   {"high", Form::kInteger8}};
}

// Types of arrays, as they are printed. Rows that point to arrays are not among them, since those
// arrays are; neither are the few rows that say how a function's table is cut (bf::FunctionRun).
const std::vector<ElementType>& element_types() {
  using enum Form;
  static const std::vector<ElementType> types = {
      {"float", {{"", kFloat32}}},
      {"double", {{"", kFloat64}}},
      {"std::int8_t", {{"", kInteger8}}},
      {"std::uint8_t", {{"", kInteger8}}},
      {"unsigned char", {{"", kInteger8}}},
      {"bf::integer::Code", {{"", kInteger8}}},
      {"std::int16_t", {{"", kInteger16}}},
      {"std::uint16_t", {{"", kInteger16}}},
      {"std::int32_t", {{"", kInteger32}}},
      {"std::uint32_t", {{"", kInteger32}}},
      {"std::int64_t", {{"", kInteger64}}},
      {"bf::integer::Requantizer<std::int16_t>", requantizer(kInteger16)},
      {"bf::integer::Requantizer<std::int32_t>", requantizer(kInteger32)},
      {"bf::integer::Requantizer<std::int64_t>", requantizer(kInteger64)},
      {"bf::integer::SumBounds",
       {{"multiplier", kInteger64}, {"low_addend", kInteger64}, {"high_addend", kInteger64}}},
      {"bf::integer::Line",
       {{"slope", kInteger64},
        {"above", kInteger64},
        {"below", kInteger64},
        {"low", kInteger8},
        {"high", kInteger8}}},
      {"bf::FloatTurn",
       {{"from", kFloat32}, {"to", kFloat32}, {"low", kFloat32}, {"high", kFloat32}}},
      {"bf::VerdictTerm", {{"row", kInteger32}, {"at_least", kInteger8}, {"threshold", kFloat32}}},
  };
  return types;
}

// Where an array's definition begins, at the beginning of a line:
//   alignas(4) constexpr float fc1_weight[50] = {
struct Definition {
  const ElementType* type = nullptr;
  std::string_view name, count;
};

bool skip(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

std::optional<Definition> definition_of(std::string_view line) {
  if (line.starts_with("alignas(")) line.remove_prefix(line.find(") ") + 2);
  if (!skip(line, "constexpr ")) return std::nullopt;
  const std::size_t bracket = line.find('[');
  const std::size_t space = line.rfind(' ', bracket);
  if (bracket == std::string_view::npos || space == std::string_view::npos) return std::nullopt;
  const std::string_view type = line.substr(0, space);
  const auto found = std::ranges::find(element_types(), type, &ElementType::text);
  if (found == element_types().end()) return std::nullopt;
  Definition made = {&*found, line.substr(space + 1, bracket - space - 1), {}};
  line.remove_prefix(bracket + 1);
  made.count = line.substr(0, line.find(']'));
  BF_CHECK(line.substr(made.count.size()).starts_with("] = {"));
  return made;
}

double floating(const std::string& word) {
  if (word.find("__builtin_inf") != std::string::npos)
    return word[0] == '-' ? -std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::infinity();
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  BF_CHECK(end != word.c_str() && (*end == '\0' || *end == 'f'));
  return value;
}

std::int64_t whole(const std::string& word) {
  if (word == "true" || word == "false") return word == "true" ? 1 : 0;
  char* end = nullptr;
  const std::int64_t value = std::strtoll(word.c_str(), &end, 0);
  BF_CHECK(end != word.c_str() && *end == '\0');
  return value;
}

void add_number(bf::Crc32& sum, Form form, const std::string& word) {
  switch (form) {
    case Form::kFloat32:
      return sum.add(static_cast<float>(floating(word)));
    case Form::kFloat64:
      return sum.add(floating(word));
    case Form::kInteger8:
      return sum.add(static_cast<std::uint8_t>(whole(word)));
    case Form::kInteger16:
      return sum.add(static_cast<std::uint16_t>(whole(word)));
    case Form::kInteger32:
      return sum.add(static_cast<std::uint32_t>(whole(word)));
    case Form::kInteger64:
      return sum.add(whole(word));
  }
}

// Adds the numbers of an initialiser, which may have comments and braces around rows, and returns
// how many there were. text: behind the first brace.
std::size_t add_numbers(bf::Crc32& sum, std::string_view text, const std::vector<Field>& fields) {
  std::size_t count = 0, depth = 1;
  while (true) {
    const std::size_t next = text.find_first_not_of(" \n,");
    BF_CHECK(next != std::string_view::npos);
    text.remove_prefix(next);
    if (skip(text, "{")) {
      ++depth;
    } else if (skip(text, "}")) {
      if (--depth == 0) return count;
    } else if (text.starts_with("//")) {
      text.remove_prefix(text.find('\n'));
    } else {
      const std::size_t size = text.find_first_of(" ,}\n");
      add_number(sum, fields[count++ % fields.size()].form, std::string(text.substr(0, size)));
      text.remove_prefix(size);
    }
  }
}

std::string statement_of(const std::string& name, const Definition& made) {
  const std::vector<Field>& fields = made.type->fields;
  if (fields.size() == 1) return fmt::format("  crc.add({}, {});\n", name, made.count);
  std::string text = fmt::format("  for (const auto& row : {}) {{\n", name);
  for (const Field& field : fields) text += fmt::format("    crc.add(row.{});\n", field.name);
  return text + "  }\n";
}

// Reads a source and what it includes of the verifier's files, line by line.
class ArrayReader {
 public:
  explicit ArrayReader(const std::vector<EmittedFile>& files) : files_(files) {}

  void read(std::string_view source) {
    for (std::size_t at = 0; at < source.size();) {
      const std::size_t end = std::min(source.find('\n', at), source.size());
      read_line(source.substr(at, end - at), source.substr(at));
      at = end + 1;
    }
  }
  void add_object(const std::string& name, std::string_view bytes) {
    sum_.add(bytes.data(), bytes.size());
    statements_ += fmt::format("  crc.add({}, {});\n", name, bytes.size());
  }

  std::uint32_t sum() const { return sum_.value(); }
  const std::string& statements() const { return statements_; }

 private:
  void read_line(std::string_view line, std::string_view rest) {
    if (line.starts_with("#include \"")) return read_included(line);
    if (line.starts_with("}  // namespace") && !scopes_.empty()) return scopes_.pop_back();
    if (line.ends_with("{") && skip(line, "namespace ")) {
      line.remove_suffix(1);
      std::string scope(line.substr(0, line.find(' ')));
      return scopes_.push_back(scope.empty() ? "" : scope + "::");
    }
    const std::optional<Definition> made = definition_of(line);
    if (!made) return;
    const std::vector<Field>& fields = made->type->fields;
    const std::size_t count = add_numbers(sum_, rest.substr(rest.find('{') + 1), fields);
    BF_CHECK(std::to_string(count / fields.size()) == made->count);
    std::string name;
    for (const std::string& scope : scopes_) name += scope;
    statements_ += statement_of(name.append(made->name), *made);
  }

  void read_included(std::string_view line) {
    for (const EmittedFile& file : files_)
      if (file.suffix.ends_with(".inc") && line.ends_with(file.suffix + "\"")) read(file.bytes);
  }

  const std::vector<EmittedFile>& files_;
  std::vector<std::string> scopes_;  // of namespaces, "property::"
  bf::Crc32 sum_;
  std::string statements_;
};

EmittedFile& file_of(std::vector<EmittedFile>& files, std::string_view suffix) {
  const auto found = std::ranges::find(files, suffix, &EmittedFile::suffix);
  BF_CHECK(found != files.end());
  return *found;
}

void insert_before_last(std::string& text, std::string_view mark, const std::string& more) {
  const std::size_t at = text.rfind(mark);
  BF_CHECK(at != std::string::npos);
  text.insert(at, more);
}

constexpr std::string_view kFunction = R"(bf_uint32 @name@_constants_crc32(void) {
  bf::Crc32 crc;
@statements@  return crc.value();
}

)";

constexpr std::string_view kDeclaration =
    R"(/* The CRC-32 of the arrays of constants as they lie in memory: @NAME@_CONSTANTS_CRC32, unless
 * something has changed them. */
#define @NAME@_CONSTANTS_CRC32 @value@u
bf_uint32 @name@_constants_crc32(void);

)";

}  // namespace

void add_constants_check(std::vector<EmittedFile>& files, std::string_view name) {
  std::string& source = file_of(files, ".cpp").bytes;
  ArrayReader arrays(files);
  arrays.read(source);
  for (const EmittedFile& file : files)
    if (file.suffix == "_weights.bin")
      arrays.add_object(fmt::format("{}_weights", name), file.bytes);
  const Arguments names = {{"name", name}, {"NAME", upper_case(std::string(name))}};
  insert_before_last(source, "}  // extern \"C\"",
                     fill_in(kFunction, {{"statements", arrays.statements()}}, names));
  const std::string_view first = "#include \"bf/contract/integers.h\"\n";
  BF_CHECK(source.find(first) != std::string::npos);
  source.insert(source.find(first), "#include \"bf/contract/crc32.h\"\n");
  insert_before_last(
      file_of(files, ".h").bytes, "#ifdef __cplusplus",
      fill_in(kDeclaration, {{"value", fmt::format("{:#010x}", arrays.sum())}}, names));
}

}  // namespace bf_aot::emit
