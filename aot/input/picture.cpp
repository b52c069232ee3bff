#include "aot/input/picture.h"

#include <fmt/format.h>
#include <png.h>

#include "aot/input/array.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"

namespace bf_aot::input {
namespace {

constexpr std::uint32_t kMostSide = 1 << 14;

png_image empty_image() {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  return image;
}

}  // namespace

Picture read_png(const std::filesystem::path& path) {
  const std::string where = printable(path.string());
  const std::string bytes = read_data_file(path);
  png_image image = empty_image();
  const auto refuse = [&](const std::string& message, const char* hint) {
    png_image_free(&image);
    fail("BF3014", where, message, hint);
  };
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    refuse(fmt::format("it is no PNG file: {}", image.message), "give PNG or .npy files");
  if ((image.format & PNG_FORMAT_FLAG_ALPHA) != 0)
    refuse("it has an alpha channel", "save it without transparency");
  if (image.width > kMostSide || image.height > kMostSide)
    refuse(fmt::format("{} by {} pixels are more than {} by {}", image.width, image.height,
                       kMostSide, kMostSide),
           "scale it to the network's size");
  image.format = (image.format & PNG_FORMAT_FLAG_COLOR) != 0 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  Picture picture;
  picture.width = image.width;
  picture.height = image.height;
  picture.channels = PNG_IMAGE_SAMPLE_CHANNELS(image.format);
  picture.values.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, picture.values.data(), 0, nullptr) == 0)
    refuse(fmt::format("the picture is damaged: {}", image.message), "save it again");
  return picture;
}

std::string png_bytes(const Picture& picture) {
  png_image image = empty_image();
  image.width = picture.width;
  image.height = picture.height;
  image.format = picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.values.data(), 0,
                                nullptr) == 0)
    return {};
  bytes.resize(size);
  return bytes;
}

}  // namespace bf_aot::input
