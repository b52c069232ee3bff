#include "aot/decide/boxes/box_worker.h"

#include <algorithm>
#include <string>
#include <vector>

#include "aot/decide/boxes/box_node.h"
#include "aot/decide/boxes/row_bounds.h"
#include "aot/engine/run/watch.h"
#include "frontend/diagnostic.h"
#include "planner/entries/keep_coefficients.h"
#include "runtime/bf/search/branch_and_bound.h"

namespace bf_aot::decide {
namespace {

// A property's tables as the runtime takes them. Shares storage with the question.
class Tables {
 public:
  explicit Tables(const BoxQuestion& question) {
    for (const VerdictCondition& term : question.tables.terms)
      terms_.push_back({term.row, term.at_least, term.threshold});
    all_ = {static_cast<std::int32_t>(question.plan.input_count),
            static_cast<std::int32_t>(std::max(question.plan.spec_rows, 1)),
            static_cast<std::int32_t>(question.tables.case_clauses.size() - 1),
            question.boxes.lower.data(),
            question.boxes.upper.data(),
            question.boxes.inside.data(),
            question.tables.case_clauses.data(),
            question.tables.clause_terms.data(),
            terms_.data()};
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  const bf::PropertyTables& all() const { return all_; }

 private:
  std::vector<bf::VerdictTerm> terms_;
  bf::PropertyTables all_;
};

// Asks a worker whether calls of its device go on.
class DeviceWatch final : public engine::Watch {
 public:
  explicit DeviceWatch(const tree::TreeWorker& worker) : worker_(worker) {}

 private:
  bool ask(const engine::Place& /*place*/) noexcept override { return worker_.goes_on(); }

  const tree::TreeWorker& worker_;
};

// Runs the runtime's branch and bound a round at a time. Its stack holds what becomes of one box,
// or the box that points begin at.
class BoxWorker final : public tree::TreeWorker {
 public:
  BoxWorker(const BoxQuestion& question, const engine::HostVerifier& verifier, std::size_t thread,
            AwaitedDevice* device)
      : question_(question),
        tables_(question),
        verifier_(verifier),
        keeps_(keeps_coefficients(question.plan)),
        awaited_(device) {
    const Plan& plan = question.plan;
    b_.property = &tables_.all();
    b_.inputs = static_cast<std::size_t>(b_.property->inputs);
    b_.rows = static_cast<std::size_t>(b_.property->rows);
    b_.split_weights = plan.split_weights.empty() ? nullptr : plan.split_weights.data();
    everything_.assign(2 * b_.inputs, __builtin_inff());
    std::fill_n(everything_.begin(), b_.inputs, -__builtin_inff());
    b_.whole_lower = everything_.data();
    b_.whole_upper = everything_.data() + b_.inputs;
    make_room(together(), keeps_);
    take_device();
    // Each thread has another sequence of points; the seed is never 0.
    first_random_ = 0x9e3779b9u ^ (static_cast<std::uint32_t>(thread) * 0x85ebca6bu & 0x7fffffffu);
    point_.resize(b_.inputs);
    b_.found.counterexample = point_.data();
  }

  std::size_t lanes() const override { return b_.batch; }

  void expand(std::span<const tree::Node> nodes, std::vector<tree::Expansion>& out) override {
    if (nodes[0].root != root_) begin_case(nodes[0].root);
    std::size_t count = 0;
    places_.clear();
    for (const tree::Node& node : nodes) {
      read_box(node, b_.inputs, round_lower(count).data(), round_upper(count).data());
      if (!clip_to_ball(node.root, count)) {
        places_.push_back(std::nullopt);
        continue;
      }
      b_.round_cases[count] = node.root;
      places_.push_back(count++);
    }
    if (count > 0)
      expect_ok(device_ != nullptr ? bound_on_device(count)
                                   : bound(count, b_.round_lower, b_.round_upper, b_.row_lower,
                                           b_.row_upper, b_.coefficients, b_.statuses));
    b_.search.boxes += nodes.size();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      out.push_back(places_[i] ? judged(*places_[i], nodes[i].depth) : closed());
  }

