#include "planner/plan/steps.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <utility>

#include "frontend/functions/function_facts.h"
#include "planner/plan/step_fields.h"
#include "runtime/bf/contract/tables.h"

namespace bf_aot {
namespace {

// ---- access_of: one overload per step, so that a new step cannot be forgotten.

void add(std::vector<BufferId>& list, BufferId id) {
  if (id == BufferId::kNone || std::find(list.begin(), list.end(), id) != list.end()) return;
  list.push_back(id);
}

Access make_access(std::initializer_list<BufferId> reads, std::initializer_list<BufferId> writes) {
  Access access;
  for (BufferId id : reads) add(access.reads, id);
  for (BufferId id : writes) add(access.writes, id);
  return access;
}

Access access(const BindBox& step) {
  return make_access({}, {step.centre, step.radius});
}

Access access(const IntervalAffine& step) {
  return make_access({step.centre_in, step.radius_in, step.live_in},
                     {step.centre_out, step.radius_out, step.low, step.high});
}

void add_reads(const std::vector<SumPart>& parts, Access& access) {
  for (const SumPart& part : parts) {
    add(access.reads, part.centre_in);
    add(access.reads, part.radius_in);
  }
}

Access access(const IntervalSum& step) {
  Access access = make_access({}, {step.centre_out, step.radius_out});
  add_reads(step.parts, access);
  return access;
}

Access access(const IntervalMax& step) {
  return make_access({step.centre_in, step.radius_in}, {step.centre_out, step.radius_out});
}

void add_writes(const std::optional<CentreMagnitudes>& magnitudes, Access& access) {
  if (!magnitudes) return;
  add(access.writes, magnitudes->in);
  add(access.writes, magnitudes->out);
}

Access access(const CentreAffine& step) {
  Access access = make_access(
      {step.centre_in, step.radius_in, step.live_in},
      {step.centre_out, step.radius_out, step.below, step.above, step.slack, step.row_slack});
  add_writes(step.magnitudes, access);
  return access;
}

Access access(const CentreSum& step) {
  Access access = make_access(
      {}, {step.centre_out, step.radius_out, step.below, step.above, step.slack, step.row_slack});
  add_reads(step.parts, access);
  add_writes(step.magnitudes, access);
  return access;
}

// slack[2] is made here, beside the two that CentreAffine left. Boxes alone need neither slack nor
// radius.
Access access(const Relax& step) {
  if (step.table == BufferId::kNone)
    return make_access({step.centre, step.below, step.above}, {step.centre_out, step.radius_out});
  return make_access(
      {step.centre, step.below, step.above, step.radius, step.slack, step.row_slack},
      {step.table, step.slopes, step.live, step.centre_out, step.radius_out, step.slack});
}

Access access(const MeetBall& step) {
  Access access =
      make_access({step.row_slack, step.below, step.above}, {step.half, step.below, step.above});
  for (const BallTerm& term : step.terms) {
    add(access.reads, term.radius_in);
    add(access.reads, term.reach_in);
  }
  add(access.writes, step.reach);
  return access;
}

Access access(const RelaxProduct& step) {
  return make_access({step.centre_x, step.radius_x, step.centre_y, step.radius_y},
                     {step.table, step.slopes, step.slack, step.centre_out, step.radius_out});
}

Access access(const RelaxMax& step) {
  return make_access({step.centre_in, step.radius_in},
                     {step.table, step.slopes, step.choice, step.slack, step.live, step.centre_out,
                      step.radius_out});
}

Access access(const RelaxLogSoftmax& step) {
  return make_access({step.centre_in, step.radius_in},
                     {step.table, step.slack, step.centre_out, step.radius_out});
}

Access access(const RelaxContraction& step) {
  return make_access(
      {step.centre_x, step.radius_x, step.centre_y, step.radius_y, step.centre_s, step.radius_s},
      {step.table, step.slopes, step.slack, step.scratch, step.centre_out, step.radius_out});
}

Access access(const StartLines& step) {
  return make_access({step.input_radius, step.radius}, {step.lines_out});
}

Access access(const ForwardLines& step) {
  return make_access({step.lines_in}, {step.lines_out});
}

Access access(const TightenLines& step) {
  return make_access({step.centre, step.radius, step.slack, step.row_slack, step.lines},
                     {step.below, step.above});
}

Access access(const RelaxLines& step) {
  return make_access({step.centre, step.radius, step.slack, step.row_slack, step.lines},
                     {step.centre_out, step.radius_out, step.lines_out});
}

Access access(const ListLive& step) {
  return make_access({step.centre, step.radius}, {step.live});
}

// Buffers of the steps that a link repeats: those that it reads, and those that it makes itself.
std::vector<std::pair<BufferId, bool>> remade_of(const BackwardLink& link) {
  std::vector<std::pair<BufferId, bool>> used;
  std::set<BufferId> made;
  for (const RepeatedStep& step : link.remake) {
    const Access access = access_of(widened(step));
    for (const BufferId id : access.reads)
      if (!made.contains(id)) used.emplace_back(id, true);
    made.insert(access.writes.begin(), access.writes.end());
  }
  for (const BufferId id : made) used.emplace_back(id, false);
  return used;
}

// The buffers of rows: several of each link.
class RowsAccess {
 public:
  void reads(std::initializer_list<BufferId> ids) {
    for (const BufferId id : ids)
      if (is_new(id, read_)) made.reads.push_back(id);
  }
  void writes(std::initializer_list<BufferId> ids) {
    for (const BufferId id : ids)
      if (is_new(id, written_)) made.writes.push_back(id);
  }

