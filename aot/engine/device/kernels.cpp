#include "aot/engine/device/kernels.h"

#include <fmt/format.h>

#include <vector>

#include "aot/engine/device/device_library.h"
#include "frontend/check_scope.h"
#include "frontend/diagnostic.h"

namespace bf_aot::engine {
namespace {

// Whether groups of fewer items may do what failed.
bool may_be_for_size(bf_device_fault fault) {
  switch (fault) {
    case BF_DEVICE_NOT_BUILT:
    case BF_DEVICE_GROUP:
    case BF_DEVICE_PROCESSOR:
    case BF_DEVICE_CALL:
      return true;
    case BF_DEVICE_READY:
    case BF_DEVICE_NO_LIBRARY:
    case BF_DEVICE_NOT_FOUND:
    case BF_DEVICE_NO_DOUBLES:
    case BF_DEVICE_NO_SUBNORMALS:
    case BF_DEVICE_NO_ROUNDING:
    case BF_DEVICE_BIG_ENDIAN:
    case BF_DEVICE_INEXACT:
    case BF_DEVICE_HOST_MODE:
      return false;
  }
  return false;
}

}  // namespace

DeviceKernels::Array::~Array() {
  if (number_ != 0) library_->free_array(number_);
}

DeviceKernels::DeviceKernels(const build::DeviceName& name, std::string_view header,
                             std::size_t items, std::size_t least,
                             const std::function<void(DeviceKernels&)>& try_out,
                             const MakeLibrary& make)
    : device_(name) {
  const auto made = [&] { return make ? make(name) : library_of(name); };
  library_ = made();
  const std::size_t many = library_->items(name.index, items) / least * least;
  for (items_ = many == 0 ? 1 : many;; items_ = items_ / 2 / least * least) {
    try {
      open(header);
      try_out(*this);
      return;
    } catch (const CompileError&) {
      if (items_ < 2 * least || !may_be_for_size(library_->fault())) throw;
    }
    library_ = made();
  }
}

void DeviceKernels::open(std::string_view header) {
  where_ = fmt::format("{}:{}", device_.library, device_.index);
  text_ = build::device_kernels_text(build::language_of_device(device_.library),
                                     static_cast<int>(items_), header);
  const char* const source = text_.c_str();
  bf_device_program program = {};
  program.source = &source;
  program.texts = 1;
  program.items = items_;
  const bool good = library_->open(program, device_.index, "");
  if (library_->name()[0] != '\0') where_ += fmt::format(", {}", library_->name());
  check(good);
}

DeviceKernels::~DeviceKernels() = default;

void DeviceKernels::check(bool good) const {
  if (!good) refuse(*library_, device_, where_);
}

std::size_t DeviceKernels::array_bytes(std::size_t share) const {
  return library_->array_bytes(share);
}

void DeviceKernels::reserve(Array& array, std::size_t bytes) {
  check_process(device_);
  if (array.number_ != 0 && array.bytes_ >= bytes) return;
  if (array.number_ != 0) library_->free_array(array.number_);
  array.library_ = library_.get();
  array.number_ = library_->make_array(bytes);
  array.bytes_ = bytes;
  check(array.number_ != 0);
}

void DeviceKernels::write(Array& array, std::span<const std::byte> from) {
  reserve(array, from.size());
  check(library_->write_array(array.number_, from));
}

void DeviceKernels::read(const Array& array, std::span<std::byte> to) {
  check_process(device_);
  BF_CHECK(array.number_ != 0 && to.size() <= array.bytes_);
  check(library_->read_array(array.number_, to));
}

void DeviceKernels::call(const char* entry, std::size_t groups,
                         std::initializer_list<const Array*> arrays) {
  check_process(device_);
  std::vector<std::uintptr_t> numbers;
  for (const Array* const array : arrays) numbers.push_back(array->number_);
  check(library_->run(entry, items_, groups, numbers));
}

}  // namespace bf_aot::engine
