#pragma once

#include <string>

#include "aot/emit/loop/print/print.h"
#include "aot/emit/loop/program.h"

// Tiny nests.
namespace bf_aot::testing {

// y[o] = sum_i w[i out + o] x[i]; the sum leaves in the epilogue, or to the buffer y.
inline loop::Nest product(std::int64_t out, std::int64_t in, bool to_buffer = false) {
  loop::Expression what;
  what.axes = {{"o", 0, out, false}, {"i", 0, in, true}};
  what.body = {loop::Let{"w", loop::load("weight", loop::axis("i", out) + loop::axis("o"))},
               loop::Let{"x", loop::load("x", loop::axis("i"))}};
  what.sums = {loop::Sum{"sum", loop::local("w") * loop::local("x"), to_buffer ? "y" : "",
                         loop::axis("o"), false}};
  if (!to_buffer) what.epilogue = {loop::Store{"y", loop::axis("o"), loop::local("sum"), {}}};
  return loop::Nest(what);
}

// y[a stride] = 2 x[a stride]
inline loop::Nest doubled(std::int64_t extent, std::int64_t stride = 1) {
  loop::Expression what;
  what.axes = {{"a", 0, extent, false}};
  what.body = {loop::Let{"x", loop::load("x", loop::axis("a", stride))},
               loop::Store{"y", loop::axis("a", stride), loop::local("x") + loop::local("x"), {}}};
  return loop::Nest(what);
}

inline std::string text_of(const loop::Nest& nest) {
  loop::Program program;
  program.add("nest", nest);
  loop::Needs needs;
  return print(program, needs);
}

inline std::string reason(const loop::Nest& nest, const loop::Primitive& primitive) {
  return nest.why_not(primitive).value_or("");
}

inline std::string reason(const loop::Program& program, const loop::ProgramPrimitive& primitive) {
  return program.why_not(primitive).value_or("");
}

}  // namespace bf_aot::testing
