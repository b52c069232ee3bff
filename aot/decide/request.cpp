#include "aot/decide/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string_view>
#include <utility>

#include "aot/build/compile.h"
#include "aot/build/frontend_result.h"
#include "aot/decide/difference_search.h"
#include "aot/decide/mixes.h"
#include "aot/decide/neurons/device/kernel_device.h"
#include "aot/decide/parts/tree_keeper.h"
#include "aot/decide/search/box_search.h"
#include "aot/decide/search/token_search.h"
#include "aot/engine/device/device.h"
#include "aot/engine/device/device_verifier.h"
#include "aot/engine/device/opening.h"
#include "aot/engine/run/recording.h"
#include "aot/engine/run/watch.h"
#include "aot/engine/verifier/make_verifier.h"
#include "aot/engine/verifier/verifier.h"
#include "aot/system/interrupt.h"
#include "aot/system/process.h"
#include "aot/system/progress.h"
#include "planner/network/ball_norms.h"
#include "planner/plan/plan.h"

namespace bf_aot::decide {
namespace {

constexpr double kEver = 1e6;
// A normal network with more numbers takes more memory than it saves time.
constexpr std::size_t kMostKeptNumbers = std::size_t{1} << 21;

std::size_t numbers_in(const Constant& constant) {
  return constant.data.size() + constant.error.size();
}

// The numbers that the constants of a network hold.
std::size_t stored_numbers(const Graph& graph) {
  std::size_t numbers = 0;
  const auto add = [&numbers](const auto& op) {
    if constexpr (requires { op.weight; }) numbers += numbers_in(op.weight);
    if constexpr (requires { op.value; }) numbers += numbers_in(op.value);
    if constexpr (requires { op.column; }) numbers += op.column.size();
    if constexpr (requires { op.bias; }) numbers += numbers_in(op.bias);
    if constexpr (requires { op.factor; }) numbers += numbers_in(op.factor) + numbers_in(op.offset);
  };
  for (const Node& node : graph.nodes) std::visit(add, node.op);
  return numbers;
}

std::size_t jobs_of(const Request& request) {
  return request.jobs > 0 ? request.jobs : system::core_count();
}

DecisionSettings settings_of(const Request& request, Semantics semantics,
                             const RequestCalls& calls) {
  constexpr double kSearchSeconds = 5, kBranchSeconds = 20;
  DecisionSettings settings;
  settings.method = request.method;
  settings.alpha = request.compile.planner.alpha;
  settings.norm = request.compile.planner.norm;
  settings.search_seconds =
      request.search_seconds.value_or(request.timeout_seconds > 0 ? kEver : kSearchSeconds);
  settings.branch_seconds = request.branch_seconds.value_or(
      request.timeout_seconds > 0 || request.keeps_tree() ? kEver : kBranchSeconds);
  settings.jobs = jobs_of(request);
  if (request.timeout_seconds > 0) settings.bound_seconds = request.timeout_seconds;
  settings.says_why = request.says_why;
  settings.real = semantics == Semantics::kReal;
  settings.tree_only = calls.keeper != nullptr || calls.company != nullptr;
  // Roots are searched by the part, or the process, that begins the tree.
  const bool begins = calls.company == nullptr &&
                      (calls.keeper == nullptr ||
                       (calls.keeper->file().part.index == 0 && !calls.keeper->goes_on()));
  if (!begins) settings.search_seconds = 0;
  return settings;
}

// Makes the verifiers of one decision. A stop ends planning between two passes by engine::Stopped;
// where processes decide together, the end of their time alone, which a signal need not be.
class VerifierMaker {
 public:
  VerifierMaker(const Sampler& network, const ModelInfo& info, const Request& request,
                const RequestCalls& calls, build::CompileOptions options)
      : network_(network),
        info_(info),
        request_(request),
        calls_(calls),
        options_(std::move(options)),
        device_(std::exchange(options_.device, {})) {
    const auto ask = [stop = calls.stop, together = calls.company != nullptr] {
      if (together ? stop.is_late() : stop()) throw engine::Stopped();
    };
    if (options_.planning.norms == nullptr)
      options_.planning.norms = std::make_shared<KnownNorms>();
    options_.after_pass = [ask](std::string_view, const Graph&, double) { ask(); };
    options_.planning.after_pass = [ask](std::string_view, const Plan&, double) { ask(); };
  }

