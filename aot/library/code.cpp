// compile() and compile_to_files().
#include <algorithm>
#include <utility>

#include "aot/build/device/device.h"
#include "aot/build/dispatch.h"
#include "aot/build/frontend_result.h"
#include "aot/build/library.h"
#include "aot/build/manifest.h"
#include "aot/build/options/language.h"
#include "aot/build/single_file.h"
#include "aot/emit/interface/emit_verify.h"
#include "aot/library/enums.h"
#include "aot/library/state.h"
#include "aot/system/files.h"
#include "frontend/property/vnnlib/vnnlib.h"

namespace bf_aot::api {
namespace {

namespace fs = std::filesystem;

constexpr char kCompiling[] = "compiling the verifier";

// Names that a command line and an #include line take as they are.
void check_stem(std::string_view stem) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+";
  if (stem.empty() || stem[0] == '.' || stem[0] == '-' ||
      stem.find_first_not_of(kAllowed) != std::string_view::npos)
    refuse("BF3501", "source", fmt::format("'{}' is no name of a file", stem),
           "use letters, digits, '_', '-', '+' and '.'");
}

void take_property(const CodeOptions& from, bf_aot::build::CompileOptions& options) {
  if (!from.property_file && from.property.empty()) return;
  if (options.spec || (from.property_file && !from.property.empty()))
    refuse("BF3501", "property", "there is more than one property or specification");
  options.property = from.property_file ? read_property(*from.property_file)
                                        : parse_property(from.property, "property.vnnlib");
  emit::check_emittable(*options.property);
  if (is_float32(*options.property)) options.planner.semantics = bf_aot::Semantics::kFloat32;
}

std::vector<Target> levels_of(const Target& target, const CodeOptions& options) {
  if (options.single_file)
    refuse("BF3501", "dispatch", "a single file cannot hold code for several levels");
  std::vector<Target> levels = build::dispatch_levels(target);
  if (levels.empty())
    refuse("BF3104", "dispatch", fmt::format("'{}' is no level of x86-64", target.name),
           "choose x86-64-v4 or x86-64-v3");
  return levels;
}

bf_aot::build::CompileOptions code_options(const Model& model, Language language,
                                           const CodeOptions& options,
                                           const Specification& specification) {
  bf_aot::build::CompileOptions compiling = compile_options(model, options.plan, specification);
  compiling.planner.lowering = Lowering::kVector;
  compiling.planner.target = find_target(options.target);
  if (options.target != "host") compiling.planner.profile.reset();  // the target's
  compiling.planner.workers = options.plan.threads;
  compiling.planner.decide = options.decide;
  compiling.planner.splits = Splits::kAuto;
  const auto arithmetic = internal_of(options.arithmetic);
  if (!arithmetic) refuse("BF3501", "arithmetic", "there is no such arithmetic");
  compiling.planner.arithmetic = *arithmetic;
  if (!options.name.empty() && build::identifier_from(options.name) != options.name)
    refuse("BF3302", "name", "'" + options.name + "' is no lower-case C identifier",
           "use '" + build::identifier_from(options.name) + "'");
  compiling.name = options.name;
  if (options.dispatch) compiling.levels = levels_of(compiling.planner.target, options);
  take_property(options, compiling);
  if (!compiling.device.empty())
    refuse("BF3501", "device", "code is made for a target, and needs no device",
           "target opencl or cuda makes code for devices");
  if (options.items && (*options.items < 1 || *options.items > build::kMostItems))
    refuse("BF3501", "items",
           fmt::format("{} is not in 1 to {}", *options.items, build::kMostItems));
  return build::for_source(std::move(compiling), language, options.target, options.items);
}

bf_aot::build::Verifier verifier_of(const Model& model, const std::string& stem,
                                    const bf_aot::build::CompileOptions& compiling,
                                    const CodeOptions& options) {
  const Model subject = compiling.property ? with_hidden(model, *compiling.property) : model;
  const Model::State& state = Library::state(subject);
  bf_aot::build::Verifier verifier = bf_aot::build::compile(
      build::run_frontend({state.network.graph(), state.info}, compiling),
      build::symbol_prefix(state.info.file_name, compiling), stem, compiling);
  if (options.single_file) verifier.files = build::single_file(verifier, stem);
  return verifier;
}

// The manifest of files that no compiler has seen says so.
std::vector<File> finished(const bf_aot::build::Verifier& verifier, const std::string& stem,
                           const build::Toolchain* toolchain, std::optional<std::int64_t> code) {
  std::vector<File> files;
  for (const emit::EmittedFile& file : verifier.files)
    files.push_back({stem + file.suffix,
                     file.suffix.ends_with(".json")
                         ? build::manifest_text(verifier, stem, file.suffix, {toolchain, code, {}})
                         : file.bytes});
  return files;
}

// Throws: Failed BF3111 where one of the files to write is the model's own.
void keep_model(const std::string& path, const fs::path& folder,
                const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::error_code none;
    if (!path.empty() && fs::equivalent(folder / name, path, none))
      refuse("BF3111", path, "the verifier's files would replace the model", "another source");
  }
}

