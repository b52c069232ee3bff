#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "aot/apps/measure/bench_measure.h"

namespace bf_aot::apps {

// The question to a peer: the bounds of a model on a box.
struct PeerQuestion {
  std::filesystem::path model;
  const input::FloatBox& box;
  Method method = Method::kCrown;
  double seconds = 1;  // spent on measurements
};

struct PeerTime {
  std::string command;
  std::string name;                 // as the peer names itself; the command when it did not answer
  std::optional<Statistics> times;  // none: it was skipped
  std::string reason;               // why it was skipped
};

// Asks another program the same question: runs COMMAND MODEL BOX.json METHOD SECONDS, whose words
// are separated by spaces. It prints {"name": text, "seconds": [seconds of each call, ..]}, or ends
// with 77, saying on standard error what it needs. Throws: BF3330 when it fails in another way or
// answers with something else; Interrupted.
PeerTime time_peer(const std::string& command, const PeerQuestion& question);

}  // namespace bf_aot::apps