  // Tries four points for each box of the case that was bounded until there are 64, then one for 8
  // boxes, and at once where one is all but known to violate: a point may take as long as a box. A
  // device bounds several boxes meanwhile.
  std::optional<tree::Proposal> try_points(const tree::OpenNodes& open) override {
    take_device();
    const bf::PointSearch& points = b_.points;
    constexpr std::uint64_t kPointsPerBox = 4;
    constexpr std::uint64_t kMoreOfDevice = 8;
    const std::uint64_t boxes = b_.search.boxes;
    const std::uint64_t for_point = bf::kBoxesPerPoint * (device_ != nullptr ? kMoreOfDevice : 1);
    const std::uint64_t due = std::min(bf::kFirstPoints, kPointsPerBox * boxes) + boxes / for_point;
    while (points.urgent || points.spent < due) {
      if (!points.urgent && !place_start(open)) break;
      b_.found.verdict = BF_UNKNOWN;
      expect_ok(
          bf::try_points(b_, [this](auto... arguments) { return bound_points(arguments...); }));
      if (b_.found.verdict != BF_FALSIFIED) continue;
      b_.points.step = 0;  // so that the next run begins elsewhere, should this point be no proof
      return tree::Proposal{b_.found.property_case, {point_.begin(), point_.end()}};
    }
    return std::nullopt;
  }

  std::uint64_t points() const override { return points_before_ + b_.search.points; }

 private:
  // Makes room for rounds of so many boxes; kept: their rows have lines. A run of points goes on.
  void make_room(std::size_t boxes, bool kept) {
    const std::unique_ptr<float[]> before = std::move(memory_);
    const bf::PointSearch points = b_.points;
    b_.batch = boxes;
    b_.kept = kept;
    const std::size_t bytes =
        bf::round_bytes(b_.inputs, b_.rows, b_.batch, b_.kept) + 2 * bf::open_box_bytes(b_.inputs);
    memory_ = std::make_unique<float[]>(bytes / sizeof(float));
    BF_CHECK(share_out(b_, memory_.get(), bytes));
    if (before == nullptr) return;
    std::copy_n(points.point, b_.inputs, b_.points.point);
    std::copy_n(points.lower, b_.inputs, b_.points.lower);
    std::copy_n(points.upper, b_.inputs, b_.points.upper);
  }

  // Has the device bound the rounds that follow, once it is ready.
  void take_device() {
    const BoxDevice* const device =
        awaited_ != nullptr && device_ == nullptr ? awaited_->get() : nullptr;
    if (device == nullptr) return;
    device_ = device->host->twin();
    make_room(device->boxes, keeps_coefficients(*device->plan));
  }

  // Points are tried anew for each case.
  void begin_case(std::uint32_t root) {
    root_ = root;
    points_before_ += b_.search.points;
    b_.search = {};
    b_.points.index = root;
    b_.points.step = 0;
    b_.points.spent = 0;
    b_.points.urgent = false;
    b_.points.random = first_random_;
  }

  bf_status bound(std::size_t count, const float* lower, const float* upper, float* row_lower,
                  float* row_upper, float* coefficients, bf_status* statuses) {
    if (!goes_on()) throw tree::Abandoned();
    if (keeps_)
      return verifier_.spec_coefficients_batch(count, lower, upper, row_lower, row_upper,
                                               coefficients, statuses);
    return verifier_.spec_bounds_batch(count, lower, upper, row_lower, row_upper, statuses);
  }

