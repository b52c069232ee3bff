#include "aot/engine/jit/jit.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "aot/build/cache.h"
#include "aot/engine/jit/jit_source.h"
#include "aot/system/terminal.h"
#include "frontend/diagnostic.h"
#include "planner/lowering/walk.h"

namespace bf_aot::engine {
namespace {

// Compiling takes a second for each unit: work that has taken this long may go on, and then it
// pays.
constexpr double kWorthSeconds = 1;
// Calls below this share of an entry's time stay as they are.
constexpr double kLeastShare = 0.03;
constexpr std::size_t kMostUnits = 16;
constexpr double kPollSeconds = 0.02;
// Calls of an entry in which compiled code may be faster than the engine's own.
constexpr int kTries = 3;

build::CachedVerifier compiled(const std::string& source, const Target& target,
                               const build::CompilerOptions& compiler) {
  return build::cached_verifier({{".cpp", source}}, target, compiler);
}

}  // namespace

Jit::Jit(build::CompilerOptions compiler, Compile compile)
    : compiler_(std::move(compiler)), compile_(compile ? std::move(compile) : compiled) {}

// Notes go to a terminal; in mode `wait`, where a compiler was asked for, and of failures, which
// leave calls slower than they might be, everywhere.
Jit::~Jit() {
  if (!failure_.empty() && system::verbosity() != system::Verbosity::kQuiet)
    fmt::print(stderr, "note: kernels could not be compiled, calls stay as they are: {}\n",
               failure_);
  if (compiler_.jit != build::JitMode::kWait && !system::shows_progress()) return;
  if (installed_ > 0)
    fmt::print(stderr, "note: {} kernel{} compiled for this network, the last one after {:.1f} s\n",
               installed_, installed_ == 1 ? "" : "s", ready_seconds_);
}

bf_status Jit::call(const engine::Engine& engine, const Signature& signature,
                    const engine::Arguments& arguments, engine::TraceHook hook) {
  if (compiler_.jit == build::JitMode::kOff || hook != nullptr)
    return engine.call(signature, arguments, hook);
  if (work_ != nullptr && since_poll_.seconds() > kPollSeconds) poll(engine);
  const EntryKind entry = engine.entry_of(signature);
  State& state = states_[entry];
  if (state.chosen && !measures(entry, signature.parallel))
    return engine.call(signature, arguments);
  if (!state.chosen && compiler_.jit == build::JitMode::kAuto &&
      (state.seconds < kWorthSeconds || work_ != nullptr)) {
    const system::Stopwatch stopwatch;
    const bf_status status = engine.call(signature, arguments);
    state.seconds += stopwatch.seconds();
    return status;
  }
  engine::Arguments measured = arguments;
  std::vector<double> seconds(engine.calls(entry), 0.0);
  measured.notes.seconds = &seconds;
  // Calls are measured where workers do not share them.
  Signature alone = signature;
  alone.parallel = false;
  const bf_status status = engine.call(alone, measured);
  if (state.chosen) {
    judge(engine, entry, seconds, signature.parallel ? 1 : kTries);
    return status;
  }
  state.chosen = true;
  const std::size_t known = units_.size();
  choose(engine, entry, seconds);
  const system::Stopwatch compiling;
  if (units_.size() > known) compile_from(engine, known);
  waited_seconds_ += compiling.seconds();
  return status;
}

// Makes units of the calls that take most of the entry's time, the longest first.
void Jit::choose(const engine::Engine& engine, EntryKind kind, const std::vector<double>& seconds) {
  const Plan& plan = engine.plan();
  const auto entry = std::ranges::find(plan.entries, kind, &Entry::kind);
  std::map<std::string, std::pair<double, std::vector<Place>>> by_source;
  std::size_t number = 0;
  calls::for_each_call(engine.lowered().program(*entry), [&](const calls::Call& call) {
    const Place place = {kind, number++};
    const double took = seconds.at(place.call);
    if (took == 0) return;
    const std::optional<std::string> source = jit_source(plan, call);
    if (!source) return;
    auto& [all, places] = by_source[*source];
    all += took;
    places.push_back(place);
  });
  BF_CHECK(number == seconds.size());
  const double least = kLeastShare * std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<std::pair<double, Unit>> made;
  for (auto& [source, unit] : by_source)
    if (unit.first >= least)
      made.push_back({unit.first, {source, std::move(unit.second), unit.first, {}, 0}});
  std::ranges::stable_sort(made, std::greater<>(), &std::pair<double, Unit>::first);
  if (made.size() > kMostUnits) made.resize(kMostUnits);
  for (auto& [all, unit] : made) units_.push_back(std::move(unit));
}

void Jit::compile_from(const engine::Engine& engine, std::size_t first) {
  const Target target = engine.plan().config.target;
  if (compiler_.jit == build::JitMode::kWait) {
    for (std::size_t i = first; i < units_.size(); ++i) {
      Unit& unit = units_[i];
      const std::filesystem::path library = compile_(unit.source, target, compiler_).library;
      if (!install(engine, unit, library))
        fail("BF3305", library.string(), "cannot load the kernel that was compiled");
    }
    return;
  }
  if (!build::finds_compiler(compiler_, target)) return;  // nobody asked for one
  const auto work = [&](const system::BackgroundWork::Report& report) {
    for (std::size_t i = first; i < units_.size(); ++i) {
      try {
        const build::CachedVerifier made = compile_(units_[i].source, target, compiler_);
        report(fmt::format("{} {}", i, made.library.string()));
      } catch (const CompileError& error) {  // the others may compile
        report(error.what());
      }
    }
  };
  try {
    work_ = std::make_unique<system::BackgroundWork>(work);
  } catch (const CompileError& error) {  // no process: the calls stay as they are
    failure_ = error.what();
  }
}

void Jit::poll(const engine::Engine& engine) {
  since_poll_ = system::Stopwatch();
  for (const std::string& line : work_->lines()) {
    std::size_t unit = 0;
    const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), unit);
    if (error != std::errc() || *rest != ' ')
      failure_ = line;
    else if (!install(engine, units_.at(unit), rest + 1))
      failure_ = fmt::format("{} cannot be loaded", rest + 1);
  }
  if (work_->ended()) work_.reset();
}

