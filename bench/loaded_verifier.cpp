#include "bench/loaded_verifier.h"

#include <dlfcn.h>

#include <stdexcept>
#include <utility>

#include "aot/build/cache.h"
#include "aot/build/compile.h"
#include "planner/planner.h"

namespace bf_aot::bench {

LoadedVerifier::LoadedVerifier(const std::filesystem::path& model, Method method, std::size_t boxes,
                               std::size_t workers) {
  build::CompileOptions options;
  options.planner.method = method;
  options.planner.target = find_target("host");
  options.planner.batch = static_cast<int>(boxes);
  options.planner.workers = static_cast<int>(workers);
  build::Verifier verifier = build::compile(model, "verifier", options);
  const build::CachedVerifier cached =
      build::cached_verifier(verifier.files, options.planner.target, {});
  plan_ = verifier.plan();
  library_.reset(dlopen(cached.library.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (library_ == nullptr) throw std::runtime_error(dlerror());
  const auto align = static_cast<std::size_t>(plan_.config.target.align);
  bytes_ = workers * static_cast<std::size_t>(plan_.batch_bytes());
  bytes_ = (bytes_ + align - 1) / align * align;
  workspace_.reset(std::aligned_alloc(align, bytes_));
}

void LoadedVerifier::Unload::operator()(void* library) const {
  dlclose(library);
}

void* LoadedVerifier::symbol(const char* suffix) const {
  void* const found = dlsym(library_.get(), (plan_.name + suffix).c_str());
  if (found == nullptr) throw std::runtime_error(dlerror());
  return found;
}

void expect_ok(bf_status status) {
  if (status != BF_OK) throw std::runtime_error(bf_status_text(status));
}

}  // namespace bf_aot::bench
