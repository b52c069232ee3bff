#include "aot/cli/mpi/mpi_company.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "aot/decide/parts/tree_file.h"
#include "aot/system/interrupt.h"
#include "frontend/diagnostic.h"

namespace bf_aot::cli {
namespace {

// Nodes of an answer: largest subtrees first, so few are enough.
constexpr std::size_t kMostNodes = 64;
// Seconds between two questions for nodes, and between two messages with leaves.
constexpr double kAskSeconds = 0.001;
constexpr double kLeavesSeconds = 0.02;
constexpr std::chrono::milliseconds kTestTime(1);
// Bytes of a message: MPI counts in int.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::string text_of(std::vector<decide::tree::Node> nodes, std::size_t roots) {
  decide::tree::TreeState state;
  state.roots.resize(roots);
  state.open = std::move(nodes);
  return decide::to_text(state);
}

std::string text_of(const std::vector<decide::tree::RootLeaves>& leaves) {
  decide::tree::TreeState state;
  state.roots = leaves;
  return decide::to_text(state);
}

// Hexadecimal numbers are exact.
std::string text_of(const decide::tree::Proposal& proposal) {
  std::string text = std::to_string(proposal.root);
  char number[64];
  for (const double x : proposal.x) {
    std::snprintf(number, sizeof number, " %a", x);
    text += number;
  }
  return text;
}

decide::tree::Proposal proposal_of(const std::string& text) {
  decide::tree::Proposal proposal;
  char* next = nullptr;
  proposal.root = static_cast<std::uint32_t>(std::strtoul(text.c_str(), &next, 10));
  while (*next == ' ') proposal.x.push_back(std::strtod(next, &next));
  return proposal;
}

void add(const std::vector<decide::tree::RootLeaves>& more,
         std::vector<decide::tree::RootLeaves>& sums) {
  BF_CHECK(more.size() == sums.size());
  for (std::size_t root = 0; root < more.size(); ++root) {
    sums[root].closed.add(more[root].closed);
    sums[root].stuck.add(more[root].stuck);
  }
}

}  // namespace

MpiCompany::MpiCompany() {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  next_ = static_cast<unsigned>(rank_);
}