  Access made;  // in the order in which they came first

 private:
  static bool is_new(BufferId id, std::vector<bool>& known) {
    if (id == BufferId::kNone) return false;
    const auto place = static_cast<std::size_t>(id);
    if (place >= known.size()) known.resize(place + 1);
    if (known[place]) return false;
    known[place] = true;
    return true;
  }

  std::vector<bool> read_, written_;
};

// The list of neurons, the coefficients and the sums are scratch: written, then read, inside.
Access access(const BackwardRows& step) {
  RowsAccess access;
  access.reads({step.centre, step.below, step.above, step.row_slack, step.radius, step.input_radius,
                step.live_in});
  access.writes({step.below, step.above, step.neurons, step.coefficients, step.sums, step.gain});
  for (const BackwardOut& out : step.starts) access.writes({out.coefficients});
  for (const BackwardLink& link : step.links) {
    if (link.remake.empty()) access.reads({link.table});
    for (const auto& [id, reads] : remade_of(link))
      reads ? access.reads({id}) : access.writes({id});
    access.reads({link.slack, link.choice, link.live, link.live_out, link.live_in});
    access.reads({link.ball.reach, link.ball.centre, link.ball.below, link.ball.above});
    access.writes({link.coefficients_in, link.coefficients_out, link.sum});
    for (const BackwardOut& out : link.outs) access.writes({out.coefficients});
    access.reads({link.slopes.table});
    access.writes(
        {link.relaxed, link.slopes.slope, link.slopes.mean, link.slopes.square, link.values});
  }
  access.writes({step.input_coefficients, step.input_values});
  return std::move(access.made);
}

Access access(const WriteBounds& step) {
  return make_access({step.centre, step.below, step.above}, {});
}

Access access(const EvaluateAffine& step) {
  return make_access({step.in}, {step.out});
}

Access access(const WriteValues& step) {
  return make_access({step.centre}, {});
}

Access access(const MeetAnchor& step) {
  return make_access({step.centre, step.below, step.above, step.low, step.high},
                     {step.below, step.above});
}

Access access(const KeepAnchor& step) {
  return make_access({step.centre, step.below, step.above}, {step.low, step.high});
}

Access access(const MeetOutputs& step) {
  return make_access({step.low, step.high}, {step.low, step.high});
}

// ---- ops

class Spans {
 public:
  void touch(BufferId id, int first, int last) {
    if (id == BufferId::kNone) return;
    for (BufferSpan& span : list) {
      if (span.id != id) continue;
      span.first = std::min(span.first, first);
      span.last = std::max(span.last, last);
      return;
    }
    list.push_back({id, first, last});
  }

  std::vector<BufferSpan> list;
};

// Rows with slopes of their own go back and forth: what they touch stays from round to round.
int ops(const BackwardRows& step) {
  if (step.iterations > 0) return 1;
  return static_cast<int>(step.links.size()) + 2;
}

template <typename AnyStep>
int ops(const AnyStep&) {
  return 1;
}

void touch_coefficients(const BackwardRows& step, Spans& spans) {
  spans.touch(step.coefficients, 0, 0);
  for (const BackwardOut& out : step.starts) spans.touch(out.coefficients, 0, 0);
  for (int i = 0; i < static_cast<int>(step.links.size()); ++i) {
    const BackwardLink& link = step.links[static_cast<std::size_t>(i)];
    for (const BufferId id : {link.coefficients_in, link.coefficients_out, link.sum})
      spans.touch(id, i + 1, i + 1);
    for (const BackwardOut& out : link.outs) spans.touch(out.coefficients, i + 1, i + 1);
    for (const RepeatedStep& repeated : link.remake)
      for (const BufferId id : access_of(widened(repeated)).writes) spans.touch(id, i + 1, i + 1);
  }
  spans.touch(step.input_coefficients, ops(step) - 1, ops(step) - 1);
}

// ---- in place

// relax() of runtime/bf/core/bounds.h and functions.h, and relax_box() of terms.h: neuron j's
// centre, below, above and radius are read, then its table, and last its centre_out and radius_out
// are written. Nothing is read of j afterwards. relax_slopes() follows, and reads them all again.
std::vector<InPlace> in_place(const Relax& step) {
  if (step.slopes != BufferId::kNone) return {};
  const BufferId spread = step.table == BufferId::kNone ? step.below : step.radius;
  return {{step.centre, step.centre_out}, {spread, step.radius_out}};
}

// relax_lines() and tighten_lines() of runtime/bf/dense/lines.h: as relax().
std::vector<InPlace> in_place(const RelaxLines& step) {
  return {{step.centre, step.centre_out}, {step.radius, step.radius_out}};
}
std::vector<InPlace> in_place(const TightenLines& step) {
  return {{step.radius, step.below}};
}

// interval_around() or interval_of_neurons() of runtime/bf/core/bounds.h, the last routine of both
// steps, reads radius j, then writes below j and above j, which are equal.
template <typename Centre>
std::vector<InPlace> around_centre(const Centre& step) {
  if (step.below == BufferId::kNone) return {};
  return {{step.below, step.above, true}, {step.radius_out, step.below}};
}
std::vector<InPlace> in_place(const CentreAffine& step) {
  return around_centre(step);
}
std::vector<InPlace> in_place(const CentreSum& step) {
  return around_centre(step);
}

// The others read their inputs more than once, or not in order.
template <typename AnyStep>
std::vector<InPlace> in_place(const AnyStep&) {
  return {};
}

// ---- other names

class Renaming {
 public:
  explicit Renaming(const std::vector<BufferId>& to) : to_(to) {}

