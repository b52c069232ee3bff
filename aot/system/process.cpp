#include "aot/system/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "aot/system/progress.h"
#include "frontend/diagnostic.h"

namespace bf_aot::system {

// A pipe between this process and one that it starts.
struct ProcessPipe {
  int read = -1;
  int write = -1;

  ProcessPipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      fail("BF3201", "", fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    read = ends[0];
    write = ends[1];
  }
  ~ProcessPipe() {
    close_end(read);
    close_end(write);
  }
  ProcessPipe(const ProcessPipe&) = delete;
  ProcessPipe& operator=(const ProcessPipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

namespace {

using Pipe = ProcessPipe;

// Becomes the program, in the child; never returns. Where a call fails, its errno goes through
// `failure`.
[[noreturn]] void become(const std::vector<char*>& arguments, const char* folder, const Pipe& out,
                         const Pipe& errors, const Pipe& failure) {
  setpgid(0, 0);
  reset_signals();
  const int null = open("/dev/null", O_RDONLY);
  if (null >= 0 && dup2(null, 0) >= 0 && dup2(out.write, 1) >= 0 && dup2(errors.write, 2) >= 0 &&
      (*folder == '\0' || chdir(folder) == 0))
    execv(arguments[0], arguments.data());
  const int code = errno;
  [[maybe_unused]] const ssize_t written = write(failure.write, &code, sizeof code);
  _exit(127);
}

// Appends what is there to `text`; false at the end of the stream.
bool drain(int descriptor, std::string& text) {
  std::array<char, 65536> block;
  const ssize_t count = read(descriptor, block.data(), block.size());
  if (count < 0) return errno == EINTR;
  text.append(block.data(), static_cast<std::size_t>(count));
  return count > 0;
}

// Reads both pipes until they end. After `timeout_seconds` (0: never) the child's group is told to
// end.
void collect(Pipe& out, Pipe& errors, ProcessResult& result, pid_t child = 0,
             double timeout_seconds = 0) {
  const Stopwatch stopwatch;
  bool told = timeout_seconds <= 0;
  while (out.read >= 0 || errors.read >= 0) {
    std::array<pollfd, 2> polls = {pollfd{out.read, POLLIN, 0}, pollfd{errors.read, POLLIN, 0}};
    const double left = timeout_seconds - stopwatch.seconds();
    if (!told && left <= 0) {
      kill(-child, SIGTERM);
      told = true;
    }
    const int wait = told ? -1 : static_cast<int>(std::min(left, 1e6) * 1000) + 1;
    const int ready = poll(polls.data(), polls.size(), wait);
    if (ready <= 0) continue;  // time, or EINTR: the child is told already
    if (polls[0].revents != 0 && !drain(out.read, result.output)) Pipe::close_end(out.read);
    if (polls[1].revents != 0 && !drain(errors.read, result.errors)) Pipe::close_end(errors.read);
  }
}

// Works in the child of run_apart(), and never returns.
[[noreturn]] void work_apart(const std::function<std::string()>& work, const Pipe& out,
                             const Pipe& errors) {
  set_child_group(0);
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0 || dup2(null, 0) < 0 || dup2(errors.write, 2) < 0) _exit(127);
  int code = 0;
  try {
    const std::string text = work();
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t count = write(out.write, text.data() + done, text.size() - done);
      if (count < 0 && errno != EINTR) _exit(127);
      if (count > 0) done += static_cast<std::size_t>(count);
    }
  } catch (const Interrupted& interrupted) {
    code = 128 + interrupted.signal;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    code = 1;
  }
  std::fflush(stderr);
  _exit(code);
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::filesystem::path& folder) {
  BF_CHECK(!arguments.empty());
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execv does not write to them
  pointers.push_back(nullptr);
  const std::string folder_text = folder.string();

  throw_if_interrupted();
  Pipe out, errors, failure;
  pid_t child = -1;
  {
    const SignalBlock block;  // no signal between fork and set_child_group
    child = fork();
    if (child == 0) become(pointers, folder_text.c_str(), out, errors, failure);
    if (child > 0) {
      setpgid(child, child);  // both sides do so: whichever runs first
      set_child_group(child);
    }
  }
  if (child < 0) fail("BF3201", arguments[0], fmt::format("cannot run: {}", std::strerror(errno)));
  Pipe::close_end(out.write);
  Pipe::close_end(errors.write);
  Pipe::close_end(failure.write);

  ProcessResult result;
  collect(out, errors, result);
  result.exit_code = wait_for(child);
  set_child_group(0);
  throw_if_interrupted();

  int code = 0;
  if (read(failure.read, &code, sizeof code) == static_cast<ssize_t>(sizeof code))
    fail("BF3201", arguments[0], fmt::format("cannot run: {}", std::strerror(code)));
  return result;
}

ProcessResult run_apart(const std::function<std::string()>& work, double timeout_seconds) {
  throw_if_interrupted();
  Pipe out, errors;
  pid_t child = -1;
  {
    const SignalBlock block;  // no signal between fork and set_child_group
    child = fork();
    if (child == 0) setpgid(0, 0);
    if (child > 0) {
      setpgid(child, child);
      set_child_group(child);
    }
  }
  if (child == 0) work_apart(work, out, errors);
  if (child < 0) fail("BF3201", "", fmt::format("cannot fork: {}", std::strerror(errno)));
  Pipe::close_end(out.write);
  Pipe::close_end(errors.write);
  ProcessResult result;
  collect(out, errors, result, child, timeout_seconds);
  result.exit_code = wait_for(child);
  set_child_group(0);
  throw_if_interrupted();
  return result;
}

struct ProcessPool::Running {
  std::size_t id = 0;
  pid_t child = -1;
  double timeout_seconds = 0;
  bool late = false;
  ProcessPipe out, errors;
  ProcessResult result;
  Stopwatch stopwatch;

