#include "aot/engine/device/kernels.h"

#include <fmt/format.h>

#include <vector>

#include "aot/engine/device/device_library.h"
#include "frontend/check_scope.h"

namespace bf_aot::engine {

DeviceKernels::Array::~Array() {
  if (number_ != 0) library_->free_array(number_);
}

DeviceKernels::DeviceKernels(const build::DeviceName& name, std::string_view header,
                             std::size_t items, std::size_t least)
    : device_(name), library_(library_of(name)) {
  where_ = fmt::format("{}:{}", name.library, name.index);
  const std::size_t many = library_->items(name.index, items) / least * least;
  items_ = many == 0 ? 1 : many;
  text_ = build::device_kernels_text(build::language_of_device(name.library),
                                     static_cast<int>(items_), header);
  const char* const source = text_.c_str();
  bf_device_program program = {};
  program.source = &source;
  program.texts = 1;
  program.items = items_;
  const bool good = library_->open(program, name.index, "");
  if (library_->name()[0] != '\0') where_ += fmt::format(", {}", library_->name());
  check(good);
}

DeviceKernels::~DeviceKernels() = default;

void DeviceKernels::check(bool good) const {
  if (!good) refuse(*library_, device_, where_);
}

std::size_t DeviceKernels::free_bytes() const {
  return library_->free_bytes();
}

void DeviceKernels::reserve(Array& array, std::size_t bytes) {
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
  BF_CHECK(array.number_ != 0 && to.size() <= array.bytes_);
  check(library_->read_array(array.number_, to));
}

void DeviceKernels::call(const char* entry, std::size_t groups,
                         std::initializer_list<const Array*> arrays) {
  std::vector<std::uintptr_t> numbers;
  for (const Array* const array : arrays) numbers.push_back(array->number_);
  check(library_->run(entry, items_, groups, numbers));
}

}  // namespace bf_aot::engine
