#include "aot/build/footprint/library_stack.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "aot/build/library.h"

namespace bf_aot::build {
namespace {

struct Object {
  std::optional<std::int64_t> pushed = 0;
  std::set<std::string> needs;  // functions of other objects
};
using Objects = std::map<std::string, Object>;

std::optional<std::int64_t> number_at(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
    return std::nullopt;
  return value;
}

// "{r4, r5, lr}": 4 bytes each; "{d8-d9}": 8 bytes each.
std::optional<std::int64_t> bytes_of_list(std::string_view operands) {
  const std::size_t begin = operands.find('{'), end = operands.find('}');
  if (begin == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const std::string_view list = operands.substr(begin + 1, end - begin - 1);
  if (list.empty()) return std::nullopt;
  const std::int64_t each = list[0] == 'd' ? 8 : 4;
  if (list.find('-') == std::string_view::npos)
    return each * (1 + std::count(list.begin(), list.end(), ','));
  const auto first = number_at(list, list.substr(0, 1));
  const auto last = number_at(list, std::string("-") + list[0]);
  if (!first || !last || list.find(',') != std::string_view::npos) return std::nullopt;
  return each * (*last - *first + 1);
}

// Bytes by which an instruction of RISC-V lowers the stack pointer. Operands stand without blanks:
// "sp,sp,-16".
std::optional<std::int64_t> lowers_on_riscv(std::string_view mnemonic, std::string_view operands) {
  if (!operands.starts_with("sp,")) return 0;
  if (!mnemonic.starts_with("add") && !mnemonic.starts_with("c.add")) return std::nullopt;
  if (operands.starts_with("sp,sp,-")) return number_at(operands, "sp,sp,-");
  return number_at(operands, "sp,sp,") ? std::optional<std::int64_t>(0) : std::nullopt;
}

// Bytes by which an instruction lowers the stack pointer; none when they are not in its text.
std::optional<std::int64_t> lowers(std::string_view mnemonic, std::string_view operands) {
  if (mnemonic.starts_with("push") || mnemonic.starts_with("vpush")) return bytes_of_list(operands);
  const bool first = operands.starts_with("sp,") || operands.starts_with("sp!");
  if (mnemonic.starts_with("stm") || mnemonic.starts_with("vstm"))
    return first && operands.starts_with("sp!") ? bytes_of_list(operands) : 0;
  if (mnemonic.starts_with("str") || mnemonic.starts_with("vstr")) {
    if (operands.find("[sp, #-") != std::string_view::npos && operands.ends_with("]!"))
      return number_at(operands, "[sp, #-");
    return operands.find("[sp") != std::string_view::npos &&
                   operands.find("]!") != std::string_view::npos
               ? std::nullopt
               : std::optional<std::int64_t>(0);
  }
  if (!first) return 0;
  const bool by_constant = operands.find('#') != std::string_view::npos;
  if (mnemonic.starts_with("sub")) return by_constant ? number_at(operands, "#") : std::nullopt;
  // These raise it: add, a move from a frame pointer, and loads that count up. An added register
  // may be negative.
  const bool raises = (mnemonic.starts_with("add") && by_constant) || mnemonic.starts_with("mov") ||
                      mnemonic.starts_with("ldm") || mnemonic.starts_with("vldm") ||
                      mnemonic.starts_with("cmp");
  return raises ? std::optional<std::int64_t>(0) : std::nullopt;
}

// Lines "name.o:     file format elf32-littlearm" or elf32-littleriscv, and
// "   address:<tab>bytes<tab>mnemonic<tab>operands<tab>; remark".
void read_code(const std::string& disassembly, Objects& objects) {
  std::istringstream lines(disassembly);
  Object* object = nullptr;
  bool riscv = false;
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t end = line.find(":     file format"); end != std::string::npos) {
      object = &objects[line.substr(0, end)];
      riscv = line.find("riscv", end) != std::string::npos;
      continue;
    }
    std::istringstream fields(line);
    std::string field, mnemonic, operands;
    std::getline(fields, field, '\t');
    std::getline(fields, field, '\t');
    std::getline(fields, mnemonic, '\t');
    std::getline(fields, operands, '\t');
    if (object == nullptr || operands.find("sp") == std::string::npos) {
      // Lists name no stack pointer.
      if (object == nullptr || mnemonic.find("push") == std::string::npos) continue;
    }
    while (!operands.empty() && operands.back() == ' ') operands.pop_back();
    const auto bytes = riscv ? lowers_on_riscv(mnemonic, operands) : lowers(mnemonic, operands);
    if (bytes && object->pushed)
      *object->pushed += *bytes;
    else
      object->pushed.reset();
  }
}

// Lines "name.o:" and "value letter name", without value where it is not defined there.
std::map<std::string, std::string> read_symbols(const std::string& symbols, Objects& objects) {
  std::map<std::string, std::string> holders;
  std::istringstream lines(symbols);
  std::string object;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(".o:")) object = line.substr(0, line.size() - 1);
    std::istringstream fields(line);
    std::string first, second, third;
    fields >> first >> second >> third;
    if (first == "U" || first == "w")
      objects[object].needs.insert(second);
    else if (!third.empty())
      holders.emplace(third, object);
  }
  return holders;
}