  bool is_open() const { return out.read >= 0 || errors.read >= 0; }
};

ProcessPool::ProcessPool(int jobs) : jobs_(static_cast<std::size_t>(std::max(jobs, 1))) {}

ProcessPool::~ProcessPool() {
  for (const auto& each : running_) kill(-each->child, SIGKILL);
  for (const auto& each : running_) (void)wait_for(each->child);
}

void ProcessPool::start(std::size_t id, const std::function<std::string()>& work,
                        double timeout_seconds) {
  BF_CHECK(!is_full());
  auto made = std::make_unique<Running>();
  made->id = id;
  made->timeout_seconds = timeout_seconds;
  std::fflush(nullptr);  // else both would write what is buffered
  {
    const SignalBlock block;
    made->child = fork();
    if (made->child == 0) {
      setpgid(0, 0);
      reset_signals();
    } else if (made->child > 0) {
      setpgid(made->child, made->child);
    }
  }
  if (made->child == 0) work_apart(work, made->out, made->errors);
  if (made->child < 0) fail("BF3201", "", fmt::format("cannot fork: {}", std::strerror(errno)));
  Pipe::close_end(made->out.write);
  Pipe::close_end(made->errors.write);
  made->stopwatch = {};
  running_.push_back(std::move(made));
}

void ProcessPool::read_from(Running& running, short out_events, short error_events) {
  if (out_events != 0 && !drain(running.out.read, running.result.output))
    Pipe::close_end(running.out.read);
  if (error_events != 0 && !drain(running.errors.read, running.result.errors))
    Pipe::close_end(running.errors.read);
}

ProcessPool::Ended ProcessPool::take(std::size_t index) {
  const std::unique_ptr<Running> ended = std::move(running_[index]);
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(index));
  ended->result.exit_code = wait_for(ended->child);
  return {ended->id, std::move(ended->result), ended->stopwatch.seconds(), ended->late};
}

ProcessPool::Ended ProcessPool::wait() {
  BF_CHECK(!is_empty());
  constexpr int kLongestWait = 1000;  // milliseconds
  while (true) {
    throw_if_interrupted();
    std::vector<pollfd> polls;
    int longest = kLongestWait;
    for (const auto& each : running_) {
      polls.push_back({each->out.read, POLLIN, 0});  // closed: -1, which poll passes over
      polls.push_back({each->errors.read, POLLIN, 0});
      if (each->timeout_seconds <= 0 || each->late) continue;
      const double left = each->timeout_seconds - each->stopwatch.seconds();
      if (left <= 0) {
        kill(-each->child, SIGKILL);
        each->late = true;
      } else {
        longest = std::min(longest, static_cast<int>(std::min(left, 10.0) * 1000) + 1);
      }
    }
    if (poll(polls.data(), polls.size(), longest) < 0) continue;  // a signal
    for (std::size_t i = 0; i < running_.size(); ++i)
      read_from(*running_[i], polls[2 * i].revents, polls[2 * i + 1].revents);
    for (std::size_t i = 0; i < running_.size(); ++i)
      if (!running_[i]->is_open()) return take(i);
  }
}

std::size_t core_count() {
  // The library reads files of /sys for it.
  static const std::size_t count = std::max(1U, std::thread::hardware_concurrency());
  return count;
}

std::optional<std::string> find_program(const std::string& name) {
  const auto executable = [](const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    if (!executable(name)) return std::nullopt;
    return std::filesystem::absolute(name).string();
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path candidate = std::filesystem::path(rest.substr(0, colon)) / name;
    if (!name.empty() && executable(candidate))
      return std::filesystem::absolute(candidate).string();
    if (colon == std::string_view::npos) return std::nullopt;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace bf_aot::system
