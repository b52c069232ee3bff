#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "aot/reach/tube/flow.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/import/file/importer.h"

namespace bf_aot::reach {
namespace {
struct Hull : SegmentVisitor {
  std::vector<std::vector<Range>> at, during;
  bool visit(const Segment& s, const std::vector<Form>&) override {
    std::vector<Range> r;
    for (auto& f : s.state) r.push_back(range_of(f));
    (s.from == s.to ? at : during).push_back(r);
    return true;
  }
};
TEST(Try, Loop) {
  const std::string name = getenv("LOOP");
  const std::string dir = "/work/shared/loops/";
  auto json = nlohmann::json::parse(std::ifstream(dir + "problems.json"))[name];
  Loop loop;
  auto c = import_model(dir + name + "_controller.onnx");
  auto p = import_model(dir + name + "_plant.onnx");
  loop.controller = Part{c.graph, c.info, ""};
  loop.plant = Part{p.graph, p.info, ""};
  loop.period = mpq_class(json["period"].get<double>());
  loop.steps = json["steps"];
  loop.initial.lower = json["initial"]["lower"].get<std::vector<double>>();
  loop.initial.upper = json["initial"]["upper"].get<std::vector<double>>();
  auto num = [](const char* n, int d) {
    return getenv(n) ? std::size_t(atoi(getenv(n))) : std::size_t(d);
  };
  if (getenv("EULER")) loop.kind = PlantKind::kEuler;
  auto plan = choose_plan(loop, num("SUB", 0), num("ORDER", 0), num("SYM", 0));
  build::CompileOptions o;
  o.planner.target = find_target(getenv("TARGET") ? getenv("TARGET") : "x86-64-v4");
  o.planner.method = Method::kCrown;
  o.planner.lowering = Lowering::kPrebuilt;
  auto t0 = std::chrono::steady_clock::now();
  auto sec = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  };
  Flow flow(loop, plan, o, {});
  printf("ready %.3f symbols %zu all %zu\n", sec(), plan.symbols, plan.all_symbols);
  std::vector<int> cells(loop.states(), 1);
  if (getenv("CELLS")) {
    std::stringstream s(getenv("CELLS"));
    for (auto& x : cells) s >> x;
  }
  int total = 1;
  for (int x : cells) total *= x;
  Hull all;
  int bad = 0;
  std::string why;
  t0 = std::chrono::steady_clock::now();
  for (int cell = 0; cell < total; ++cell) {
    Box b = loop.initial;
    int z = cell;
    for (size_t i = 0; i < cells.size(); ++i) {
      int k = z % cells[i];
      z /= cells[i];
      double w = (loop.initial.upper[i] - loop.initial.lower[i]) / cells[i];
      b.lower[i] = loop.initial.lower[i] + k * w;
      b.upper[i] = k + 1 == cells[i] ? loop.initial.upper[i] : b.lower[i] + w;
    }
    Hull h;
    auto end = flow.run(b, h);
    if (end) {
      ++bad;
      why = end->reason + " at period " + std::to_string(end->period);
    }
    if (all.at.empty()) {
      all = h;
      continue;
    }
    for (size_t k = 0; k < std::min(all.at.size(), h.at.size()); ++k)
      for (size_t i = 0; i < h.at[k].size(); ++i) all.at[k][i] = hull(all.at[k][i], h.at[k][i]);
  }
  printf("%s cells %d bad %d time %.3f %s\n", name.c_str(), total, bad, sec(), why.c_str());
  // samples
  std::mt19937 g(1);
  size_t n = loop.states(), per = plan.substeps;
  std::vector<std::vector<Range>> s(loop.steps + 1, std::vector<Range>(n, {1e300, -1e300}));
  for (int k = 0; k < (getenv("NOS") ? 0 : 300); ++k) {
    std::vector<double> x(n);
    for (size_t i = 0; i < n; ++i) {
      double r = std::uniform_real_distribution<>(0, 1)(g);
      if (k % 2) r = r < .5 ? 0 : 1;
      x[i] = loop.initial.lower[i] + r * (loop.initial.upper[i] - loop.initial.lower[i]);
    }
    for (size_t t = 0; t <= loop.steps; ++t) {
      for (size_t i = 0; i < n; ++i) s[t][i] = hull(s[t][i], {x[i], x[i]});
      auto u = evaluate(loop.controller->graph, {x})[0];
      auto f = [&](const std::vector<double>& y) { return evaluate(loop.plant.graph, {y, u})[0]; };
      bool euler = loop.kind == PlantKind::kEuler;
      size_t m = euler ? per : 10;
      double h = loop.period.get_d() / m;
      auto add = [&](std::vector<double> a, const std::vector<double>& d, double q) {
        for (size_t i = 0; i < n; ++i) a[i] += q * d[i];
        return a;
      };
      for (size_t j = 0; j < m; ++j) {
        auto k1 = f(x);
        if (euler) {
          x = add(x, k1, h);
          continue;
        }
        auto k2 = f(add(x, k1, h / 2)), k3 = f(add(x, k2, h / 2)), k4 = f(add(x, k3, h));
        for (size_t i = 0; i < n; ++i) x[i] += h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
      }
    }
  }
  for (size_t t : {size_t(1), loop.steps / 2, loop.steps}) {
    if (t * per >= all.at.size()) continue;
    printf(" t%zu:", t);
    for (size_t i = 0; i < n; ++i) {
      auto r = all.at[t * per][i];
      auto q = s[t][i];
      printf(" [%.4g,%.4g]=%.2f%s", r.low, r.high, (r.high - r.low) / (q.high - q.low),
             r.contains(q) ? "" : "!!");
    }
    puts("");
  }
}
}  // namespace
}  // namespace bf_aot::reach
#include "aot/reach/question/question_file.h"
#include "aot/reach/search/reach.h"
namespace bf_aot::reach {
TEST(Try2, Reach) {
  const Question q = make_question(read_question(getenv("Q")));
  ReachSettings s;
  auto num = [](const char* n, int d) {
    return getenv(n) ? std::size_t(atoi(getenv(n))) : std::size_t(d);
  };
  Question q2 = q;
  if (getenv("SUB")) q2.loop.substeps = num("SUB", 0);
  s.order = num("ORDER", 0);
  s.symbols = num("SYM", 0);
  s.seconds = num("SEC", 30);
  s.jobs = num("JOBS", 1);
  s.compile.planner.target = find_target("x86-64-v4");
  s.compile.planner.method = Method::kCrown;
  s.compile.planner.lowering = Lowering::kPrebuilt;
  auto o = reach(q2, s, {});
  const char* names[] = {"verified", "falsified", "unknown", "bounded"};
  printf("%-60s %s %.3f s bounded %zu closed %.4f sub %zu order %zu sym %zu\n", getenv("Q"),
         names[int(o.answer)], o.seconds, size_t(o.cells_bounded), o.closed, o.substeps, o.order,
         o.symbols);
  if (o.obstacle) {
    printf("   obstacle t=[%.4g,%.4g] req %d %s cell", o.obstacle->from.get_d(),
           o.obstacle->to.get_d(), o.obstacle->requirement ? int(*o.obstacle->requirement) : -1,
           o.obstacle->reason.c_str());
    for (size_t i = 0; i < o.obstacle->cell.lower.size(); ++i)
      printf(" %.3g", (o.obstacle->cell.upper[i] - o.obstacle->cell.lower[i]) /
                          (1e-300 + q.loop.initial.upper[i] - q.loop.initial.lower[i]));
    printf(" state");
    for (auto& r : o.obstacle->state) printf(" [%.4g,%.4g]", r.low, r.high);
    puts("");
  }
  if (o.violation) {
    printf("   violated %zu at [%.4g,%.4g]\n", o.violation->requirement, o.violation->from.get_d(),
           o.violation->to.get_d());
  }
  if (!o.tube.empty() && !o.samples.empty()) {
    printf("   end width/range:");
    for (size_t i = 0; i < q.loop.states(); ++i) {
      double lo = 1e300, hi = -1e300;
      for (auto& t : o.samples) {
        lo = std::min(lo, t.back()[i]);
        hi = std::max(hi, t.back()[i]);
      }
      auto r = o.tube.back().state[i];
      printf(" %.2f", (r.high - r.low) / (hi - lo));
    }
    puts("");
  }
}
}  // namespace bf_aot::reach