  template <typename Field, typename... Rest>
  void operator()(const char*, Field&& field, Rest&&... rest) const {
    rename(field);
    if constexpr (sizeof...(rest) > 0) (*this)(rest...);
  }

 private:
  void rename(BufferId& id) const {
    if (id != BufferId::kNone) id = to_.at(static_cast<std::size_t>(id));
  }
  void rename(std::optional<CentreMagnitudes>& magnitudes) const {
    if (magnitudes) visit_fields(*this, *magnitudes);
  }
  template <typename Part>
  void rename(std::vector<Part>& parts) const {
    for (Part& part : parts) visit_fields(*this, part);
  }
  void rename(std::vector<BackwardLink>& links) const {
    for (BackwardLink& link : links) {
      visit_fields(*this, link);
      visit_slope_fields(*this, link);
    }
  }
  void rename(std::vector<RepeatedStep>& steps) const {
    for (RepeatedStep& step : steps) std::visit([&](auto& s) { visit_fields(*this, s); }, step);
  }
  // Fields without buffers.
  void rename(std::vector<RowImage>&) const {}
  void rename(std::vector<KernelId>&) const {}
  void rename(std::optional<GroupView>&) const {}
  void rename(const KernelField&) const {}
  void rename(LayerId) const {}
  void rename(double) const {}

  const std::vector<BufferId>& to_;
};

}  // namespace

bool has_choices(const Layer& layer) {
  return layer.relu || layer.function.has_value() || layer.kind == LayerKind::kProduct ||
         layer.kind == LayerKind::kContraction || layer.kind == LayerKind::kMax;
}

std::int64_t choice_count(const Layer& layer) {
  return layer.kind == LayerKind::kMax ? max_candidates(layer) : layer.out;
}

std::int64_t choice_floats(const Layer& layer) {
  if (layer.kind == LayerKind::kProduct)  // offsets, and both factors' radii
    return std::int64_t{4} * layer.out;
  if (layer.kind == LayerKind::kContraction) {
    const ContractionShape& shape = layer.contraction;
    return 2 * shape.outputs() + shape.left() + shape.right();
  }
  if (layer.kind == LayerKind::kMax) return max_candidates(layer);
  const int of_neuron = layer.relu ? bf::kSlopeRows : bf::kKnotRows * bf::kKnots;
  return std::int64_t{of_neuron} * layer.out;
}

const RowImage* find_image(const BackwardRows& step, LayerId tensor) {
  const auto found = std::ranges::find(step.images, tensor, &RowImage::tensor);
  return found == step.images.end() ? nullptr : &*found;
}

Step widened(const RepeatedStep& step) {
  return std::visit([](const auto& s) { return Step(s); }, step);
}

std::optional<LayerId> layer_of(const Step& step) {
  return std::visit(
      [](const auto& s) -> std::optional<LayerId> {
        if constexpr (requires { s.layer; })
          return s.layer;
        else
          return std::nullopt;
      },
      step);
}

std::string_view step_name(const Step& step) {
  return std::visit([](const auto& s) { return s.kName; }, step);
}

Access access_of(const Step& step) {
  return std::visit([](const auto& s) { return access(s); }, step);
}

int op_count(const Step& step) {
  return std::visit([](const auto& s) { return ops(s); }, step);
}

std::vector<BufferSpan> spans_of(const Step& step) {
  Spans spans;
  const auto* rows = std::get_if<BackwardRows>(&step);
  if (rows != nullptr && rows->iterations == 0) touch_coefficients(*rows, spans);
  const std::vector<BufferSpan> coefficients = spans.list;
  const Access access = access_of(step);
  for (const auto& list : {access.reads, access.writes})
    for (const BufferId id : list)
      if (std::ranges::find(coefficients, id, &BufferSpan::id) == coefficients.end())
        spans.touch(id, 0, op_count(step) - 1);
  return spans.list;
}

std::vector<InPlace> in_place_of(const Step& step) {
  return std::visit([](const auto& s) { return in_place(s); }, step);
}

void rename_buffers(Step& step, const std::vector<BufferId>& to) {
  const Renaming renaming(to);
  std::visit([&](auto& s) { visit_fields(renaming, s); }, step);
}

}  // namespace bf_aot
