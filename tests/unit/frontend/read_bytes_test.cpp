#include "frontend/read_bytes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/support/model_text.h"

namespace bf_aot {
namespace {

namespace fs = std::filesystem;

// "bytes", or "why not".
std::string read(const fs::path& path, Sources sources, std::uint64_t most = 100) {
  const ReadBytes made = read_bytes(path, most, sources);
  EXPECT_TRUE(made.problem.empty() || made.problem.size() > 3);
  return made.problem.empty() ? made.bytes : made.problem;
}

TEST(ReadBytes, FilesUpToTheLimit) {
  const test::TempFolder folder;
  const fs::path file = folder.path() / "file";
  test::write_bytes(file, "12345");
  fs::create_symlink(file, folder.path() / "link");
  for (const Sources sources : {Sources::kFiles, Sources::kFilesAndPipes}) {
    EXPECT_EQ(read(file, sources), "12345");
    EXPECT_EQ(read(folder.path() / "link", sources), "12345");
    EXPECT_EQ(read(file, sources, 5), "12345");
    EXPECT_EQ(read(file, sources, 4), "has 5 bytes, the limit is 4");
    EXPECT_TRUE(read_bytes(file, 4, sources).too_large);
    EXPECT_EQ(read(folder.path() / "none", sources), "no such file");
    EXPECT_EQ(read(file / "below", sources), "no such file");
    EXPECT_EQ(read(folder.path(), sources), "no such file: it is a folder");
  }
}

TEST(ReadBytes, PipesWhereTheUserNamesThem) {
  const test::TempFolder folder;
  const fs::path pipe_path = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe_path.c_str(), 0600), 0);
  EXPECT_EQ(read(pipe_path, Sources::kFiles), "it is a pipe, no file");
  EXPECT_EQ(why_unreadable(pipe_path, Sources::kFilesAndPipes), "");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "12345", 5), 5);
  ASSERT_EQ(close(ends[1]), 0);
  const fs::path substituted = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(read(substituted, Sources::kFiles), "it is a pipe, no file");
  EXPECT_EQ(read(substituted, Sources::kFilesAndPipes), "12345");
  close(ends[0]);
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "12345", 5), 5);
  close(ends[1]);
  const ReadBytes much =
      read_bytes("/dev/fd/" + std::to_string(ends[0]), 4, Sources::kFilesAndPipes);
  EXPECT_TRUE(much.too_large);
  EXPECT_EQ(much.problem, "has more than 4 bytes");
  close(ends[0]);
}

TEST(ReadBytes, DevicesHaveNoEnd) {
  const test::TempFolder folder;
  const fs::path link = folder.path() / "zero";
  fs::create_symlink("/dev/zero", link);
  for (const Sources sources : {Sources::kFiles, Sources::kFilesAndPipes})
    EXPECT_EQ(read(link, sources), "it is a device, no file");
  EXPECT_EQ(read("/dev/null", Sources::kFiles), "it is a device, no file");
  EXPECT_EQ(read("/dev/null", Sources::kFilesAndPipes), "");
}

}  // namespace
}  // namespace bf_aot
