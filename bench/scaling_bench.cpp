// How the time to answer one question falls with the threads that share its work. One thread does
// the work and records the time of each piece that threads may share; a replay adds up what 2, 4, 8
// and 16 threads would take. It leaves out the caches and the memory that threads share, and the
// time to wake them: a limit from below. Numbers of threads behind the seconds are measured beside
// it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "aot/engine/run/recording.h"
#include "aot/library/bf_aot.h"

namespace bf_aot::bench {
namespace {

constexpr std::array<std::size_t, 4> kThreads = {2, 4, 8, 16};

struct Question {
  std::string model, property;
  double timeout = 20;
};

// Ends the program where the library refuses.
template <class T>
T value_of(api::Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}", result.error().text());
  std::exit(1);
}

// Answers the question, prints a line about it, and returns the processor time of this thread.
double answer(const char* how, const Question& question, std::size_t threads) {
  const api::Model model = value_of(api::Model::load(question.model));
  api::VerifyOptions options;
  options.timeout_seconds = question.timeout;
  options.jobs = static_cast<int>(threads);
  const double start = engine::thread_seconds();
  const api::VerifyResult result = value_of(api::verify(model, question.property, options));
  const double took = engine::thread_seconds() - start;
  fmt::print("{}{:9.2f} s  {}, {} nodes, {} boxes\n", how, result.seconds,
             result.stopped ? "timeout" : api::to_string(result.verdict), result.nodes,
             result.boxes);
  return took;
}

// Work of one kind.
struct Line {
  std::string name;
  std::size_t pieces = 0;
  double seconds = 0;                                 // of one thread
  std::array<double, kThreads.size()> replayed = {};  // of so many threads

  void add(std::size_t count, double by_one, const std::function<double(std::size_t)>& replay) {
    pieces += count;
    seconds += by_one;
    for (std::size_t i = 0; i < kThreads.size(); ++i) replayed.at(i) += replay(kThreads.at(i));
  }

  void print() const {
    fmt::print("{:<20}{:>9}{:>9.3f}", name, pieces > 0 ? fmt::to_string(pieces) : "", seconds);
    for (const double each : replayed) fmt::print("{:>9.3f}", each);
    fmt::print("\n");
  }
};

Line line_of(const engine::Recording& recording, engine::RoundKind kind) {
  Line line{engine::name_of(kind)};
  for (const engine::Round& round : recording.rounds)
    if (round.kind == kind)
      line.add(round.pieces.size(), seconds_of(round),
               [&](std::size_t threads) { return replayed_seconds(round, threads); });
  return line;
}

Line line_of_trees(const engine::Recording& recording) {
  Line line{"nodes of trees"};
  for (const std::vector<engine::RecordedNode>& turn : recording.turns) {
    double seconds = 0;
    for (const engine::RecordedNode& node : turn) seconds += seconds_of(node.piece);
    line.add(turn.size(), seconds,
             [&](std::size_t threads) { return replayed_seconds(turn, threads); });
  }
  return line;
}

void print(const engine::Recording& recording, double seconds) {
  std::vector<Line> lines;
  for (std::size_t kind = 0; kind < engine::kRoundKinds; ++kind)
    lines.push_back(line_of(recording, static_cast<engine::RoundKind>(kind)));
  lines.push_back(line_of_trees(recording));
  // A search takes a part of each turn's time, and so as much less as the turn is shorter.
  const double searched = lines.at(static_cast<std::size_t>(engine::RoundKind::kSearch)).seconds;
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(engine::RoundKind::kSearch));
  Line all{"all but the search"}, alone{"by one thread"};
  all.seconds = seconds - searched;
  alone.seconds = all.seconds;
  for (const Line& line : lines) alone.seconds -= line.seconds;
  alone.replayed.fill(alone.seconds);
  lines.push_back(alone);
  fmt::print("\n{:<20}{:>9}{:>9}", "work", "pieces", "s");
  for (const std::size_t threads : kThreads) fmt::print("{:>9}", fmt::format("by {}", threads));
  fmt::print("\n");
  for (const Line& line : lines) {
    line.print();
    for (std::size_t i = 0; i < kThreads.size(); ++i) all.replayed.at(i) += line.replayed.at(i);
  }
  all.print();
  fmt::print("{:<38}", "times as fast");
  for (const double each : all.replayed) fmt::print("{:>9.2f}", all.seconds / each);
  fmt::print("\n");
}

int run(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "Usage: {} MODEL PROPERTY [SECONDS [THREADS...]]\n", argv[0]);
    return 2;
  }
  Question question{argv[1], argv[2]};
  if (argc > 3) question.timeout = std::stod(argv[3]);
  for (int i = 4; i < argc; ++i)
    answer(fmt::format("measured, {:>2} threads", argv[i]).c_str(), question, std::stoul(argv[i]));
  const engine::Recording recording(kThreads.back());
  const double seconds = answer("recorded             ", question, kThreads.back());
  print(recording, seconds);
  return 0;
}

}  // namespace
}  // namespace bf_aot::bench

int main(int argc, char** argv) {
  return bf_aot::bench::run(argc, argv);
}
