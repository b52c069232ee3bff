#pragma once

namespace bf_aot::system {

// SIGINT, SIGTERM or SIGHUP arrived while something had to be cleaned up. Not a CompileError: the
// input is fine. Caught in main(), which exits with 128 + signal.
struct Interrupted {
  int signal = 0;
};

// Signals end the program: at once where nothing has to be removed, else at the next call of
// throw_if_interrupted(). A child process that runs is ended in both cases.
void install_interrupt_handlers();

void throw_if_interrupted();
bool is_interrupted();  // whether that would throw

// After so many seconds the program ends as if by a signal, but prints `text` on standard output
// and exits with `code`; Interrupted has signal SIGALRM. 0 seconds: never. `text` must stay as long
// as the program.
void set_deadline(double seconds, const char* text, int code);
// Another text for the same deadline. The one before must stay for a while: it may be printed.
void set_deadline_text(const char* text);

// While one lives, signals do not end the program at once.
class CleanupPending {
 public:
  CleanupPending();
  ~CleanupPending();
  CleanupPending(const CleanupPending&) = delete;
  CleanupPending& operator=(const CleanupPending&) = delete;
};

// While one lives, throw_if_interrupted() does not throw: what must be kept is written first.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;
};

// The process group that a signal also ends; 0: none.
void set_child_group(int group);

// Blocks the three signals while it lives.
class SignalBlock {
 public:
  SignalBlock();
  ~SignalBlock();
  SignalBlock(const SignalBlock&) = delete;
  SignalBlock& operator=(const SignalBlock&) = delete;
};

// In a child before exec: default handlers, nothing blocked. Async-signal-safe.
void reset_signals();

}  // namespace bf_aot::system
