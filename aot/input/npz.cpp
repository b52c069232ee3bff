#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>

#include "aot/input/array.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "frontend/graph/model.h"
#include "frontend/read_bytes.h"

namespace bf_aot::input {
namespace {

constexpr std::string_view kExtension = ".npy";

std::string text_of(zip_error_t& error) {
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  return text_of(error);
}

struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

std::string read_member(zip_t* archive, zip_uint64_t index, const std::string& where) {
  zip_stat_t stat;
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & ZIP_STAT_SIZE) == 0)
    fail("BF3014", where, "the archive is damaged");
  if (stat.size > kMostDataBytes)
    fail("BF3014", where, fmt::format("it has more than {} bytes", kMostDataBytes),
         "split the data");
  const std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive, index, 0));
  if (!file) fail("BF3014", where, fmt::format("it cannot be read: {}", zip_strerror(archive)));
  // The text grows as it is read, since what an archive says of a size may be wrong.
  std::string bytes, chunk(1 << 20, '\0');
  while (true) {
    const zip_int64_t count = zip_fread(file.get(), chunk.data(), chunk.size());
    if (count < 0) fail("BF3014", where, "the archive is damaged");
    if (count == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(count));
    if (bytes.size() > kMostDataBytes)
      fail("BF3014", where, fmt::format("it has more than {} bytes", kMostDataBytes),
           "split the data");
  }
}

}  // namespace

std::vector<Array> read_npz(const std::filesystem::path& path) {
  const std::string file = printable(path.string());
  if (const std::string problem = why_unreadable(path, Sources::kFiles); !problem.empty())
    fail("BF3001", file, "the file cannot be read: " + problem);
  int code = 0;
  const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(
      zip_open(path.c_str(), ZIP_RDONLY, &code), &zip_discard);
  if (!archive) {
    if (code == ZIP_ER_NOENT || code == ZIP_ER_OPEN || code == ZIP_ER_READ)
      fail("BF3001", file, "the file cannot be read");
    fail("BF3014", file, "it is no .npz file: " + text_of(code), "save it by numpy.savez");
  }
  std::vector<Array> arrays;
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* const member = zip_get_name(archive.get(), index, 0);
    const std::string name = member == nullptr ? "" : member;
    if (!name.ends_with(kExtension)) continue;
    const std::string stem = printable(name.substr(0, name.size() - kExtension.size()));
    const std::string where = file + ": " + stem;
    if (std::ranges::find(arrays, stem, &Array::name) != arrays.end())
      fail("BF3014", where, "the archive has two arrays of this name", "save it by numpy.savez");
    arrays.push_back(parse_npy(read_member(archive.get(), index, where), where));
    arrays.back().name = stem;
  }
  if (arrays.empty()) fail("BF3014", file, "the archive has no array", "save it by numpy.savez");
  return arrays;
}

void write_npz(const std::filesystem::path& path, const std::vector<Array>& arrays) {
  const std::string file = printable(path.string());
  zip_error_t error;
  zip_error_init(&error);
  // The archive is made in memory, so that the file appears whole or not at all.
  zip_source_t* const memory = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (memory == nullptr) fail("BF3102", file, text_of(error));
  zip_source_keep(memory);
  zip_t* const archive = zip_open_from_source(memory, ZIP_CREATE | ZIP_TRUNCATE, &error);
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> kept(memory, &zip_source_free);
  if (archive == nullptr) fail("BF3102", file, text_of(error));
  std::vector<std::string> members;  // until the archive is closed
  members.reserve(arrays.size());
  bool written = true;
  for (const Array& array : arrays) {
    const std::string& bytes = members.emplace_back(npy_bytes(array));
    zip_source_t* const source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index =
        source == nullptr
            ? -1
            : zip_file_add(archive, (array.name + std::string(kExtension)).c_str(), source, 0);
    written = written && index >= 0;
    // A fixed time of writing makes the bytes the same for the same arrays.
    if (index >= 0) zip_file_set_mtime(archive, static_cast<zip_uint64_t>(index), 315532800, 0);
  }
  if (!written || zip_close(archive) != 0) {
    const std::string text = zip_strerror(archive);
    zip_discard(archive);
    fail("BF3102", file, "it cannot be written: " + text);
  }
  zip_stat_t stat;
  zip_source_stat(memory, &stat);
  std::string bytes(stat.size, '\0');
  if (zip_source_open(memory) != 0 ||
      zip_source_read(memory, bytes.data(), bytes.size()) != static_cast<zip_int64_t>(bytes.size()))
    fail("BF3102", file, "it cannot be written");
  zip_source_close(memory);
  system::publish_file(path, bytes);
}

}  // namespace bf_aot::input
