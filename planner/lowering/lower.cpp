#include "planner/lowering/lower.h"

#include <algorithm>

#include "frontend/diagnostic.h"
#include "planner/lowering/lowered.h"
#include "planner/lowering/walk.h"

namespace bf_aot::calls {

Lowering::Lowering(const Plan& plan, const Entry& entry, const std::vector<WeightTable>& tables)
    : plan_(plan), entry_(entry) {
  for (const WeightTable& table : tables) tables_.insert({table.layer, table.term, table.kind});
  for (std::size_t i = 0; i < entry.buffers.size(); ++i) {
    const Buffer& buffer = entry.buffers[i];
    if (buffer.scope != CacheScope::kRun) continue;
    begins_[{buffer.first, buffer.first_op}].push_back(BufferId(i));
    ends_[{buffer.last, buffer.last_op}].push_back(BufferId(i));
  }
}

Argument Lowering::table(LayerId index, int number, TableKind kind) const {
  if (!tables_.contains({index, number, kind})) return Null{};
  return Table{index, number, kind};
}

Argument Lowering::sources(LayerId index, int number) const {
  const auto& view = std::get<GatherMap>(term(index, number).map).view;
  if (view) return *view;
  return table(index, number, TableKind::kSource);
}

void Lowering::call(Callee callee, Arguments arguments) {
  add({Call{callee, {}, std::move(arguments)}});
}

void Lowering::call(Routine routine, std::vector<TemplateArgument> constants, Arguments arguments) {
  add({Call{routine, std::move(constants), std::move(arguments)}});
}

// A worker's own buffers begin and end with its tiles.
void Lowering::begin(int op, bool in_a_round) {
  add_lifetimes(begins_, op, in_a_round);
}

void Lowering::end(int op, bool in_a_round) {
  add_lifetimes(ends_, op, in_a_round);
}

void Lowering::add_lifetimes(const Lifetimes& at, int op, bool in_a_round) {
  const auto found = at.find({step_, op});
  if (found == at.end()) return;
  for (const BufferId id : found->second) {
    const Buffer& buffer = entry_.buffer(id);
    if (lives_in_a_round(buffer) == in_a_round && (in_a_round || !buffer.per_worker))
      add({Lifetime{id}});
  }
}

bool Lowering::lives_in_a_round(const Buffer& buffer) const {
  const int end = op_count(entry_.step(step_)) - 1;
  return buffer.first == step_ && buffer.last == step_ &&
         (buffer.first_op != 0 || buffer.last_op != end);
}

void Lowering::ask() {
  if (!entry_.can_stop || entry_.work.empty()) return;
  add({Ask{entry_.work.at(static_cast<std::size_t>(step_)).operations}});
}

// Rows have lifetimes of their own, for each op of each round, and ask before each tile.
void Lowering::lower_step(int step) {
  step_ = step;
  const Step& what = entry_.step(step);
  const bool rows = std::holds_alternative<BackwardRows>(what);
  if (!rows) ask();
  if (!rows) begin(0);
  std::visit([&](const auto& x) { lower(*this, x); }, what);
  if (!rows) end(0);
}

// A section ends where the steps do that its condition is for.
Program Lowering::run() {
  Program program;
  program.groups = entry_.boxes > 1 && plan_.config.workers == 1;
  const auto when = [&](int step) {
    if (step < entry_.shared_steps) return RunWhen::kUnlessShared;
    return step < entry_.kept_steps ? RunWhen::kUnlessKept : RunWhen::kAlways;
  };
  for (std::size_t t = 0; t < entry_.tasks.size(); ++t) {
    const Task& task = entry_.tasks[t];
    const RunWhen now = when(task.steps.front());
    if (program.sections.empty() || program.sections.back().when != now)
      program.sections.push_back({now, {}});
    TaskCalls made{static_cast<int>(t), {}};
    for (const int step : task.steps) {
      Body body = within([&] { lower_step(step); });
      made.steps.push_back({step, std::move(body)});
    }
    program.sections.back().tasks.push_back(std::move(made));
  }
  return program;
}

Argument at(BufferId buffer, std::int64_t offset) {
  if (buffer == BufferId::kNone) return Null{};
  return Place{buffer, offset};
}

Place at_first(BufferId buffer, std::int64_t factor) {
  return {buffer, 0, Variable::kFirst, factor};
}

Given given(Array array, std::int64_t position) {
  return {array, position};
}

Integer number(std::int64_t value) {
  return {value};
}

Constant exact(double value, Pays pays) {
  return {value, pays, false};
}

Constant rounded_up(double value, Pays pays) {
  return {value, pays, true};
}

void append(Arguments& to, Arguments more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Shape shape_made(const Lowering& l, LayerId index) {
  const std::vector<Term>& terms = l.layer(index).terms;
  const auto conv = std::ranges::find_if(
      terms, [](const Term& term) { return std::holds_alternative<ConvMap>(term.map); });
  BF_CHECK(conv != terms.end());
  return {index, static_cast<int>(conv - terms.begin())};
}

std::vector<Program> programs_of(const Plan& plan, const std::vector<WeightTable>& tables) {
  std::vector<Program> programs;
  for (const Entry& entry : plan.entries) programs.push_back(Lowering(plan, entry, tables).run());
  return programs;
}

}  // namespace bf_aot::calls

namespace bf_aot {

Lowered::Lowered(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)),
      tables_(weight_tables(*plan_)),
      programs_(calls::programs_of(*plan_, tables_)) {}

Lowered::~Lowered() = default;

const calls::Program& Lowered::program(const Entry& entry) const {
  const auto index = static_cast<std::size_t>(&entry - plan_->entries.data());
  BF_CHECK(index < programs_.size());
  return programs_[index];
}

}  // namespace bf_aot