bool MpiCompany::is_so_for_all(bool here) {
  const int own = here ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

void MpiCompany::begin(decide::tree::TreeState& state, const std::string& identity) {
  std::string first = identity;
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  if (first != identity)
    fail("BF3018", "MPI", "ranks 0 and this one do not bound alike, so nodes mean something else",
         "run on machines of one kind, or with --target of the oldest");
  const std::size_t roots = state.roots.size();
  if (!is_first()) {
    state = {};
    state.roots.resize(roots);
  }
  leaves_ = state.roots;
  over_ = false;
}

// Synchronous: it is sent when it is being received, see drain().
void MpiCompany::send(int to, Tag tag, std::string text) {
  Sending& sending = sendings_.emplace_back();
  sending.text = std::move(text);
  MPI_Issend(sending.text.data(), static_cast<int>(sending.text.size()), MPI_BYTE, to, tag,
             MPI_COMM_WORLD, &sending.request);
}

bool MpiCompany::receive(Received& received) {
  int there = 0, size = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return false;
  MPI_Get_count(&status, MPI_BYTE, &size);
  received.from = status.MPI_SOURCE;
  received.tag = static_cast<Tag>(status.MPI_TAG);
  received.text.resize(static_cast<std::size_t>(size));
  MPI_Recv(received.text.data(), size, MPI_BYTE, received.from, received.tag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return true;
}

std::optional<std::uint32_t> MpiCompany::agree(std::optional<std::uint32_t> root) {
  std::int64_t answer = root ? std::int64_t{*root} : -1;
  MPI_Bcast(&answer, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  return answer < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(answer));
}

bool MpiCompany::share(decide::tree::SharedNodes& nodes, std::uint32_t root, const Proof& prove,
                       bool ask_for_end) {
  receive_all(nodes, prove);
  note_leaves(nodes);
  is_sent();
  if (over_) return true;
  if (is_first() && (ask_for_end || all_are_leaves(root))) return end();
  if (size_ > 1 && nodes.is_idle()) ask_for_nodes();
  return false;
}

void MpiCompany::receive_all(decide::tree::SharedNodes& nodes, const Proof& prove) {
  Received received;
  while (!over_ && receive(received)) {
    switch (received.tag) {
      case kAsk:
        send(received.from, kNodes, text_of(nodes.take(kMostNodes), leaves_.size()));
        break;
      case kNodes:
        asked_ = false;
        nodes.give(decide::parse_tree_state(received.text, "a message").open);
        break;
      case kLeaves:
        add(decide::parse_tree_state(received.text, "a message").roots, leaves_);
        break;
      case kFound:
        prove(proposal_of(received.text));
        break;
      case kEnd:
        over_ = true;
        break;
    }
  }
}

void MpiCompany::note_leaves(decide::tree::SharedNodes& nodes) {
  const std::vector<decide::tree::RootLeaves> fresh = nodes.leaves();
  add(fresh, leaves_);
  if (is_first()) return;
  for (const decide::tree::RootLeaves& root : fresh)
    has_leaves_ = has_leaves_ || !root.closed.is_zero() || !root.stuck.is_zero();
  if (!has_leaves_ || (stopwatch_.seconds() < next_leaves_ && !nodes.is_idle())) return;
  next_leaves_ = stopwatch_.seconds() + kLeavesSeconds;
  send(0, kLeaves, text_of(leaves_));
  leaves_.assign(leaves_.size(), {});
  has_leaves_ = false;
}

void MpiCompany::ask_for_nodes() {
  if (asked_ || stopwatch_.seconds() < next_ask_) return;
  next_ = next_ * 1664525u + 1013904223u;
  const int other = static_cast<int>((next_ >> 8) % static_cast<unsigned>(size_ - 1));
  send(other < rank_ ? other : other + 1, kAsk, {});
  asked_ = true;
  next_ask_ = stopwatch_.seconds() + kAskSeconds;
}

bool MpiCompany::all_are_leaves(std::uint32_t root) const {
  decide::tree::KraftSum sum = leaves_[root].closed;
  sum.add(leaves_[root].stuck);
  return sum.is_one();
}

bool MpiCompany::end() {
  over_ = true;
  for (int rank = 1; rank < size_; ++rank) send(rank, kEnd, {});
  return true;
}

void MpiCompany::tell(const decide::tree::Proposal& proposal) {
  if (!is_first()) send(0, kFound, text_of(proposal));
}

bool MpiCompany::is_sent() {
  std::erase_if(sendings_, [](Sending& sending) {
    int done = 0;
    MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  return sendings_.empty();
}

// Receives until no message is under way. A rank comes to the barrier when what it sent is being
// received and what it asked for has come, so that behind the barrier nobody waits for anything.
void MpiCompany::drain(decide::tree::TreeState& state, const Proof& prove) {
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool waits = false;
  Received received;
  for (int done = 0; done == 0;) {
    while (receive(received)) {
      if (received.tag == kFound) prove(proposal_of(received.text));
      if (received.tag == kAsk) send(received.from, kNodes, text_of({}, leaves_.size()));
      if (received.tag != kNodes) continue;  // leaves are gathered; an end has come
      asked_ = false;
      for (decide::tree::Node& node : decide::parse_tree_state(received.text, "a message").open)
        state.open.push_back(std::move(node));
    }
    if (is_sent() && !asked_ && !waits) {
      MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
      waits = true;
    }
    if (waits) MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
  }
  while (!is_sent()) {
  }
}

decide::tree::TreeState MpiCompany::gather(decide::tree::TreeState& state, const Proof& prove) {
  drain(state, prove);
  const std::string text = decide::to_text(state);
  const int size = static_cast<int>(text.size());
  std::vector<int> sizes(static_cast<std::size_t>(size_)), places(sizes.size());
  MPI_Gather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::size_t all = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    places[i] = static_cast<int>(all);
    all += static_cast<std::size_t>(sizes[i]);
  }
  std::string texts(is_first() ? all : 0, '\0');
  MPI_Gatherv(text.data(), size, MPI_BYTE, texts.data(), sizes.data(), places.data(), MPI_BYTE, 0,
              MPI_COMM_WORLD);
  decide::tree::TreeState whole;
  whole.roots.resize(state.roots.size());
  for (std::size_t i = 0; is_first() && i < sizes.size(); ++i) {
    const std::size_t place = static_cast<std::size_t>(places[i]);
    decide::tree::TreeState of = decide::parse_tree_state(
        texts.substr(place, static_cast<std::size_t>(sizes[i])), "a message");
    add(of.roots, whole.roots);
    whole.open.insert(whole.open.end(), of.open.begin(), of.open.end());
    whole.nodes += of.nodes;
    whole.points += of.points;
  }
  BF_CHECK(!is_first() || decide::tree::is_whole(whole));
  leaves_ = is_first() ? whole.roots : std::vector<decide::tree::RootLeaves>(state.roots.size());
  has_leaves_ = false;
  over_ = false;
  return whole;
}

decide::TreeCompany::Place MpiCompany::place() const {
  return {static_cast<std::size_t>(rank_), static_cast<std::size_t>(size_)};
}

namespace {

// Receives a part of a text without keeping a processor busy. Throws: Interrupted.
void receive_or_throw(void* bytes, int count, int rank) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(bytes, count, MPI_BYTE, rank, MpiCompany::kText, MPI_COMM_WORLD, &request);
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    system::throw_if_interrupted();
    std::this_thread::sleep_for(kTestTime);
  }
}

}  // namespace

std::vector<std::string> MpiCompany::collect(const std::string& text) {
  std::vector<std::string> texts = {text};
  // pass(bytes, count) sends or receives a block.
  const auto in_blocks = [](char* bytes, std::size_t size, const auto& pass) {
    for (std::size_t at = 0; at < size; at += kMostBytes)
      pass(bytes + at, static_cast<int>(std::min(kMostBytes, size - at)));
  };
  std::uint64_t size = text.size();
  if (!is_first()) {
    MPI_Send(&size, sizeof size, MPI_BYTE, 0, kText, MPI_COMM_WORLD);
    in_blocks(texts[0].data(), size, [](char* bytes, int count) {
      MPI_Send(bytes, count, MPI_BYTE, 0, kText, MPI_COMM_WORLD);
    });
    return {};
  }
  for (int rank = 1; rank < size_; ++rank) {
    receive_or_throw(&size, sizeof size, rank);
    std::string& other = texts.emplace_back(size, '\0');
    in_blocks(other.data(), size,
              [&](char* bytes, int count) { receive_or_throw(bytes, count, rank); });
  }
  return texts;
}

void MpiCompany::abandon(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

}  // namespace bf_aot::cli
