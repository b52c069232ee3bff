#include "tests/fuzz/mutate_property.h"

#include <cctype>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace bf_aot::test {
namespace {

constexpr std::size_t kMostBytes = 1 << 14;
constexpr std::size_t kMostDepth = 200;

// A list, or else an atom.
struct Expression {
  std::string atom;
  std::vector<Expression> list;
  bool is_list = false;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Expression> read(std::size_t depth = 0) {
    std::vector<Expression> all;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        ++at_;
      } else if (c == ';') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '(' && depth < kMostDepth) {
        ++at_;
        all.push_back({{}, read(depth + 1), true});
      } else if (c == ')') {
        ++at_;
        if (depth > 0) return all;
      } else {
        all.push_back({std::string(word()), {}, false});
      }
    }
    return all;
  }

 private:
  std::string_view word() {
    const std::size_t first = at_++;
    while (at_ < text_.size() && text_.find_first_of("(); \t\r\n", at_) != at_) ++at_;
    return text_.substr(first, at_ - first);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

void print(const std::vector<Expression>& all, std::string& text) {
  for (const Expression& each : all) {
    if (text.size() > kMostBytes) return;
    if (!text.empty() && text.back() != '(') text += ' ';
    text += each.is_list ? "(" : each.atom;
    if (!each.is_list) continue;
    print(each.list, text);
    text += ')';
  }
}

class PropertyMutator {
 public:
  explicit PropertyMutator(unsigned seed) : random_(seed) {}

  void run(std::vector<Expression>& all) {
    for (std::size_t count = 1 + below(3); count > 0; --count) step(all);
  }

 private:
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : random_() % limit; }

  // Some list, the deeper the less likely.
  std::vector<Expression>& some_list(std::vector<Expression>& all) {
    std::vector<Expression>* list = &all;
    while (!list->empty()) {
      Expression& next = (*list)[below(list->size())];
      if (!next.is_list || below(4) == 0) break;
      list = &next.list;
    }
    return *list;
  }

  std::string any_atom() {
    static const char* const kAtoms[] = {"X_0",
                                         "Y_0",
                                         "X_1",
                                         "Y_1",
                                         "X[0]",
                                         "Y[0,1]",
                                         "0",
                                         "-0.0",
                                         "1e-400",
                                         "-1e400",
                                         "0.1",
                                         "1/3",
                                         "1e308",
                                         "2e-324",
                                         "<=",
                                         ">=",
                                         "<",
                                         ">",
                                         "==",
                                         "!=",
                                         "or",
                                         "and",
                                         "not",
                                         "+",
                                         "-",
                                         "*",
                                         "true",
                                         "false",
                                         "Real",
                                         "assert",
                                         "0.99999999999999999999999",
                                         "123456789123456789123456789",
                                         "declare-const"};
    return kAtoms[below(std::size(kAtoms))];
  }

  void step(std::vector<Expression>& all) {
    std::vector<Expression>& list = some_list(all);
    if (list.empty()) return;
    const std::size_t i = below(list.size()), j = below(list.size());
    const auto at = [&](std::size_t k) { return list.begin() + static_cast<std::ptrdiff_t>(k); };
    switch (below(7)) {
      case 0:
        list.erase(at(i));
        return;
      case 1: {
        Expression copy = list[i];
        list.insert(at(j), std::move(copy));
        return;
      }
      case 2:
        return std::swap(list[i], list[j]);
      case 3: {
        const std::vector<Expression>& other = some_list(all);
        if (other.empty()) return;
        Expression copy = other[below(other.size())];
        some_list(all).push_back(std::move(copy));
        return;
      }
      case 4: {
        const char* const kHeads[] = {"not", "and", "or", "-", "+", "assert"};
        Expression inner = std::exchange(list[i], {{}, {}, true});
        list[i].list.push_back({kHeads[below(std::size(kHeads))], {}, false});
        list[i].list.push_back(std::move(inner));
        return;
      }
      default:
        if (!list[i].is_list) list[i].atom = any_atom();
    }
  }

  std::mt19937 random_;
};

}  // namespace

std::string mutate_property(std::string_view text, unsigned seed) {
  std::vector<Expression> all = Reader(text).read();
  PropertyMutator(seed).run(all);
  std::string made;
  print(all, made);
  return made;
}

}  // namespace bf_aot::test
