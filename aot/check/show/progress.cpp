#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "aot/check/show/show.h"

namespace bf_check::show {

Progress::Progress(std::size_t bytes, bool quiet)
    : bytes_(bytes), tells_(!quiet && isatty(2) != 0) {}

Progress::~Progress() {
  if (told_) std::fputs("\r\33[K", stderr);
}

void Progress::tell(std::size_t walked) {
  using Milliseconds = std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now();
  if (!tells_ || now - last_ < Milliseconds(200) || walked == 0) return;
  last_ = now;
  told_ = true;
  const auto passed = std::chrono::duration_cast<Milliseconds>(now - begin_).count();
  const auto size = static_cast<std::int64_t>(bytes_), done = static_cast<std::int64_t>(walked);
  std::fprintf(stderr, "\rbf-check: %d %%, %lld s left\33[K", static_cast<int>(100 * done / size),
               static_cast<long long>(passed * (size - done) / done / 1000));
}

}  // namespace bf_check::show
