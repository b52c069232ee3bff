#include "aot/apps/tune/kernel_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "aot/emit/kernels/kernels.h"

namespace bf_aot::apps {
namespace {

// "void NAME(type name, ...)" in the kernel's text.
std::vector<Parameter> parameters_of(const Kernel& kernel, const std::string& text) {
  const std::string head = fmt::format("BF_KERNEL {}(", kernel.function);
  const std::size_t begin = text.find(head) + head.size();
  std::string list = text.substr(begin, text.find(')', begin) - begin) + ",";
  std::vector<Parameter> parameters;
  for (std::size_t comma = list.find(','); comma != std::string::npos; comma = list.find(',')) {
    std::string one = list.substr(0, comma);
    one.erase(0, one.find_first_not_of(" \n"));
    list.erase(0, comma + 1);
    const std::size_t space = one.rfind(' ');
    Parameter made{one.substr(0, space), one.substr(space + 1)};
    if (const std::size_t at = made.type.find(" BF_RESTRICT"); at != std::string::npos)
      made.type.erase(at);
    parameters.push_back(std::move(made));
  }
  return parameters;
}

// Kernels have internal linkage; the wrapper takes all arguments as pointers.
std::string wrapper(const LoadedKernel& loaded) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < loaded.parameters.size(); ++i) {
    const std::string& type = loaded.parameters[i].type;
    const bool pointer = type.ends_with('*');
    arguments.push_back(pointer ? fmt::format("static_cast<{}>(arguments[{}])", type, i)
                                : fmt::format("*static_cast<const {}*>(arguments[{}])", type, i));
  }
  return fmt::format("extern \"C\" void run_{0}(void* const* arguments) {{\n  {0}({1});\n}}\n",
                     loaded.kernel.function, fmt::join(arguments, ",\n      "));
}

}  // namespace

KernelSource kernel_source(const std::vector<Kernel>& kernels, const Target& target,
                           const PrintKernel& print) {
  KernelSource source;
  loop::Needs needs;
  std::string body, wrappers;
  for (const Kernel& kernel : kernels) {
    const std::string text = print(kernel, needs);
    body += text + "\n";
    source.kernels.push_back({kernel, parameters_of(kernel, text), nullptr});
    wrappers += wrapper(source.kernels.back());
  }
  Plan frame;
  frame.config.target = target;
  frame.kernels = kernels;
  source.text = "#include \"bf/core/kernel.h\"\n\n" + emit::emit_prelude(frame, needs) + body +
                "}  // namespace\n\n" + wrappers;
  return source;
}

void KernelLibrary::Close::operator()(void* library) const {
  dlclose(library);
}

KernelLibrary::KernelLibrary(const std::filesystem::path& library, const KernelSource& source)
    : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)), kernels_(source.kernels) {
  const auto expect = [&](bool loaded) {
    if (!loaded) fail("BF3305", library.string(), "cannot load the kernels that were compiled");
  };
  expect(library_ != nullptr);
  for (LoadedKernel& loaded : kernels_) {
    void* const symbol = dlsym(library_.get(), ("run_" + loaded.kernel.function).c_str());
    expect(symbol != nullptr);
    loaded.run = reinterpret_cast<void (*)(void* const*)>(symbol);
  }
}

}  // namespace bf_aot::apps
