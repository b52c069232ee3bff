#include "aot/system/interrupt.h"

#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <string>

namespace bf_aot::system {
namespace {

// This is global since the signal handler writes it.
volatile std::sig_atomic_t caught_signal = 0;
volatile std::sig_atomic_t cleanups = 0;
volatile std::sig_atomic_t child_group = 0;

int held = 0;  // of the thread that asks for interrupts

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM};

// The watchdog prints this text and ends the program with this exit code.
std::atomic<const std::string*> watchdog_text = nullptr;
static_assert(std::atomic<const std::string*>::is_always_lock_free);
int watchdog_code = 0;

// Seconds until SIGALRM; 0: never.
void set_alarm(double seconds) {
  itimerval timer = {};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - std::floor(seconds)) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

// The signal is SIGTERM, not SIGKILL, so that compilers remove their own temporary files.
void on_signal(int signal) {
  const int saved_errno = errno;
  if (child_group > 0) kill(-child_group, SIGTERM);
  const std::string* const text = watchdog_text;
  if (cleanups == 0 && signal == SIGALRM && text != nullptr)
    _exit(write(1, text->data(), text->size()) == static_cast<ssize_t>(text->size()) ? watchdog_code
                                                                                     : 1);
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

Watchdog::Watchdog(double seconds, int code) {
  watchdog_code = code;
  say("");
  set_alarm(seconds);
}

// The signal's handler may be printing the text before this one: texts take turns, and live as long
// as the program.
void Watchdog::say(const std::string& text) {
  static auto& texts = *new std::array<std::string, 16>;
  static std::size_t last = 0;
  last = (last + 1) % texts.size();
  texts[last] = text;
  watchdog_text = &texts[last];
}

void Watchdog::end() {
  set_alarm(0);
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
