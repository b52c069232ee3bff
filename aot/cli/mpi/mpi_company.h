#pragma once

#include <mpi.h>

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "aot/decide/search/company.h"
#include "aot/system/progress.h"

namespace bf_aot::cli {

// The processes of MPI_COMM_WORLD; rank 0 is the first. A rank without nodes asks another one,
// which answers with its oldest. All ranks send rank 0 the leaves that they make: a turn is over
// when the leaves of its root, closed and stuck, have the sum 1. So no message has to be counted: a
// node that is under way is no leaf yet. Called on the thread that initialised MPI.
class MpiCompany final : public decide::TreeCompany {
 public:
  MpiCompany();

  bool is_first() const override { return rank_ == 0; }
  bool is_so_for_all(bool here) override;
  void begin(decide::tree::TreeState& state, const std::string& identity) override;
  std::optional<std::uint32_t> agree(std::optional<std::uint32_t> root) override;
  bool share(decide::tree::SharedNodes& nodes, std::uint32_t root, const Proof& prove,
             bool ask_for_end) override;
  void tell(const decide::tree::Proposal& proposal) override;
  decide::tree::TreeState gather(decide::tree::TreeState& state, const Proof& prove) override;
  Place place() const override;
  std::vector<std::string> collect(const std::string& text) override;
  void abandon(int code) override;

  static constexpr int kText = 100;  // the tag of what is collected

 private:
  enum Tag : int { kAsk, kNodes, kLeaves, kFound, kEnd };

  struct Sending {
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Received {
    int from = 0;
    Tag tag = kAsk;
    std::string text;
  };

  void send(int to, Tag tag, std::string text);
  bool receive(Received& received);
  void receive_all(decide::tree::SharedNodes& nodes, const Proof& prove);
  void note_leaves(decide::tree::SharedNodes& nodes);
  void ask_for_nodes();
  bool all_are_leaves(std::uint32_t root) const;
  bool end();
  bool is_sent();
  void drain(decide::tree::TreeState& state, const Proof& prove);

  int rank_ = 0, size_ = 1;
  std::list<Sending> sendings_;
  std::vector<decide::tree::RootLeaves>
      leaves_;               // of all, in the first; elsewhere those not sent yet
  bool has_leaves_ = false;  // there are some of the latter
  bool asked_ = false;       // another rank, which has not answered yet
  bool over_ = false;
  unsigned next_ = 0;  // decides which rank is asked
  system::Stopwatch stopwatch_;
  double next_ask_ = 0, next_leaves_ = 0;  // seconds
};

}  // namespace bf_aot::cli
