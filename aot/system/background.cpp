#include "aot/system/background.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "aot/system/interrupt.h"
#include "frontend/diagnostic.h"

namespace bf_aot::system {
namespace {

constexpr int kNice = 10;

void send(int to, std::string line) {
  std::ranges::replace(line, '\n', ' ');
  line += '\n';
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t count = write(to, line.data() + done, line.size() - done);
    if (count < 0 && errno != EINTR) _exit(1);  // nobody reads
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

// Runs in the copy of the process, and never returns.
[[noreturn]] void work_here(const std::function<void(const BackgroundWork::Report&)>& work, int to,
                            pid_t parent) {
  set_child_group(0);
  install_interrupt_handlers();  // SIGTERM ends its own processes, too
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // it ended before that
  if (nice(kNice) < 0) errno = 0;     // no harm
  const int null = open("/dev/null", O_RDWR);
  if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(1);
  int code = 0;
  try {
    work([to](const std::string& line) { send(to, line); });
  } catch (const Interrupted& interrupted) {
    code = 128 + interrupted.signal;
  } catch (const std::exception& error) {
    send(to, fmt::format("error: {}", error.what()));
    code = 1;
  }
  _exit(code);
}

}  // namespace

BackgroundWork::BackgroundWork(const std::function<void(const Report&)>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    fail("BF3201", "", fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) {
    setpgid(0, 0);  // signals of a terminal are for the parent alone, whose end ends this one
    work_here(work, ends[1], parent);
  }
  const int error = errno;
  close(ends[1]);
  if (child_ < 0) {
    close(ends[0]);
    fail("BF3201", "", fmt::format("cannot fork: {}", std::strerror(error)));
  }
  from_ = ends[0];
}

BackgroundWork::~BackgroundWork() {
  if (from_ >= 0) close(from_);
  kill(child_, SIGTERM);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
}

std::vector<std::string> BackgroundWork::lines() {
  std::vector<std::string> made;
  std::array<char, 4096> block;
  pollfd wait = {from_, POLLIN, 0};
  while (from_ >= 0 && poll(&wait, 1, 0) > 0) {
    const ssize_t count = read(from_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      close(from_);
      from_ = -1;
      break;
    }
    text_.append(block.data(), static_cast<std::size_t>(count));
  }
  for (std::size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
    made.push_back(text_.substr(0, end));
    text_.erase(0, end + 1);
  }
  return made;
}

}  // namespace bf_aot::system