bool Jit::install(const engine::Engine& engine, Unit& unit, const std::filesystem::path& library) {
  try {
    libraries_.push_back(build::open_cached(library));
  } catch (const CompileError&) {
    return false;
  }
  void* const symbol = dlsym(libraries_.back().get(), kJitFunction);
  if (symbol == nullptr) return false;
  for (const Place& place : unit.places)
    unit.own.push_back(
        engine.replace(place.entry, place.call, reinterpret_cast<engine::Thunk>(symbol)));
  ++installed_;
  ready_seconds_ = since_start_.seconds();
  return true;
}

// Calls are measured while their code is tried, and while units wait for it; not the latter where
// workers share calls, which are measured alone.
bool Jit::measures(EntryKind entry, bool shared) const {
  return std::ranges::any_of(units_, [&](const Unit& unit) {
    const bool waits = !shared && unit.own.empty() && unit.tries == 0 && work_ != nullptr;
    return unit.places.front().entry == entry && (waits || !unit.own.empty());
  });
}

void Jit::judge(const engine::Engine& engine, EntryKind entry, const std::vector<double>& seconds,
                int tries) {
  for (Unit& unit : units_) {
    if (unit.places.front().entry != entry) continue;
    double took = 0;
    for (const Place& place : unit.places) took += seconds.at(place.call);
    if (unit.own.empty()) {
      if (unit.tries == 0) unit.seconds = std::min(unit.seconds, took);
      continue;
    }
    ++unit.tries;
    const bool stays = took < unit.seconds;
    if (!stays && unit.tries < tries) continue;
    if (!stays) {
      for (std::size_t i = 0; i < unit.places.size(); ++i)
        engine.replace(entry, unit.places[i].call, unit.own[i]);
      --installed_;
    }
    unit.own.clear();
  }
}

}  // namespace bf_aot::engine
