#include "aot/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace bf::cli {

Progress::Progress(const std::string& what) : shown_(isatty(STDERR_FILENO) != 0) {
  if (!shown_) return;
  fmt::print(stderr, "{:<12}", what);
  std::fflush(stderr);
}

Progress::~Progress() {
  if (!shown_) return;
  if (std::uncaught_exceptions() > 0)
    std::fputs("failed\n", stderr);
  else
    std::fprintf(stderr, "%8.2f s\n", stopwatch_.seconds());
}

}  // namespace bf::cli
