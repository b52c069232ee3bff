#pragma once

#include <chrono>
#include <utility>

#include "aot/engine/verifier/call_watch.h"
#include "aot/engine/verifier/verifier.h"

namespace bf_aot::engine {

// Ends calls of verifiers by a stop, which is asked on the thread that makes it.
class StoppedCalls {
 public:
  explicit StoppedCalls(system::Stop stop) : watch_(std::move(stop), kPause) {}

  // Lets calls of the verifier throw Stopped after a stop.
  void include(const HostVerifier& verifier) { verifier.ask(&watch_); }

  // Calls the body, which a stopped call ends early. Throws what the body and `stop` throw.
  template <class Body>
  void run(const Body& body) const {
    try {
      body();
    } catch (const Stopped&) {
      watch_.rethrow();
    }
  }

 private:
  static constexpr std::chrono::milliseconds kPause{10};

  CallWatch watch_;
};

}  // namespace bf_aot::engine
