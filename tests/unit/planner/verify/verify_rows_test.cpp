#include <gtest/gtest.h>

#include <cmath>

#include "planner/verify/verify.h"
#include "tests/unit/planner/verify/verify_graph.h"

// Backward rows over a graph: each test breaks one thing and expects verify() to name it.
namespace bf_aot {
namespace {

using namespace bf_aot::testing;

TEST(PlanVerifyRows, CatchesLinksOutOfOrderOrMissing) {
  expect_death([](Plan& p) { std::swap(head_rows(p).links[0], head_rows(p).links[1]); },
               "links\\[i\\].layer == cone\\[i\\]");
  expect_death([](Plan& p) { head_rows(p).links.pop_back(); },
               "links.size\\(\\) == cone.size\\(\\)");
  expect_death([](Plan& p) { head_rows(p).links.push_back(head_rows(p).links.back()); },
               "links.size\\(\\) == cone.size\\(\\)");
}

// The product's tensor is read by the maximum and by the head.
TEST(PlanVerifyRows, CatchesAShareThatReplacesAnother) {
  expect_death([](Plan& p) { link_of(head_rows(p), kMaxLayer).outs[0].add = false; },
               "add == \\(holder");
  expect_death([](Plan& p) { link_of(head_rows(p), kProductLayer).outs[1].add = false; },
               "add == \\(holder");
  expect_death([](Plan& p) { link_of(head_rows(p), kDenseLayer).sum = BufferId::kNone; },
               "add == \\(holder");
}

TEST(PlanVerifyRows, CatchesAFirstShareThatIsAddedToStaleOnes) {
  expect_death([](Plan& p) { head_rows(p).starts[0].add = true; }, "add == \\(holder");
  expect_death([](Plan& p) { link_of(head_rows(p), kProductLayer).outs[0].add = true; },
               "add == \\(holder");
}

TEST(PlanVerifyRows, CatchesAShareInAnotherBuffer) {
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        rows.links[0].outs[0].coefficients = link_of(rows, kProductLayer).outs[0].coefficients;
      },
      "holder\\(tensor\\) == id");
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        link_of(rows, kMaxLayer).coefficients_in = link_of(rows, kProductLayer).coefficients_in;
      },
      "coefficients_in == flow.holder");
}

TEST(PlanVerifyRows, CatchesCoefficientsThatOverwriteOthers) {
  // The factors' would go where those of the dense layer wait for its link.
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        for (BackwardOut& out : link_of(rows, kProductLayer).outs)
          out.coefficients = link_of(rows, kDenseLayer).coefficients_in;
      },
      "is_free\\(id\\)");
  // A dense layer's own result before it is added.
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        link_of(rows, kDenseLayer).coefficients_out = rows.input_coefficients;
      },
      "is_free\\(id\\)");
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        rows.starts[0].coefficients = rows.sums;
      },
      "others_.count\\(id\\) == 0");
}

// Once its link has run, a tensor's buffer may serve another: here the maximum's the dense layer's
// own result, whose buffer was the last to be made.
TEST(PlanVerifyRows, AcceptsBuffersInTurn) {
  Plan plan = graph_plan(Method::kCrown);
  BackwardRows& rows = head_rows(plan);
  std::vector<Buffer>& buffers = plan.entries[0].buffers;
  BufferId& own = link_of(rows, kDenseLayer).coefficients_out;
  ASSERT_EQ(static_cast<std::size_t>(own) + 1, buffers.size());
  const BufferId shared = link_of(rows, kMaxLayer).coefficients_in;
  buffers[static_cast<std::size_t>(shared)].count = buffers.back().count;
  own = shared;
  buffers.pop_back();
  settle(plan);
  verify(plan);
}

TEST(PlanVerifyRows, CatchesMalformedRows) {
  expect_death([](Plan& p) { head_rows(p).starts.pop_back(); },
               "outs.size\\(\\) == layer.terms.size\\(\\)");
  expect_death([](Plan& p) { std::swap(head_rows(p).starts[0], head_rows(p).starts[1]); },
               "outs\\[i\\].term == ");
  expect_death([](Plan& p) { head_rows(p).coefficients = head_rows(p).input_coefficients; },
               "step.coefficients == BufferId::kNone");
  expect_death(
      [](Plan& p) { head_rows(p).input_coefficients = head_rows(p).links[0].coefficients_in; },
      "flow.holder\\(kNetworkInput\\) == step.input_coefficients");
  expect_death([](Plan& p) { head_rows(p).tile = 3; }, "step.tile % 2 == 0");
  expect_death([](Plan& p) { head_rows(p).wide = true; }, "kernel.wide == step.wide");
  expect_death([](Plan& p) { head_rows(p).unstable_only = true; },
               "domain.unstable_only == step.unstable_only");
  expect_death([](Plan& p) { p.domains[kHead].domain = Domain::kInterval; },
               "domain.domain == Domain::kBackward");
  expect_death([](Plan& p) { link_of(head_rows(p), kMaxLayer).choice = BufferId::kNone; },
               "max == \\(link.choice");
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        std::swap(link_of(rows, kMaxLayer).table, link_of(rows, kProductLayer).table);
      },
      "which holds something else|holds 6 float32");
  expect_death(
      [](Plan& p) {
        BackwardRows& rows = head_rows(p);
        rows.starts[0].kernel = link_of(rows, kMaxLayer).outs[0].kernel;
      },
      "kernel.kind == kind");
  expect_death(
      [](Plan& p) {
        BackwardLink& link = link_of(head_rows(p), kSumLayer);
        link.coefficients_out = head_rows(p).input_coefficients;
      },
      "link.coefficients_out == BufferId::kNone");
}

TEST(PlanVerifyRows, CatchesCoefficientsTooSmallForTheirTensor) {
  expect_death(
      [](Plan& p) {
        const BufferId id = link_of(head_rows(p), kSumLayer).coefficients_in;
        --p.entries[0].buffers[static_cast<std::size_t>(id)].count;
      },
      "holds 15 float32, not 16");
}

}  // namespace
}  // namespace bf_aot
