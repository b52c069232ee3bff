#include "tests/soundness/batch.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <stdexcept>

#include "aot/build/compile.h"
#include "aot/build/library.h"
#include "aot/emit/constants/weights.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/system/process.h"
#include "planner/tuning/schedule_space.h"
#include "tests/soundness/random_net.h"

namespace bf_aot::soundness {
namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "bf_soundness_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

PlannerConfig planner_config(Method method, Lowering lowering, const std::string& target) {
  PlannerConfig config;
  config.method = method;
  config.lowering = lowering;
  config.target = find_target(target);
  return config;
}

PlannerConfig with_random_schedules(const Graph& graph, PlannerConfig config, Random& random) {
  config.lowering = Lowering::kVector;
  const Plan rules = bf_aot::plan(graph, ModelInfo{}, "net", false, config);
  config.lowering = Lowering::kTuned;
  for (const Kernel& kernel : rules.kernels) {
    if (!is_tunable(kernel)) continue;
    const std::vector<Schedule> space = legal_schedules(kernel, config.target);
    TunedSchedule tuned;
    tuned.key = kernel.key;
    tuned.target = config.target.name;
    tuned.schedule = space[random() % space.size()];
    config.tuned.push_back(tuned);
  }
  std::ranges::sort(config.tuned, {}, &TunedSchedule::key);
  return config;
}

namespace {

ModelInfo model_info(const Graph& graph) {
  ModelInfo info;
  info.file_name = graph.name;
  info.sha256 = std::string(64, '0');
  info.opset = 17;
  return info;
}

}  // namespace

Arena::Arena(std::size_t bytes, std::size_t align)
    : bytes_(bytes + align + 2 * kGuardBytes, kGuard), count_(bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data() + kGuardBytes);
  begin_ = kGuardBytes + (align - address % align) % align;
}

void Arena::fill(unsigned char byte) {
  std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin_), count_, byte);
}

bool Arena::guards_intact() const {
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    if ((i < begin_ || i >= begin_ + count_) && bytes_[i] != kGuard) return false;
  return true;
}

Batch::~Batch() {
  if (library_ != nullptr) dlclose(library_);
}

std::size_t Batch::add(const Net& net, const PlannerConfig& config) {
  return add(to_graph(net), false, config);
}

std::string Batch::next_name() const {
  return fmt::format("net_{}", plans_.size());
}

std::size_t Batch::add(const Graph& graph, bool has_spec, const PlannerConfig& config,
                       const emit::Instruments& instruments) {
  return add(bf_aot::plan(graph, model_info(graph), next_name(), has_spec, config), nullptr,
             instruments);
}

std::size_t Batch::add(const Graph& graph, const Property& property, const PlannerConfig& config) {
  PlanOptions options;
  options.property = &property;
  const std::size_t added = add(
      bf_aot::plan(graph, model_info(graph), next_name(), true, config, options), &property, {});
  verdicts_ = true;
  return added;
}

// Each source is included in a namespace of its own: its helpers have the same names as the
// others'. What it includes itself was included before.
std::size_t Batch::add(Plan plan, const Property* property, const emit::Instruments& instruments) {
  plans_.push_back(std::move(plan));
  const Plan& made = plans_.back();
  const auto lowered = lower(std::make_shared<const Plan>(made));
  const std::string& name = made.name;
  const std::filesystem::path& folder = folder_.path();
  write(folder / (name + ".cpp"), emit::emit_source(*lowered, name, property, instruments));
  write(folder / (name + ".h"), emit::emit_header(made, emit::header_bytes(made), property));
  std::vector<emit::EmittedFile> files = emit::emit_weight_files(*lowered, name);
  if (property != nullptr)
    if (auto file = emit::emit_property_file(made, *property, name))
      files.push_back(std::move(*file));
  for (const emit::EmittedFile& file : files) {
    write(folder / (name + file.suffix), file.bytes);
    if (file.suffix.ends_with(".S")) assembly_.push_back(name + file.suffix);
  }
  unit_ += fmt::format("namespace {0} {{\n#include \"{0}.cpp\"\n}}\n", name);
  return plans_.size() - 1;
}

