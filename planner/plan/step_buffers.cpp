#include <algorithm>
#include <initializer_list>

#include "planner/plan/steps.h"

// The steps' use of their buffers in time: ops, what may be written in place, and renaming.

namespace bf_aot {
namespace {

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

// ---- other names: one overload per step, so that a new step cannot be forgotten

class Renaming {
 public:
  explicit Renaming(const std::vector<BufferId>& to) : to_(to) {}

  void operator()(BindBox& step) const { rename({&step.centre, &step.radius}); }
  void operator()(IntervalAffine& step) const {
    rename({&step.centre_in, &step.radius_in, &step.live_in, &step.centre_out, &step.radius_out,
            &step.low, &step.high});
  }
  void operator()(SumPart& part) const { rename({&part.centre_in, &part.radius_in}); }
  void operator()(IntervalSum& step) const {
    for (SumPart& part : step.parts) (*this)(part);
    rename({&step.centre_out, &step.radius_out});
  }
  void operator()(IntervalMax& step) const {
    rename({&step.centre_in, &step.radius_in, &step.centre_out, &step.radius_out});
  }
  void operator()(CentreAffine& step) const {
    rename({&step.centre_in, &step.radius_in, &step.live_in, &step.centre_out, &step.radius_out,
            &step.below, &step.above, &step.slack});
    (*this)(step.magnitudes);
  }
  void operator()(CentreSum& step) const {
    for (SumPart& part : step.parts) (*this)(part);
    rename({&step.centre_out, &step.radius_out, &step.below, &step.above, &step.slack});
    (*this)(step.magnitudes);
  }
  void operator()(std::optional<CentreMagnitudes>& magnitudes) const {
    if (magnitudes) rename({&magnitudes->in, &magnitudes->out});
  }
  void operator()(Relax& step) const {
    rename({&step.centre, &step.below, &step.above, &step.radius, &step.slack, &step.table,
            &step.slopes, &step.live, &step.centre_out, &step.radius_out});
  }
  void operator()(RelaxProduct& step) const {
    rename({&step.centre_x, &step.radius_x, &step.centre_y, &step.radius_y, &step.table,
            &step.slack, &step.centre_out, &step.radius_out});
  }
  void operator()(RelaxMax& step) const {
    rename({&step.centre_in, &step.radius_in, &step.table, &step.choice, &step.slack, &step.live,
            &step.centre_out, &step.radius_out});
  }
  void operator()(StartLines& step) const {
    rename({&step.input_radius, &step.radius, &step.lines_out});
  }
  void operator()(ForwardLines& step) const { rename({&step.lines_in, &step.lines_out}); }
  void operator()(TightenLines& step) const {
    rename({&step.centre, &step.radius, &step.slack, &step.lines, &step.below, &step.above});
  }
  void operator()(RelaxLines& step) const {
    rename({&step.centre, &step.radius, &step.slack, &step.lines, &step.centre_out,
            &step.radius_out, &step.lines_out});
  }
  void operator()(ListLive& step) const { rename({&step.centre, &step.radius, &step.live}); }
  void operator()(BackwardRows& step) const {
    rename({&step.centre, &step.below, &step.above, &step.slack, &step.neurons, &step.coefficients,
            &step.live_in, &step.sums, &step.radius, &step.input_radius, &step.input_coefficients,
            &step.input_values});
    for (BackwardOut& out : step.starts) rename({&out.coefficients});
    for (BackwardLink& link : step.links) {
      rename({&link.table, &link.slack, &link.choice, &link.live, &link.live_out, &link.live_in,
              &link.coefficients_in, &link.coefficients_out, &link.sum, &link.relaxed,
              &link.slopes.table, &link.slopes.slope, &link.slopes.mean, &link.slopes.square,
              &link.values});
      for (BackwardOut& out : link.outs) rename({&out.coefficients});
      for (RepeatedStep& repeated : link.remake) std::visit(*this, repeated);
    }
    for (BackwardRows& last : step.last) (*this)(last);
  }
  void operator()(WriteBounds& step) const { rename({&step.centre, &step.below, &step.above}); }
  void operator()(EvaluateAffine& step) const { rename({&step.in, &step.out}); }
  void operator()(WriteValues& step) const { rename({&step.centre}); }
  void operator()(MeetAnchor& step) const {
    rename({&step.centre, &step.below, &step.above, &step.low, &step.high});
  }
  void operator()(KeepAnchor& step) const {
    rename({&step.centre, &step.below, &step.above, &step.low, &step.high});
  }
  void operator()(MeetOutputs& step) const { rename({&step.low, &step.high}); }

 private:
  void rename(std::initializer_list<BufferId*> ids) const {
    for (BufferId* id : ids)
      if (*id != BufferId::kNone) *id = to_.at(static_cast<std::size_t>(*id));
  }

  const std::vector<BufferId>& to_;
};

}  // namespace

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
  std::visit(Renaming(to), step);
}

}  // namespace bf_aot
