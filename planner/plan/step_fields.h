#pragma once

#include <concepts>
#include <type_traits>

#include "planner/plan/steps.h"

// The fields of each step by name, in the order of the manifest: visit(name, field, ...) is called
// with all of them, some at a time. An overload for each step, so that a new one cannot be
// forgotten.

namespace bf_aot {

template <typename Type, typename Step>
concept Is = std::same_as<std::remove_const_t<Type>, Step>;

// A kernel that is there where `given`; of `dense`, where that layer is a dense one.
struct KernelField {
  KernelId id = 0;
  bool given = true;
  LayerId dense = kNetworkInput;
};

void visit_fields(auto& visit, Is<BindBox> auto& s) {
  visit("centre", s.centre, "radius", s.radius, "gamma", s.gamma, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<IntervalAffine> auto& s) {
  visit("layer", s.layer, "centre_in", s.centre_in, "radius_in", s.radius_in, "live_in", s.live_in,
        "centre_out", s.centre_out, "radius_out", s.radius_out, "inflate", s.inflate, "magnitude",
        s.magnitude, "absolute", s.absolute, "gamma", s.gamma, "position", s.position, "kernel",
        KernelField{s.kernel});
  if (s.low != BufferId::kNone) visit("low", s.low, "high", s.high);
}

void visit_fields(auto& visit, Is<SumPart> auto& s) {
  visit("centre_in", s.centre_in, "radius_in", s.radius_in, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<IntervalSum> auto& s) {
  visit("layer", s.layer, "parts", s.parts, "centre_out", s.centre_out, "radius_out", s.radius_out,
        "head", s.head, "inflate", s.inflate, "magnitude", s.magnitude, "absolute", s.absolute,
        "gamma", s.gamma, "position", s.position);
}

void visit_fields(auto& visit, Is<IntervalMax> auto& s) {
  visit("layer", s.layer, "groups", s.groups, "centre_in", s.centre_in, "radius_in", s.radius_in,
        "centre_out", s.centre_out, "radius_out", s.radius_out, "inflate", s.inflate, "magnitude",
        s.magnitude, "absolute", s.absolute, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<CentreMagnitudes> auto& s) {
  visit("in", s.in, "out", s.out, "relative", s.relative, "absolute", s.absolute, "pay", s.pay);
}

void visit_fields(auto& visit, Is<CentreAffine> auto& s) {
  visit("layer", s.layer, "centre_in", s.centre_in, "radius_in", s.radius_in, "live_in", s.live_in,
        "centre_out", s.centre_out, "radius_out", s.radius_out, "below", s.below, "above", s.above,
        "slack", s.slack, "row_slack", s.row_slack, "inflate", s.inflate, "centre_relative",
        s.centre_relative, "absolute", s.absolute, "row_norm", s.row_norm, "bias_norm", s.bias_norm,
        "row_bias", s.rows.bias, "row_absolute", s.rows.absolute, "magnitudes", s.magnitudes,
        "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<CentreSum> auto& s) {
  visit("layer", s.layer, "parts", s.parts, "centre_out", s.centre_out, "radius_out", s.radius_out,
        "below", s.below, "above", s.above, "slack", s.slack, "row_slack", s.row_slack, "inflate",
        s.inflate, "centre_relative", s.centre_relative, "absolute", s.absolute, "bias_norm",
        s.bias_norm, "row_bias", s.rows.bias, "row_absolute", s.rows.absolute, "magnitudes",
        s.magnitudes);
}

void visit_fields(auto& visit, Is<Relax> auto& s) {
  visit("layer", s.layer, "centre", s.centre, "below", s.below, "above", s.above, "radius",
        s.radius, "slack", s.slack, "row_slack", s.row_slack, "table", s.table, "slopes", s.slopes,
        "live", s.live, "centre_out", s.centre_out, "radius_out", s.radius_out, "product",
        s.product, "wide_product", s.wide_product, "stored", s.stored, "slope", s.slope, "offset",
        s.offset, "free_offset", s.free_offset, "inflate", s.inflate, "kernel",
        KernelField{s.kernel});
  if (s.kept_position >= 0) visit("kept_position", s.kept_position);
  if (s.keeps_point) visit("keeps_point", s.keeps_point);
}

void visit_fields(auto& visit, Is<BallTerm> auto& s) {
  visit("radius_in", s.radius_in, "reach_in", s.reach_in, "inflate", s.inflate);
}

void visit_fields(auto& visit, Is<MeetBall> auto& s) {
  visit("layer", s.layer, "terms", s.terms, "row_slack", s.row_slack, "half", s.half, "below",
        s.below, "above", s.above, "reach", s.reach);
}

void visit_fields(auto& visit, Is<RelaxProduct> auto& s) {
  visit("layer", s.layer, "centre_x", s.centre_x, "radius_x", s.radius_x, "centre_y", s.centre_y,
        "radius_y", s.radius_y, "table", s.table, "slopes", s.slopes, "slack", s.slack,
        "centre_out", s.centre_out, "radius_out", s.radius_out, "most", s.most, "product",
        s.product, "offset", s.offset, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<RelaxMax> auto& s) {
  visit("layer", s.layer, "centre_in", s.centre_in, "radius_in", s.radius_in, "table", s.table,
        "slopes", s.slopes, "choice", s.choice, "slack", s.slack, "live", s.live, "centre_out",
        s.centre_out, "radius_out", s.radius_out, "product", s.product, "offset", s.offset,
        "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<RelaxLogSoftmax> auto& s) {
  visit("layer", s.layer, "centre_in", s.centre_in, "radius_in", s.radius_in, "table", s.table,
        "slack", s.slack, "centre_out", s.centre_out, "radius_out", s.radius_out, "product",
        s.product, "offset", s.offset, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<RelaxContraction> auto& s) {
  visit("layer", s.layer, "centre_x", s.centre_x, "radius_x", s.radius_x, "centre_y", s.centre_y,
        "radius_y", s.radius_y, "centre_s", s.centre_s, "radius_s", s.radius_s, "table", s.table,
        "slopes", s.slopes, "slack", s.slack, "scratch", s.scratch, "centre_out", s.centre_out,
        "radius_out", s.radius_out, "product", s.product, "offset", s.offset, "kernel",
        KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<StartLines> auto& s) {
  visit("layer", s.layer, "input_radius", s.input_radius, "radius", s.radius, "lines_out",
        s.lines_out, "product", s.product, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<ForwardLines> auto& s) {
  visit("layer", s.layer, "lines_in", s.lines_in, "lines_out", s.lines_out, "kernel",
        KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<LineBounds> auto& s) {
  visit("around", s.around, "inflate", s.inflate, "concretize", s.concretize, "absolute",
        s.absolute);
}

void visit_fields(auto& visit, Is<TightenLines> auto& s) {
  visit("layer", s.layer, "centre", s.centre, "radius", s.radius, "slack", s.slack, "row_slack",
        s.row_slack, "lines", s.lines, "below", s.below, "above", s.above);
  visit_fields(visit, s.bounds);
}

void visit_fields(auto& visit, Is<RelaxLines> auto& s) {
  visit("layer", s.layer, "centre", s.centre, "radius", s.radius, "slack", s.slack, "row_slack",
        s.row_slack, "lines", s.lines, "centre_out", s.centre_out, "radius_out", s.radius_out,
        "lines_out", s.lines_out);
  visit_fields(visit, s.bounds);
  visit("gamma", s.gamma, "gamma_sum", s.gamma_sum, "least", s.least, "kernel",
        KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<ListLive> auto& s) {
  visit("layer", s.layer, "centre", s.centre, "radius", s.radius, "live", s.live);
}

void visit_fields(auto& visit, Is<BackwardOut> auto& s) {
  visit("term", s.term, "coefficients", s.coefficients, "add", s.add, "live", s.live, "spread",
        s.spread, "kernel", KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<BackwardLink> auto& s) {
  visit("layer", s.layer, "table", s.table, "slack", s.slack, "choice", s.choice, "live_out",
        s.live_out, "live_in", s.live_in, "live", s.live, "coefficients_in", s.coefficients_in,
        "coefficients_out", s.coefficients_out, "sum", s.sum, "kernel", KernelField{s.kernel},
        "outs", s.outs, "remake", s.remake);
  if (s.ball.reach != BufferId::kNone)
    visit("reach", s.ball.reach, "centre", s.ball.centre, "below", s.ball.below, "above",
          s.ball.above);
}

// Visits the fields that a link has besides, when its rows choose slopes.
void visit_slope_fields(auto& visit, Is<BackwardLink> auto& s) {
  visit("relaxed", s.relaxed, "relax", KernelField{s.relax, true, s.layer}, "table", s.slopes.table,
        "slope", s.slopes.slope, "mean", s.slopes.mean, "square", s.slopes.square, "values",
        s.values, "forward", s.forward, "step", KernelField{s.step, s.values != BufferId::kNone});
}

// `start` is the kernel of a dense layer's rows, `starts` stands for it in a sum.
void visit_fields(auto& visit, Is<BackwardRows> auto& s) {
  visit("layer", s.layer, "unstable_only", s.unstable_only, "iterations", s.iterations,
        "warm_iterations", s.warm_iterations, "tile", s.tile, "wide", s.wide, "images", s.images,
        "centre", s.centre, "below", s.below, "above", s.above, "row_slack", s.row_slack, "neurons",
        s.neurons, "coefficients", s.coefficients, "live_in", s.live_in, "sums", s.sums, "radius",
        s.radius, "input_radius", s.input_radius, "input_coefficients", s.input_coefficients,
        "input_values", s.input_values, "starts", s.starts, "links", s.links, "concretize_inflate",
        s.concretize_inflate, "underflow", s.underflow, "weight_relative", s.weight_relative,
        "inflate", s.inflate, "start", KernelField{s.start, true, s.layer}, "concretize",
        KernelField{s.concretize}, "last", s.last);
  if (s.gain != BufferId::kNone) visit("gain", s.gain);
  if (s.one_hot_slack > 0) visit("one_hot_slack", s.one_hot_slack);
  if (s.kept_position >= 0) visit("kept_position", s.kept_position);
}

void visit_fields(auto& visit, Is<WriteBounds> auto& s) {
  visit("layer", s.layer, "position", s.position, "centre", s.centre, "below", s.below, "above",
        s.above);
}

void visit_fields(auto& visit, Is<EvaluateAffine> auto& s) {
  visit("layer", s.layer, "in", s.in, "out", s.out, "position", s.position, "kernel",
        KernelField{s.kernel});
}

void visit_fields(auto& visit, Is<WriteValues> auto& s) {
  visit("layer", s.layer, "position", s.position, "centre", s.centre);
}

void visit_fields(auto& visit, Is<MeetAnchor> auto& s) {
  visit("layer", s.layer, "centre", s.centre, "below", s.below, "above", s.above, "low", s.low,
        "high", s.high);
}

void visit_fields(auto& visit, Is<KeepAnchor> auto& s) {
  visit("layer", s.layer, "centre", s.centre, "below", s.below, "above", s.above, "low", s.low,
        "high", s.high);
}

void visit_fields(auto& visit, Is<MeetOutputs> auto& s) {
  visit("low", s.low, "high", s.high);
}

}  // namespace bf_aot
