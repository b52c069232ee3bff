#include "aot/system/interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>

namespace bf_aot::system {
namespace {

// This is global since the signal handler writes it.
volatile std::sig_atomic_t caught_signal = 0;
volatile std::sig_atomic_t cleanups = 0;
volatile std::sig_atomic_t child_group = 0;

int held = 0;  // of the thread that asks for interrupts

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};

// The text that a deadline prints; it is set before the deadline can arrive.
std::atomic<const char*> deadline_text = nullptr;
static_assert(std::atomic<const char*>::is_always_lock_free);
int deadline_code = 0;

// The signal is SIGTERM, not SIGKILL, so that compilers remove their own temporary files.
void on_signal(int signal) {
  const int saved_errno = errno;
  if (child_group > 0) kill(-child_group, SIGTERM);
  const char* const text = deadline_text;
  if (cleanups == 0 && signal == SIGALRM && text != nullptr) {
    const std::size_t size = std::strlen(text);
    _exit(write(1, text, size) == static_cast<ssize_t>(size) ? deadline_code : 1);
  }
  if (cleanups == 0) _exit(128 + signal);
  caught_signal = signal;
  errno = saved_errno;
}

sigset_t signal_set() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kSignals) sigaddset(&set, signal);
  return set;
}

}  // namespace

void install_interrupt_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_mask = signal_set();
  for (int signal : kSignals) {
    struct sigaction old = {};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // nohup stays nohup
  }
}

void set_deadline(double seconds, const char* text, int code) {
  deadline_text = text;
  deadline_code = code;
  constexpr double kLeast = 1e-6;  // the clock's step; 0 would be no deadline
  const double late = seconds > 0 ? std::max(seconds, kLeast) : 0;
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(late);
  timer.it_value.tv_usec = static_cast<suseconds_t>((late - std::floor(late)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

void set_deadline_text(const char* text) {
  deadline_text = text;
}

bool is_interrupted() {
  return caught_signal != 0 && held == 0;
}

void throw_if_interrupted() {
  if (is_interrupted()) throw Interrupted{caught_signal};
}

InterruptsHeld::InterruptsHeld() {
  ++held;
}

InterruptsHeld::~InterruptsHeld() {
  --held;
}

CleanupPending::CleanupPending() {
  const SignalBlock block;
  cleanups = cleanups + 1;
}

CleanupPending::~CleanupPending() {
  const SignalBlock block;
  cleanups = cleanups - 1;
}

void set_child_group(int group) {
  child_group = group;
}

SignalBlock::SignalBlock() {
  const sigset_t set = signal_set();
  sigprocmask(SIG_BLOCK, &set, nullptr);
}

SignalBlock::~SignalBlock() {
  const sigset_t set = signal_set();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void reset_signals() {
  for (int signal : kSignals) std::signal(signal, SIG_DFL);
  const sigset_t set = signal_set();
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace bf_aot::system
