#pragma once

#include <type_traits>

#include "planner/plan/program.h"

namespace bf_aot::calls {

// Calls visit(call) for each call of a program, in order; `better` before it comes again but once.
// A visitor that takes them is called for each DefineWindow and DefineRowErrors, too.
template <typename Visit>
void for_each_call(const Body& body, const Visit& visit) {
  struct Walker {
    const Visit& visit;
    void operator()(const Call& call) const { visit(call); }
    void operator()(const Part&) const {}
    void operator()(const Lifetime&) const {}
    void operator()(const Ask&) const {}
    void operator()(const Block& node) const { for_each_call(node.body, visit); }
    void operator()(const WhenInside& node) const { visit(node.call); }
    void operator()(const DefineImage&) const {}
    void operator()(const DefineWindow& node) const {
      if constexpr (std::is_invocable_v<Visit, const DefineWindow&>) visit(node);
    }
    void operator()(const DefineRows& node) const { visit(node.list); }
    void operator()(const DefineRowErrors& node) const {
      if constexpr (std::is_invocable_v<Visit, const DefineRowErrors&>) visit(node);
    }
    void operator()(const Tiles& node) const { for_each_call(node.body, visit); }
    void operator()(const Rounds& node) const { for_each_call(node.body, visit); }
    void operator()(const IfFits& node) const {
      for_each_call(node.fits, visit);
      for_each_call(node.other, visit);
    }
    void operator()(const Clear&) const {}
    void operator()(const ColdStart& node) const { for_each_call(node.body, visit); }
    void operator()(const Iterations& node) const {
      for_each_call(node.rows, visit);
      for_each_call(node.better, visit);
    }
  };
  for (const Node& node : body) std::visit(Walker{visit}, node.what);
}

template <typename Visit>
void for_each_call(const Program& program, const Visit& visit) {
  for (const Section& section : program.sections)
    for (const TaskCalls& task : section.tasks)
      for (const StepCalls& step : task.steps) for_each_call(step.body, visit);
}

}  // namespace bf_aot::calls