class DeepestObjects {
 public:
  DeepestObjects(const Objects& objects, const std::map<std::string, std::string>& holders)
      : objects_(objects), holders_(holders) {}

  std::optional<std::int64_t> below(const std::string& function) {
    const auto holder = holders_.find(function);
    if (holder == holders_.end()) return 0;
    const Object& object = objects_.at(holder->second);
    if (!object.pushed || !open_.insert(holder->second).second) return std::nullopt;
    std::int64_t most = 0;
    for (const std::string& need : object.needs) {
      const auto depth = below(need);
      if (!depth) return std::nullopt;
      most = std::max(most, *depth);
    }
    open_.erase(holder->second);
    return *object.pushed + most;
  }

 private:
  const Objects& objects_;
  const std::map<std::string, std::string>& holders_;
  std::set<std::string> open_;
};

}  // namespace

std::optional<std::int64_t> library_stack(const std::string& disassembly,
                                          const std::string& symbols,
                                          const std::vector<std::string>& calls) {
  Objects objects;
  read_code(disassembly, objects);
  const std::map<std::string, std::string> holders = read_symbols(symbols, objects);
  DeepestObjects deepest(objects, holders);
  std::int64_t most = 0;
  for (const std::string& call : calls) {
    const auto depth = deepest.below(call);
    if (!depth) return std::nullopt;
    most = std::max(most, *depth);
  }
  return most;
}

std::vector<std::string> not_in_library(const std::string& symbols,
                                        const std::vector<std::string>& calls) {
  Objects objects;
  const std::map<std::string, std::string> holders = read_symbols(symbols, objects);
  std::vector<std::string> others;
  for (const std::string& call : calls)
    if (!holders.contains(call)) others.push_back(call);
  return others;
}

namespace {

// Returns whether a program loads this section into memory.
bool is_loaded(std::string_view section) {
  for (const std::string_view other :
       {".debug", ".comment", ".note", ".stab", ".ARM.attributes", ".riscv.attributes"})
    if (section.starts_with(other)) return false;
  return true;
}

// "/usr/lib/libgcc.a(_arm_muldf3.o)": archive and object; both empty for other words.
std::pair<std::string, std::string> object_of(const std::string& word) {
  const std::size_t open = word.rfind('(');
  if (open == std::string::npos || !word.ends_with(')')) return {};
  const std::size_t folder = word.rfind('/', open);
  const std::size_t begin = folder == std::string::npos ? 0 : folder + 1;
  return {word.substr(begin, open - begin), word.substr(open + 1, word.size() - open - 2)};
}

class LinkMap {
 public:
  LinkMap(const std::string& own, const std::vector<std::string>& calls)
      : own_(own), calls_(calls) {}

  // " .text  0x8000  0x40 libgcc.a(a.o)", the name alone where it is long; symbols follow as
  // "  0x8000  __aeabi_dmul".
  void add(const std::vector<std::string>& words) {
    if (!words.empty() && words[0].starts_with('.')) section_ = words[0];
    const bool named = words.size() == 4 && words[0] == section_;
    if (named || (words.size() == 3 && words[0].starts_with("0x")))
      add_part(words[words.size() - 2], words.back());
    else if (words.size() == 2 && words[0].starts_with("0x"))
      add_symbol(words[1]);
    else if (words.size() != 1)
      current_ = -1;
  }

  std::vector<LibraryObject> objects() && {
    std::erase_if(objects_, [](const LibraryObject& object) { return object.bytes == 0; });
    return std::move(objects_);
  }

 private:
  void add_part(const std::string& bytes, const std::string& from) {
    current_ = -1;
    const auto names = object_of(from);
    const auto& [archive, object] = names;
    if (archive.empty() || archive == own_ || !is_loaded(section_)) return;
    const auto found = std::ranges::find_if(objects_, [&names](const LibraryObject& other) {
      return other.archive == names.first && other.object == names.second;
    });
    current_ = found - objects_.begin();
    if (found == objects_.end()) objects_.push_back({archive, object, 0, {}});
    objects_[static_cast<std::size_t>(current_)].bytes += std::stoll(bytes, nullptr, 16);
  }

  void add_symbol(const std::string& name) {
    if (current_ < 0 || std::ranges::find(calls_, name) == calls_.end()) return;
    std::vector<std::string>& functions = objects_[static_cast<std::size_t>(current_)].functions;
    if (std::ranges::find(functions, name) == functions.end()) functions.push_back(name);
  }

  const std::string& own_;
  const std::vector<std::string>& calls_;
  std::vector<LibraryObject> objects_;
  std::string section_;
  std::ptrdiff_t current_ = -1;
};

}  // namespace

std::vector<LibraryObject> library_objects(const std::string& map, const std::string& own,
                                           const std::vector<std::string>& calls) {
  const std::size_t begin = map.find("\nLinker script and memory map\n");
  if (begin == std::string::npos) return {};
  LinkMap found(own, calls);
  std::istringstream lines(map.substr(begin));
  for (std::string line; std::getline(lines, line);) found.add(split_words(line));
  return std::move(found).objects();
}

}  // namespace bf_aot::build
