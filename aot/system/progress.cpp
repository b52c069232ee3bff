#include "aot/system/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "aot/system/terminal.h"

namespace bf_aot::system {

namespace {

int bars = 0;  // that are alive

constexpr double kTellSeconds = 5;  // between lines of a bar that is no terminal's
constexpr int kCells = 24;

void rewrite(int filled, const std::string& text, double seconds_left) {
  std::string line =
      fmt::format("\r\033[K[{:#<{}}{:.<{}}] {}", "", filled, "", kCells - filled, text);
  if (seconds_left >= 0)
    line += seconds_left < 90 ? fmt::format("  (about {:.0f} s left)", seconds_left)
                              : fmt::format("  (about {:.0f} min left)", seconds_left / 60);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

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
  std::string text = fmt::format("{} of {}", done, count_);
  if (!what.empty()) text += "  " + what;
  rewrite(kCells * done / count_, text,
          done > 0 ? stopwatch_.seconds() / done * (count_ - done) : -1);
}

ShareBar::ShareBar() : shown_(shows_progress()) {
  ++bars;
}

ShareBar::~ShareBar() {
  --bars;
  if (shown_) std::fputs("\r\033[K", stderr);
}

void ShareBar::show(double share, const std::string& what) {
  constexpr double kLeast = 1e-3;  // of which the rest can be told
  if (!shown_) return;
  const double done = std::min(std::max(share, 0.0), 1.0);
  const double left = done < kLeast ? -1 : stopwatch_.seconds() / done * (1 - done);
  rewrite(static_cast<int>(kCells * done), fmt::format("{:.0f} %  {}", 100 * done, what), left);
}

}  // namespace bf_aot::system