  DecisionVerifier make(const DecisionMethod& asked, const NetworkForm& form) {
    calls_.before_plan(asked);
    set(asked, form);
    const system::Stopwatch planning;
    const auto plan = [this] { return planned(options_); };
    const std::shared_ptr<const Lowered> lowered =
        calls_.plans != nullptr ? calls_.plans->plan(asked, form, plan) : plan();
    engine::MadeVerifier made = engine::make_verifier(lowered, options_, request_.compiler);
    calls_.after_plan(asked, planning.seconds());
    return {lowered->shared_plan(), std::move(made.host)};
  }

  bool has_device() const { return !device_.empty(); }

  // AskNodeDevice of the decision.
  std::shared_ptr<NodeDevice> node_device() {
    const std::scoped_lock lock(asking_);
    const auto begin = [this] {
      return std::make_shared<const engine::OpeningOf<NodeDevice>>(
          [name = build::device_named(device_)] { return std::make_shared<KernelDevice>(name); });
    };
    if (node_device_ == nullptr)
      node_device_ = calls_.plans != nullptr ? calls_.plans->node_device(begin) : begin();
    return node_device_->get();
  }

  // Plans, and has the device opened beside what follows. A tree of several parts or processes
  // waits, since it does not depend on time, and so does what is recorded, by one thread.
  AwaitedDevice::Ask make_device(const DecisionMethod& asked, const NetworkForm& form) {
    calls_.before_plan(asked);
    set(asked, form);
    const system::Stopwatch planning;
    const auto begin = [this] { return opening(); };
    const std::shared_ptr<const engine::OpeningDevice> device =
        calls_.plans != nullptr ? calls_.plans->device(asked, form, begin) : begin();
    if (calls_.keeper != nullptr || calls_.company != nullptr || engine::recording() != nullptr)
      (void)device->wait();
    calls_.after_plan(asked, planning.seconds());
    return [device] { return box_device(device->get()); };
  }

 private:
  std::shared_ptr<const engine::OpeningDevice> opening() {
    build::CompileOptions options = options_;
    options.device = device_;
    const std::shared_ptr<const Lowered> lowered =
        planned(engine::for_named_device(std::move(options)));
    return std::make_shared<const engine::OpeningDevice>(
        [lowered, name = build::device_named(device_)] {
          auto made = std::make_shared<const engine::Device>(lowered, name);
          bound_once(*made);
          return made;
        });
  }

  static std::optional<BoxDevice> box_device(const std::shared_ptr<const engine::Device>& device) {
    if (device == nullptr) return std::nullopt;
    BoxDevice made;
    made.plan = device->shared_plan();
    made.boxes = boxes_together(*made.plan, device->lines(), device->boxes_at_once());
    made.host = std::make_unique<engine::DeviceVerifier>(device);
    return made;
  }

  // Compilers of devices may leave the most of their work to an entry's first call.
  static void bound_once(const engine::Device& device) {
    const std::vector<float> zeros(static_cast<std::size_t>(device.plan().input_count));
    std::vector<float> lower(static_cast<std::size_t>(device.plan().spec_rows)), upper = lower;
    bf_status status = BF_OK;
    device.bound(true, 1, zeros.data(), zeros.data(), lower.data(), upper.data(), &status);
  }

  // Sets the options of plans by a method.
  void set(const DecisionMethod& asked, const NetworkForm& form) {
    options_.planner.method = asked.method;
    options_.planner.alpha = asked.alpha;
    options_.planner.norm = asked.of_boxes ? Norm::kLargest : request_.compile.planner.norm;
    options_.planner.decide = asked.branches;
    // Where boxes are split, each thread bounds boxes of its own.
    options_.planner.workers =
        asked.branches ? 1 : engine::workers_of(request_.compile, jobs_of(request_));
    const int batch = request_.compile.planner.batch;
    options_.planner.batch = asked.branches && batch == 1 ? kBranchBatch : batch;
    options_.max_as_relu = asked.max_as_relu;
    options_.fixed = form.fixed != nullptr ? std::optional(*form.fixed) : std::nullopt;
    options_.ordered = form.ordered;
  }

