#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace bf_aot {

struct Graph;

// The arrays that checks of a graph have looked at, so that checks between passes look at those
// alone that a pass made. Arrays are told apart by their address, their size and some of their
// elements; a check that counts begins with none.
class CheckedData {
 public:
  // Returns whether the array was looked at, and notes that it is.
  bool knows(const std::vector<double>& data) {
    if (data.empty()) return true;
    const Mark mark = {data.size(), digest(data)};
    const auto [at, is_new] = known_.try_emplace(data.data(), mark);
    const bool same = !is_new && at->second.size == mark.size && at->second.digest == mark.digest;
    at->second = mark;
    return same;
  }

 private:
  struct Mark {
    std::size_t size = 0;
    std::uint64_t digest = 0;
  };

  static std::uint64_t digest(const std::vector<double>& data) {
    constexpr std::size_t kElements = 64;
    const std::size_t step = data.size() / kElements + 1;
    std::uint64_t made = 0;
    for (std::size_t i = 0; i < data.size(); i += step) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &data[i], sizeof bits);
      made = (made ^ bits) * 0x100000001b3u;
    }
    return made;
  }

  std::unordered_map<const double*, Mark> known_;
};

// verify() of a graph between passes: leaves out constants that `data` says were looked at, and
// notes those that it looks at.
void verify(const Graph& graph, CheckedData& data);

}  // namespace bf_aot
