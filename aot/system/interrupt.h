#pragma once

#include <string>

namespace bf_aot::system {

// Thrown when SIGINT, SIGTERM or SIGHUP arrived while something had to be cleaned up. It is no
// CompileError, since the input is fine. main() catches it and exits with 128 + signal.
struct Interrupted {
  int signal = 0;
};

// Signals end the program: at once where nothing has to be removed, else at the next call of
// throw_if_interrupted(). A child process that runs is ended in both cases.
void install_interrupt_handlers();

void throw_if_interrupted();
bool is_interrupted();  // whether that would throw

// Ends the program when so many seconds are over, as if by a signal, except that it prints a text
// on standard output and exits with `code`; Interrupted has signal SIGALRM. It is for work that
// asks no Stop. 0 seconds: never. A program has one at a time.
class Watchdog {
 public:
  Watchdog(double seconds, int code);
  ~Watchdog() { end(); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void say(const std::string& text);  // the text from now on
  void end();                         // nothing happens any more
};

// While one lives, signals do not end the program at once, but at the next throw_if_interrupted().
class CleanupPending {
 public:
  CleanupPending();
  ~CleanupPending();
  CleanupPending(const CleanupPending&) = delete;
  CleanupPending& operator=(const CleanupPending&) = delete;
};

// While one lives, throw_if_interrupted() does not throw, so that what must be kept is written
// first.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;
};

// Sets the process group that a signal also ends; 0: none.
void set_child_group(int group);

// Blocks the three signals while it lives.
class SignalBlock {
 public:
  SignalBlock();
  ~SignalBlock();
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
};

// Restores default handlers and blocks nothing, in a child before exec. Async-signal-safe.
void reset_signals();

}  // namespace bf_aot::system