  // Points may be more than a call of the verifier takes, as a device takes more boxes.
  bf_status bound_points(std::size_t count, const float* lower, const float* upper,
                         float* row_lower, float* row_upper, float* /*coefficients*/,
                         bf_status* statuses) {
    bf_status status = BF_OK;
    for (std::size_t first = 0; first < count && status == BF_OK; first += together()) {
      const std::size_t points = std::min(together(), count - first);
      status = bound(points, lower + first * b_.inputs, upper + first * b_.inputs,
                     row_lower + first * b_.rows, row_upper + first * b_.rows, nullptr,
                     statuses + first);
    }
    return status;
  }

  // The boxes that a call of the verifier takes.
  std::size_t together() const { return static_cast<std::size_t>(question_.plan.config.batch); }

  bf_status bound_on_device(std::size_t count) {
    if (!goes_on()) throw tree::Abandoned();
    DeviceWatch watch(*this);
    device_->ask(&watch);
    awaited_->add_bounded(count);
    try {
      return b_.kept ? device_->spec_coefficients_batch(count, b_.round_lower, b_.round_upper,
                                                        b_.row_lower, b_.row_upper, b_.coefficients,
                                                        b_.statuses)
                     : device_->spec_bounds_batch(count, b_.round_lower, b_.round_upper,
                                                  b_.row_lower, b_.row_upper, b_.statuses);
    } catch (const engine::Stopped&) {
      throw tree::Abandoned();
    }
  }

  // Returns whether this processor's bounds exclude all clauses of box i of the round, where a
  // device's do not.
  bool is_excluded_here(std::size_t i) {
    if (device_ == nullptr) return false;
    float* const row_lower = b_.row_lower + i * b_.rows;
    float* const row_upper = b_.row_upper + i * b_.rows;
    expect_ok(bound(1, b_.round_lower + i * b_.inputs, b_.round_upper + i * b_.inputs, row_lower,
                    row_upper, nullptr, b_.statuses + i));
    const VerdictTables& tables = question_.tables;
    const std::uint32_t index = b_.round_cases[i];
    for (std::uint32_t j = tables.case_clauses[index]; j < tables.case_clauses[index + 1]; ++j)
      if (!is_excluded(tables, j, {{row_lower, b_.rows}, {row_upper, b_.rows}})) return false;
    return true;
  }

  static void expect_ok(bf_status status) {
    if (status != BF_OK)
      fail("BF3306", "spec_bounds_batch",
           std::string("the verifier refused: ") + bf_status_text(status));
  }

  std::span<float> round_lower(std::size_t i) {
    return {b_.round_lower + i * b_.inputs, b_.inputs};
  }
  std::span<float> round_upper(std::size_t i) {
    return {b_.round_upper + i * b_.inputs, b_.inputs};
  }

  // False where nothing of the ball is in box i of the round.
  bool clip_to_ball(std::uint32_t root, std::size_t i) {
    return question_.balls.empty() || question_.balls[root].clip(round_lower(i), round_upper(i));
  }

  // Returns whether a condition of each clause holds nowhere in the ball's part of box i, by rows'
  // bounds and lines.
  bool is_excluded_in_ball(std::size_t i) {
    if (question_.balls.empty() || !b_.kept) return false;
    const VerdictTables& tables = question_.tables;
    const std::uint32_t index = b_.round_cases[i];
    const RowBounds rows = {{b_.row_lower + i * b_.rows, b_.rows},
                            {b_.row_upper + i * b_.rows, b_.rows}};
    const float* const lines = b_.coefficients + i * b_.rows * bf::lines_of_row(b_.inputs);
    const auto never_holds = [&](std::uint32_t t) {
      const bf::VerdictTerm& term = tables_.all().terms[t];
      const float* const line = bf::line_of(term, lines, b_.inputs);
      return question_.balls[index].is_at_least(
          {{line, b_.inputs}, static_cast<double>(line[b_.inputs])}, round_lower(i), round_upper(i),
          bf::limit_of(term));
    };
    for (std::uint32_t j = tables.case_clauses[index]; j < tables.case_clauses[index + 1]; ++j) {
      bool excluded = is_excluded(tables, j, rows);
      for (std::uint32_t t = tables.clause_terms[j]; !excluded && t < tables.clause_terms[j + 1];
           ++t)
        excluded = never_holds(t);
      if (!excluded) return false;
    }
    return true;
  }

