#include "aot/host/progress.h"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "aot/terminal/terminal.h"

namespace bf_aot::cli {

namespace {

int bars = 0;  // that are alive

constexpr double kTellSeconds = 5;  // between lines of a bar that is no terminal's

}  // namespace

bool tells_steps() {
  return verbosity() == Verbosity::kVerbose && !is_terminal(Stream::kErrors);
}

void tell_step(const std::string& what, double seconds) {
  fmt::print(stderr, "{:<12}{:8.2f} s\n", what, seconds);
}

Progress::Progress(const std::string& what)
    : shown_((shows_progress() || verbosity() == Verbosity::kVerbose) && bars == 0) {
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

ProgressBar::ProgressBar(int count) : count_(count), shown_(shows_progress()) {
  ++bars;
}

ProgressBar::~ProgressBar() {
  --bars;
  if (shown_) std::fputs("\r\033[K", stderr);
  if (tells_steps() && std::uncaught_exceptions() == 0)
    tell_step(fmt::format("{} done", count_), stopwatch_.seconds());
}

void ProgressBar::show(int done, const std::string& what) {
  if (count_ == 0) return;
  if (tells_steps() && stopwatch_.seconds() >= told_ + kTellSeconds) {
    told_ = stopwatch_.seconds();
    tell_step(fmt::format("{} of {}{}{}", done, count_, what.empty() ? "" : " ", what), told_);
  }
  if (!shown_) return;
  constexpr int kCells = 24;
  const int filled = kCells * done / count_;
  std::string text = fmt::format("\r\033[K[{:#<{}}{:.<{}}] {} of {}", "", filled, "",
                                 kCells - filled, done, count_);
  if (!what.empty()) text += "  " + what;
  if (done > 0) {
    const double left = stopwatch_.seconds() / done * (count_ - done);
    text += left < 90 ? fmt::format("  (about {:.0f} s left)", left)
                      : fmt::format("  (about {:.0f} min left)", left / 60);
  }
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace bf_aot::cli
