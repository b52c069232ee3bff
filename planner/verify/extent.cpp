#include "planner/verify/extent.h"

#include <algorithm>
#include <cctype>

#include "frontend/diagnostic.h"

namespace bf_aot {
namespace {

// sum: product { "+" product }; product: atom { ["/"] atom }.
class ExtentReader {
 public:
  ExtentReader(std::string_view text, const Extents& values) : rest_(text), values_(values) {}

  std::int64_t sum() {
    std::int64_t total = product();
    while (take('+')) total += product();
    BF_CHECK(rest_.empty());
    return total;
  }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  bool take(char sign) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != sign) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::int64_t product() {
    std::int64_t value = atom();
    for (skip_spaces(); !rest_.empty() && rest_.front() != '+'; skip_spaces()) {
      if (take('/')) {
        const std::int64_t by = atom();
        value = (value + by - 1) / by;
      } else {
        value *= atom();
      }
    }
    return value;
  }

  std::int64_t atom() {
    skip_spaces();
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" +/"));
    BF_CHECK(!word.empty());
    rest_.remove_prefix(word.size());
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0)
      return std::stoll(std::string(word));
    const auto found = values_.find(word);
    BF_CHECK(found != values_.end());
    return found->second;
  }

  std::string_view rest_;
  const Extents& values_;
};

}  // namespace

std::int64_t extent_of(std::string_view text, const Extents& values) {
  return ExtentReader(text, values).sum();
}

}  // namespace bf_aot