  tree::Expansion judged(std::size_t i, std::uint32_t depth) {
    if (is_excluded_in_ball(i)) return closed();
    b_.search.open = 0;
    b_.unsplittable = false;
    judge_box(b_, i);
    if (b_.unsplittable && is_excluded_here(i)) return closed();
    if ((b_.search.open > 0 || b_.unsplittable) && is_excluded_exactly(i, depth)) return closed();
    tree::Expansion made;
    made.fate = b_.search.open > 0 ? tree::Fate::kSplit
                : b_.unsplittable  ? tree::Fate::kStuck
                                   : tree::Fate::kClosed;
    if (made.fate == tree::Fate::kSplit) {
      made.first = half(1);
      made.second = half(0);
    }
    return made;
  }
  static tree::Expansion closed() {
    tree::Expansion made;
    made.fate = tree::Fate::kClosed;
    return made;
  }

  // Boxes that cannot be split are always worth it; of small networks some large boxes are, too,
  // since limits may be met all along an edge, or by sums whose terms are far larger.
  bool is_excluded_exactly(std::size_t i, std::uint32_t depth) const {
    if (question_.exact == nullptr) return false;
    const RowBounds rows = {{b_.row_lower + i * b_.rows, b_.rows},
                            {b_.row_upper + i * b_.rows, b_.rows}};
    const std::uint32_t index = b_.round_cases[i];
    const bool large = question_.exact->is_quick() && (depth == 0 || depth == 3 || depth == 6);
    return (large || b_.unsplittable || is_near_limit(question_.tables, index, rows)) &&
           question_.exact->exclude(index, {b_.round_lower + i * b_.inputs, b_.inputs},
                                    {b_.round_upper + i * b_.inputs, b_.inputs});
  }

  std::vector<std::byte> half(std::size_t at) const {
    return box_state(b_.inputs, b_.lower + at * b_.inputs, b_.upper + at * b_.inputs);
  }

  // Makes the box that the runtime would begin its next run at, of all open ones, the only one of
  // its stack. False when none is open.
  bool place_start(const tree::OpenNodes& open) {
    const std::size_t count = open.size();
    if (count == 0) return false;
    bf::PointSearch ahead = b_.points;
    const std::uint32_t bits = next_random(ahead);
    const auto node = open.at((bits & 1u) != 0 ? count - 1 : (bits >> 1) % count);
    if (!node) return false;
    read_box(*node, b_.inputs, b_.lower, b_.upper);
    b_.clauses[0] = b_.property->case_clauses[node->root];
    b_.search.open = 1;
    return true;
  }

  const BoxQuestion question_;
  const Tables tables_;
  const engine::HostVerifier& verifier_;
  const bool keeps_;                                    // it gives coefficients
  AwaitedDevice* const awaited_;                        // null: there is none
  std::unique_ptr<const engine::HostVerifier> device_;  // bounds nodes; null: the verifier does
  std::uint32_t first_random_ = 0;
  std::optional<std::uint32_t> root_;               // the root whose boxes were bounded last
  std::vector<std::optional<std::size_t>> places_;  // of nodes in the round; none: closed
  std::uint64_t points_before_ = 0;                 // tried while other roots were searched
  std::unique_ptr<float[]> memory_;
  std::vector<float> everything_;  // a box that holds the boxes of all cases
  std::vector<float> point_;
  bf::Branches b_ = {};
};

}  // namespace

std::unique_ptr<tree::TreeWorker> make_box_worker(const BoxQuestion& question,
                                                  const engine::HostVerifier& verifier,
                                                  std::size_t thread, AwaitedDevice* device) {
  return std::make_unique<BoxWorker>(question, verifier, thread, device);
}

}  // namespace bf_aot::decide