std::vector<fs::path> write(const Model& model, const fs::path& source, const CodeOptions& options,
                            const Specification& specification) {
  const std::optional<Language> language = build::language_of(source);
  if (!language)
    refuse("BF3501", "source",
           fmt::format("'{}' does not end in .cpp, .c, .cl or .cu", source.string()));
  const std::string stem = source.stem().string();
  check_stem(stem);
  const bf_aot::build::CompileOptions compiling =
      code_options(model, *language, options, specification);
  std::optional<build::Toolchain> toolchain;
  if (options.library) {
    if (*language == Language::kCuda)
      refuse("BF3112", "library", "nvcc alone compiles sources in cuda", "leave library out");
    toolchain = build::find_toolchain(
        {options.cxx, options.cxx_flags, build::JitMode::kOff},
        compiling.levels.empty() ? compiling.planner.target : compiling.levels.back(),
        is_of_device(*language) ? Language::kC : *language);
  }
  const bf_aot::build::Verifier verifier = verifier_of(model, stem, compiling, options);

  system::Staging staging(source.parent_path());
  std::vector<std::string> names;
  std::optional<std::int64_t> code;
  if (toolchain) {
    for (const emit::EmittedFile& file : verifier.files)
      staging.write(stem + file.suffix, file.bytes);
    build::build_archive(*toolchain, staging.folder(), stem, verifier.files);
    names.push_back("lib" + stem + ".a");
    code = build::code_bytes(staging.folder() / names.back(), *toolchain);
  }
  for (const File& file : finished(verifier, stem, toolchain ? &*toolchain : nullptr, code)) {
    staging.write(file.name, file.bytes);
    names.push_back(file.name);
  }
  keep_model(Library::state(model).path, source.parent_path(), names);
  staging.publish(names);
  std::ranges::sort(names);
  std::vector<fs::path> paths;
  for (const std::string& name : names) paths.push_back(source.parent_path() / name);
  return paths;
}

}  // namespace

Result<std::vector<File>> compile(const Model& model, std::string_view stem,
                                  const CodeOptions& options, const Specification& specification) {
  return guarded<std::vector<File>>(
      kCompiling,
      [&] {
        const std::string name(stem);
        check_stem(name);
        const bf_aot::build::CompileOptions compiling =
            code_options(model, build::language_for(options.target), options, specification);
        return finished(verifier_of(model, name, compiling, options), name, nullptr, {});
      },
      Library::state(model).numbers);
}

Result<std::vector<fs::path>> compile_to_files(const Model& model, const fs::path& source,
                                               const CodeOptions& options,
                                               const Specification& specification) {
  return guarded<std::vector<fs::path>>(
      kCompiling, [&] { return write(model, source, options, specification); },
      Library::state(model).numbers);
}

}  // namespace bf_aot::api