void Batch::build(const Build& how) {
  std::string before;  // as in a source of its own
  for (const Plan& made : plans_)
    if (before.empty()) before = emit::emit_contraction(made);
  write(folder_.path() / "batch.cpp",
        before +
            "#include <cstddef>\n#include <cstdint>\n\n#include \"bf.h\"\n"
            "#include \"bf/contract/spans.h\"\n"
            "#include \"bf/conv/conv_forward.h\"\n"
            "#include \"bf/conv/conv_interval.h\"\n"
            "#include \"bf/conv/conv_live.h\"\n"
            "#include \"bf/conv/conv_slack.h\"\n"
            "#include \"bf/conv/starts.h\"\n"
            "#include \"bf/core/blob.h\"\n"
            "#include \"bf/core/context.h\"\n"
            "#include \"bf/core/exponential.h\"\n"
            "#include \"bf/core/kernel.h\"\n"
            "#include \"bf/core/parallel.h\"\n"
            "#include \"bf/core/relax.h\"\n"
            "#include \"bf/dense/boxes.h\"\n"
            "#include \"bf/dense/first_link.h\"\n"
            "#include \"bf/dense/lines.h\"\n"
            "#include \"bf/functions/bind_near.h\"\n"
            "#include \"bf/functions/float_functions.h\"\n"
            "#include \"bf/functions/functions.h\"\n"
            "#include \"bf/functions/mixtures.h\"\n"
            "#include \"bf/functions/relax_functions.h\"\n"
            "#include \"bf/integer/crown.h\"\n"
            "#include \"bf/integer/layers.h\"\n"
            "#include \"bf/integer/verdict.h\"\n"
            "#include \"bf/sums/ball_layers.h\"\n"
            "#include \"bf/sums/balls.h\"\n"
            "#include \"bf/sums/one_hot.h\"\n"
            "#include \"bf/sums/contraction.h\"\n"
            "#include \"bf/sums/mixed_planes.h\"\n"
            "#include \"bf/sums/log_softmax.h\"\n"
            "#include \"bf/sums/planes.h\"\n"
            "#include \"bf/sums/row_slack.h\"\n"
            "#include \"bf/sums/slopes.h\"\n" +
            (verdicts_ ? "#include \"bf/search/branch_and_bound.h\"\n"
                         "#include \"bf/search/split_curves.h\"\n"
                         "#include \"bf/search/neuron_splits.h\"\n"
                       : "") +
            unit_);
  const Target& target = plans_.front().config.target;
  // The same source has been compiled before where neither compiler nor runtime has changed.
  const std::string cached = system::find_program("ccache") ? "ccache " : "";
  const build::Toolchain toolchain =
      build::find_toolchain({cached + how.compiler, how.flags}, target);
  // By a name that does not say where the sources of this checkout lie.
  std::filesystem::create_directory_symlink(toolchain.include_folder, folder_.path() / "runtime");
  const auto compile = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = toolchain.compiler;
    command.insert(command.end(), toolchain.flags.begin(), toolchain.flags.end());
    command.insert(command.end(), {"-Iruntime", "-I."});
    command.insert(command.end(), more.begin(), more.end());
    const system::ProcessResult result = system::run_process(command, folder_.path());
    if (result.exit_code != 0) throw std::runtime_error(result.errors);
  };
  compile({"-c", "batch.cpp", "-o", "batch.o"});
  std::vector<std::string> link = {"-shared", "-o", "batch.so", "batch.o"};
  link.insert(link.end(), assembly_.begin(), assembly_.end());
  compile(link);
  library_ = dlopen((folder_.path() / "batch.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) throw std::runtime_error(dlerror());
}

void* Batch::symbol(std::size_t i, const std::string& suffix) const {
  void* found = dlsym(library_, (plans_.at(i).name + suffix).c_str());
  if (found == nullptr) throw std::runtime_error(dlerror());
  return found;
}

bool Batch::has_symbol(std::size_t i, const std::string& suffix) const {
  return dlsym(library_, (plans_.at(i).name + suffix).c_str()) != nullptr;
}

Batch::Bounds Batch::bounds(std::size_t i) const {
  return reinterpret_cast<Bounds>(symbol(i, "_bounds"));
}

Batch::Bounds Batch::spec_bounds(std::size_t i) const {
  return reinterpret_cast<Bounds>(symbol(i, "_spec_bounds"));
}

Batch::Evaluate Batch::evaluate(std::size_t i) const {
  return reinterpret_cast<Evaluate>(symbol(i, "_evaluate"));
}

Outcome Batch::run(std::size_t i, const FloatBox& box, unsigned char poison) const {
  const Plan& made = plan(i);
  const auto outputs = static_cast<std::size_t>(made.output_count);
  const auto bytes = static_cast<std::size_t>(made.arena_bytes());
  Arena arena(bytes, static_cast<std::size_t>(made.config.target.align));
  arena.fill(poison);
  Outcome outcome{BF_OK, std::vector<float>(outputs, 12345.0F),
                  std::vector<float>(outputs, 54321.0F)};
  outcome.status = bounds(i)(box.lower.data(), box.upper.data(), outcome.lower.data(),
                             outcome.upper.data(), arena.data(), bytes);
  if (!arena.guards_intact()) throw std::logic_error("written outside the workspace");
  return outcome;
}

int corners_outside(const ExactNet& exact, const FloatBox& box, const Outcome& outcome) {
  int outside = 0;
  for (std::uint64_t corner = 0; corner < std::uint64_t{1} << box.lower.size(); ++corner) {
    const Numbers y = exact.evaluate(corner_of(box, corner));
    bool holds = true;
    for (std::size_t j = 0; j < outcome.lower.size(); ++j)
      holds = holds && compare(outcome.lower[j], y, j) <= 0 && compare(outcome.upper[j], y, j) >= 0;
    outside += holds ? 0 : 1;
  }
  return outside;
}

std::string test_name(std::string_view name) {
  std::string made(name);
  std::ranges::replace(made, '-', '_');
  return made;
}

bool has_compiler(const std::string& name) {
  return system::find_program(name).has_value();
}

}  // namespace bf_aot::soundness