  std::shared_ptr<const Lowered> planned(const build::CompileOptions& options) {
    const std::string name = options.name.empty() ? "network" : options.name;
    build::FrontendForm form = build::frontend_form(options);
    if (normal_ && normal_->form == form)
      return build::run_planner(normal_->network, name, options);
    normal_.reset();
    build::FrontendResult imported{network_.graph(), info_};
    network_.release();
    build::FrontendResult made = build::run_frontend(std::move(imported), form, options.after_pass);
    auto plan = build::run_planner(made, name, options);
    if (stored_numbers(made.graph) <= kMostKeptNumbers)
      normal_ = Normal{std::move(form), std::move(made)};
    return plan;
  }

  // The network that the last verifier was planned for, and its form: the next one often differs in
  // its method alone.
  struct Normal {
    build::FrontendForm form;
    build::FrontendResult network;
  };

  const Sampler& network_;
  const ModelInfo& info_;
  const Request& request_;
  const RequestCalls& calls_;
  build::CompileOptions options_;  // of this processor
  const std::string device_;
  std::mutex asking_;  // of node_device_
  RowPlans::OpeningNodes node_device_;
  std::optional<Normal> normal_;
};

DecisionCalls decision_calls(VerifierMaker& maker, const RequestCalls& calls) {
  DecisionCalls made;
  made.make_verifier = [&maker](const DecisionMethod& asked, const NetworkForm& form) {
    return maker.make(asked, form);
  };
  if (maker.has_device())
    made.make_device = [&maker](const DecisionMethod& asked, const NetworkForm& form) {
      return maker.make_device(asked, form);
    };
  if (maker.has_device()) made.ask_node_device = [&maker] { return maker.node_device(); };
  made.stop = calls.stop;
  made.progress = calls.progress;
  made.company = calls.company;
  made.range = calls.range;
  if (TreeKeeper* const keeper = calls.keeper) {
    made.begin_tree = [keeper](SplitSearch& search) { keeper->begin(search); };
    made.save_tree = [keeper](const tree::TreeState& state) { keeper->save(state); };
  }
  return made;
}

// Throws: BF3112, BF3340, BF3341.
void check_device(const Request& request, Semantics semantics) {
  const std::string& device = request.compile.device;
  if (device.empty()) return;
  if (request.method && !is_of_devices(*request.method))
    fail("BF3112", fmt::format("--method {}", to_string(*request.method)),
         "devices have no such bounds", "leave --device or --method out");
  if (semantics == Semantics::kFloat32Exact)
    fail("BF3112", "--semantics float32-exact", "devices do not have it", "leave --device out");
  engine::find_device(build::device_named(device));
}

// Throws: BF2117.
void check_norm(const Request& request, const Property& property, const RequestCalls& calls) {
  const Norm norm = request.compile.planner.norm;
  if (norm == Norm::kLargest) return;
  const std::string where = fmt::format("--norm {}", to_string(norm));
  if (calls.keeper != nullptr || calls.company != nullptr)
    fail("BF2117", where, "trees in files and of several processes are of boxes");
  if (!request.proof.file.empty() || !request.proof.folder.empty())
    fail("BF2117", where, "certificates are about boxes", "leave --proof or --norm out");
  if (property.networks.size() > 1)
    fail("BF2117", where, "a query about several networks decides boxes alone");
}

// Throws: BF2117, BF3410.
void check_one_hot(const Property& property, Semantics semantics) {
  if (semantics == Semantics::kFloat32Exact)
    fail("BF2117", "sets of token ids", "semantics float32-exact decides boxes alone",
         "--semantics real or float32");
  if (property.networks.size() > 1)
    fail("BF3410", property.file_name, "sets of token ids are decided for one network");
}

std::string key_of(const DecisionMethod& method, const NetworkForm& form) {
  return fmt::format("{} {} {}", method.name(), method.branches, form.ordered);
}

}  // namespace

std::shared_ptr<const Lowered> RowPlans::plan(const DecisionMethod& method, const NetworkForm& form,
                                              const Make& make) {
  if (form.fixed != nullptr) return make();
  const std::scoped_lock lock(mutex_);
  std::shared_ptr<const Lowered>& kept = plans_[key_of(method, form)];
  if (kept == nullptr) kept = make();
  return kept;
}

RowPlans::Opening RowPlans::device(const DecisionMethod& method, const NetworkForm& form,
                                   const std::function<Opening()>& open) {
  if (form.fixed != nullptr) return open();
  const std::scoped_lock lock(mutex_);
  Opening& kept = devices_[key_of(method, form)];
  if (kept == nullptr) kept = open();
  return kept;
}

RowPlans::OpeningNodes RowPlans::node_device(const std::function<OpeningNodes()>& open) {
  const std::scoped_lock lock(mutex_);
  if (node_device_ == nullptr) node_device_ = open();
  return node_device_;
}

Semantics semantics_of(const build::CompileOptions& options, const Property& property) {
  return is_float32(property) ? Semantics::kFloat32 : options.planner.semantics;
}

std::optional<double> ulps_of(const build::CompileOptions& options, const Property& property) {
  const bool covered = semantics_of(options, property) == Semantics::kFloat32;
  if (!covered || options.planner.flush_to_zero) return std::nullopt;
  return options.float32.libm_ulps;
}

std::optional<Sampler> rounded(const Sampler& network, const ModelInfo& info,
                               const build::CompileOptions& options) {
  if (options.planner.semantics != Semantics::kFloat32) return std::nullopt;
  check_float32(info);
  return Sampler(network.graph(), options.float32);
}

std::unique_ptr<const engine::HostVerifier> make_host(Graph network, const ModelInfo& info,
                                                      const Request& request, Method method,
                                                      std::optional<LinearSpec> spec) {
  build::CompileOptions options = request.compile;
  options.device.clear();
  options.planner.method = method;
  options.planner.workers = engine::workers_of(options, jobs_of(request));
  options.spec = std::move(spec);
  const std::string name = options.name.empty() ? "network" : options.name;
  const std::shared_ptr<const Lowered> lowered = build::run_planner(
      build::run_frontend(build::FrontendResult{std::move(network), info}, options), name, options);
  return std::move(engine::make_verifier(lowered, options, request.compiler).host);
}

Outcome decide_within(double seconds, const Sampler& network, const ModelInfo& info,
                      const Property& property, const Request& request, const RequestCalls& calls) {
  Request own = request;
  own.method = std::nullopt;
  own.timeout_seconds = seconds;
  RequestCalls stopped = calls;
  stopped.stop = calls.stop.within(seconds);
  return decide(network, info, property, own, stopped);
}

Outcome decide(const Sampler& network, const ModelInfo& info, const Property& property,
               const Request& request, const RequestCalls& calls) {
  const system::Stopwatch stopwatch;
  build::CompileOptions options = request.compile;
  options.planner.semantics = semantics_of(options, property);
  const std::optional<Sampler> checked = rounded(network, info, options);
  const DecisionSettings settings = settings_of(request, options.planner.semantics, calls);
  const bool of_tokens = network.graph().one_hot.size > 0;
  check_device(request, options.planner.semantics);
  check_norm(request, property, calls);
  if (of_tokens) check_one_hot(property, options.planner.semantics);
  options.spec =
      to_spec(of_tokens ? property_of_one_hot(property, network.graph()).property : property);
  build::check_derived(*options.spec, network.graph(), options.planner.semantics);
  // The difference network is that of the real networks, and says nothing of their roundings.
  const bool real = options.planner.semantics == Semantics::kReal;
  VerifierMaker maker(network, info, request, calls, std::move(options));
  Outcome outcome;
  try {
    DecisionCalls made = decision_calls(maker, calls);
    if (real && !of_tokens && settings.norm == Norm::kLargest)
      made.make_other_search = [&](const Cases& cases) -> std::unique_ptr<Search> {
        if (property.networks.size() == 2)
          return make_difference_search(network.graph(), info, property, request, cases,
                                        settings.tree_only);
        if (settings.tree_only) return nullptr;
        return make_mix_search(network.graph(), info, property, request);
      };
    outcome = run_decision(checked ? *checked : network, property, settings, made);
  } catch (const system::Interrupted&) {
    if (calls.keeper != nullptr) calls.keeper->finish(std::nullopt);
    throw;
  }
  if (calls.keeper != nullptr) calls.keeper->finish(outcome.witness);
  outcome.seconds = stopwatch.seconds();
  return outcome;
}

}  // namespace bf_aot::decide
