#include "aot/input/array.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "aot/input/picture.h"
#include "aot/input/table.h"
#include "aot/system/files.h"
#include "frontend/diagnostic.h"
#include "tests/support/model_text.h"

namespace bf_aot::input {
namespace {

std::string header(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string npy(const std::string& head, const std::string& data, char version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(head.size() & 0xff);
  bytes += static_cast<char>(head.size() >> 8);
  if (version > 1) bytes += std::string(2, '\0');
  return bytes + head + data;
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

std::vector<double> values_of(const std::string& bytes) {
  return parse_npy(bytes, "x.npy").values;
}

std::string problem_of(const std::string& bytes) {
  try {
    parse_npy(bytes, "x.npy");
  } catch (const CompileError& error) {
    return error.diagnostics().front().code + ": " + error.diagnostics().front().message;
  }
  return "";
}

TEST(Npy, ReadsEveryElementType) {
  using V = std::vector<double>;
  EXPECT_EQ(values_of(npy(header("<f4", "False", "(2,)"), raw({1.5F, -2.0F}))), (V{1.5, -2}));
  EXPECT_EQ(values_of(npy(header("<f8", "False", "(1, 2)"), raw({0.1, 1e300}), 2)),
            (V{0.1, 1e300}));
  EXPECT_EQ(values_of(npy(header("<f2", "False", "(2,)"), std::string("\x00\x3c\x01\x00", 4), 3)),
            (V{1, 0x1p-24}));
  EXPECT_EQ(values_of(npy(header("|u1", "False", "(2,)"), "\xff\x01")), (V{255, 1}));
  EXPECT_EQ(values_of(npy(header("|i1", "False", "(2,)"), "\xff\x01")), (V{-1, 1}));
  EXPECT_EQ(values_of(npy(header("|b1", "False", "(2,)"), std::string("\x01\x00", 2))), (V{1, 0}));
  EXPECT_EQ(values_of(npy(header("<i2", "False", "(1,)"), raw<std::int16_t>({-300}))), (V{-300}));
  EXPECT_EQ(values_of(npy(header("<u2", "False", "(1,)"), raw<std::uint16_t>({65535}))),
            (V{65535}));
  EXPECT_EQ(values_of(npy(header("<i4", "False", "(1,)"), raw<std::int32_t>({-7}))), (V{-7}));
  EXPECT_EQ(values_of(npy(header("<i8", "False", "()"), raw<std::int64_t>({1LL << 53}))),
            (V{0x1p53}));
  EXPECT_EQ(values_of(npy(header(">f4", "False", "(1,)"), std::string("\x3f\xc0\x00\x00", 4))),
            (V{1.5}));
  EXPECT_EQ(values_of(npy(header(">i8", "False", "(1,)"), std::string(7, '\xff') + "\xfe")),
            (V{-2}));
}

TEST(Npy, RefusesWhatItCannotRead) {
  EXPECT_EQ(problem_of(""), "BF3011: it is no .npy file");
  EXPECT_EQ(problem_of("\x93NUMPY"), "BF3011: it is no .npy file");
  EXPECT_EQ(problem_of(npy(header("<f4", "False", "(2,)"), raw({1.0F}))),
            "BF3011: its shape says 8 bytes of numbers, 4 follow");
  EXPECT_EQ(problem_of(npy(header("<c8", "False", "(1,)"), raw({1.0}))),
            "BF3012: elements of type '<c8' are not read");
  EXPECT_EQ(problem_of(npy(header("|O", "False", "(1,)"), raw({1.0}))),
            "BF3012: elements of type '|O' are not read");
  EXPECT_EQ(
      problem_of(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "")),
      "BF3012: it has records, not plain numbers");
  EXPECT_EQ(problem_of(npy(header("<f4", "False", "(-1,)"), "")),
            "BF3011: its header has a shape that is no list of up to 32 extents");
  EXPECT_EQ(problem_of(npy(header("<f4", "False", "(4294967296, 4294967296, 4294967296)"), "")),
            "BF3014: it has more than 536870912 numbers");
  EXPECT_EQ(problem_of(npy(header("<i8", "False", "(1,)"), raw<std::int64_t>({(1LL << 53) + 2}))),
            "BF3012: 9007199254740994 is beyond 2^53");
  EXPECT_EQ(problem_of(npy(header("<f4", "False", "(1,)"), raw({1.0F}), 4)),
            "BF3012: it is in a version of the format that is not known");
  std::string cut = npy(header("<f4", "False", "(1,)"), "");
  cut.resize(30);
  EXPECT_EQ(problem_of(cut), "BF3011: it ends within its header");
}

// Stored with the first index fastest: numpy.save() of an array in Fortran's order.
TEST(Npy, ReadsFortransOrder) {
  const std::string stored = raw({0.0F, 3.0F, 1.0F, 4.0F, 2.0F, 5.0F});
  const Array matrix = parse_npy(npy(header("<f4", "True", "(2, 3)"), stored), "x.npy");
  EXPECT_EQ(matrix.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(matrix.values, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  std::string bytes;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) bytes += static_cast<char>(12 * i + 4 * j + k);
  const std::vector<double> values = values_of(npy(header("|u1", "True", "(2, 3, 4)"), bytes));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<double>(i));
  EXPECT_TRUE(values_of(npy(header("<f4", "True", "(0, 3)"), "")).empty());
  EXPECT_EQ(values_of(npy(header("<f4", "True", "()"), raw({7.0F}))), (std::vector<double>{7}));
}

// Files that two readers could understand in two ways.
TEST(Npy, RefusesHeadersThatAreNoneOfNumPy) {
  const std::string data = raw({1.0F, 2.0F});
  const auto refused = [&](const std::string& head) { return problem_of(npy(head, data)); };
  const std::string rest = "'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(refused("{'descr': '<f4', " + rest), "");
  EXPECT_EQ(refused("{\"descr\": \"<f4\", " + rest + "  \n"), "");
  EXPECT_EQ(refused("{'shape': (2,), 'descr': '<f4', 'fortran_order': False}"), "");
  EXPECT_EQ(refused("{'descr': '<f4', 'descr': '<i4', " + rest),
            "BF3011: its header has 'descr' twice");
  EXPECT_EQ(refused("{'descr': '<f4', 'shape': (1, 2), " + rest),
            "BF3011: its header has 'shape' twice");
  EXPECT_EQ(refused("{'descr': '<f4', 'order': 'F', " + rest),
            "BF3011: its header has an unknown key 'order'");
  EXPECT_EQ(refused("{'note': \"'descr': '<f4'\", " + rest),
            "BF3011: its header has an unknown key 'note'");
  EXPECT_EQ(refused("{" + rest), "BF3011: its header has no 'descr'");
  EXPECT_EQ(refused("{'descr': '<f4', " + rest + " x"), "BF3011: text follows its header");
  EXPECT_EQ(refused("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }"),
            "BF3011: its header's 'fortran_order' is neither True nor False");
  EXPECT_EQ(refused("{'descr': '<f4' 'fortran_order': False, 'shape': (2,), }"),
            "BF3011: its header is no dictionary: no ',' where it is expected");
  EXPECT_EQ(refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }").substr(0, 6),
            "BF3011");
}

TEST(Npy, RefusesEveryPrefix) {
  const std::string whole = npy(header("<f4", "False", "(2, 1)"), raw({1.0F, 2.0F}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(problem_of(whole.substr(0, size)).substr(0, 6), "BF3011") << size;
}

TEST(Npy, FindsWhatIsNotFinite) {
  EXPECT_NO_THROW(expect_finite(parse_npy(npy(header("<f4", "False", "(1,)"), raw({1.0F})), "x")));
  EXPECT_THROW(
      expect_finite(parse_npy(npy(header("<f8", "False", "(1,)"), raw({-INFINITY + 0.0})), "x")),
      CompileError);
}

// Whatever the bytes are, there is an array or a diagnostic.
TEST(Npy, DamagedFilesAreRefused) {
  std::mt19937 random(5);
  const std::string whole = npy(header("<f4", "False", "(2, 3)"), std::string(24, 'a'));
  for (int trial = 0; trial < 20000; ++trial) {
    std::string damaged = whole;
    for (unsigned n = 1 + random() % 4; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    (void)problem_of(damaged);
  }
}

TEST(Npz, KeepsWhatIsWritten) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.path() / "bf_npz_kept.npz";
  Array x, y;
  x.name = "x";
  x.shape = {2, 2};
  x.values = {0.1, -1e300, 0, 5};
  y.name = "labels";
  y.shape = {2};
  y.values = {3, -4};
  y.integers = true;
  write_npz(path, {x, y});
  const std::string first = read_data_file(path);
  const std::vector<Array> back = read_npz(path);
  ASSERT_EQ(back.size(), 2U);
  EXPECT_EQ(back[0].name, "x");
  EXPECT_EQ(back[0].shape, x.shape);
  EXPECT_EQ(back[0].values, x.values);
  EXPECT_EQ(back[1].values, y.values);
  EXPECT_TRUE(back[1].integers);
  write_npz(path, {x, y});
  EXPECT_EQ(read_data_file(path), first);

  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::string damaged = first;
    for (unsigned n = 1 + random() % 4; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    system::write_file(path, damaged);
    try {
      (void)read_npz(path);
    } catch (const CompileError&) {  // a diagnostic
    }
  }
}

TEST(TableOfText, ReadsCellsAndNames) {
  const Table table = parse_table("file, label\r\n\"a,\"\"b\",  3\n c ,-4.5e1\n", "t.csv");
  EXPECT_EQ(table.names, (std::vector<std::string>{"file", "label"}));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0][0], "a,\"b");
  EXPECT_EQ(table.rows[1][0], "c");
  EXPECT_EQ(table.number(1, 1), -45);
  EXPECT_EQ(table.place(1), "t.csv:3");
  EXPECT_EQ(parse_table("1,2\n3,4\n", "t").names.size(), 0U);
  for (const char* text : {"plain", "a,b", "\"", "a\"\"b, c"}) {
    const Table written = parse_table(table_cell(text) + ",1\n", "t", false);
    EXPECT_EQ(written.rows[0][0], text);
  }
}

TEST(Npz, RefusesTwoArraysOfOneName) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.path() / "bf_npz_twice.npz";
  Array one;
  one.name = "x_test";
  one.shape = {1};
  one.values = {1};
  Array other = one;
  other.name = "y_test";
  write_npz(path, {one, other});
  std::string bytes = read_data_file(path);
  for (std::size_t at; (at = bytes.find("y_test")) != std::string::npos;) bytes[at] = 'x';
  system::write_file(path, bytes);
  try {
    (void)read_npz(path);
    ADD_FAILURE() << "it is read";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.diagnostics().front().code, "BF3014");
  }
}

TEST(TableOfText, RefusesAColumnThatIsThereTwice) {
  const Table table = parse_table("a,label,label\n1,2,3\n", "t.csv");
  EXPECT_EQ(table.column("a"), 0U);
  EXPECT_EQ(table.column("b"), std::nullopt);
  EXPECT_THROW((void)table.column("label"), CompileError);
}

TEST(TableOfText, NamesTheLineOfAProblem) {
  const auto problem = [](const char* text) {
    try {
      (void)parse_table(text, "t.csv").number(0, 0);
    } catch (const CompileError& error) {
      return error.diagnostics().front().code + " " + error.diagnostics().front().where + ": " +
             error.diagnostics().front().message;
    }
    return std::string();
  };
  EXPECT_EQ(problem("a,b\n1,2,3\n"), "BF3015 t.csv:2: 3 cells, but 2 are expected");
  EXPECT_EQ(problem("a\nnan\n"), "BF3015 t.csv:2: 'nan' in column a is no finite number");
  EXPECT_EQ(problem("a\n\"1\n"), "BF3015 t.csv:2: a cell's closing quote is missing");
  EXPECT_EQ(problem("a\n\"1\"2\n"), "BF3015 t.csv:2: text follows a cell's closing quote");
  EXPECT_EQ(problem("1\n\n2\n"), "BF3015 t.csv:2: the line is empty");
  EXPECT_EQ(problem(""), "BF3015 t.csv: the file has no rows");
}

TEST(PictureFile, KeepsWhatIsWritten) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.path() / "bf_picture.png";
  for (const std::uint32_t channels : {1U, 3U}) {
    Picture picture{4, 3, channels, {}};
    for (std::uint32_t i = 0; i < 12 * channels; ++i)
      picture.values.push_back(static_cast<std::uint8_t>(20 * i));
    const std::string bytes = png_bytes(picture);
    system::write_file(path, bytes);
    const Picture back = read_png(path);
    EXPECT_EQ(back.width, 4U);
    EXPECT_EQ(back.height, 3U);
    EXPECT_EQ(back.channels, channels);
    EXPECT_EQ(back.values, picture.values);
    system::write_file(path, bytes.substr(0, bytes.size() / 2));
    EXPECT_THROW((void)read_png(path), CompileError);
  }
  system::write_file(path, "no picture");
  EXPECT_THROW((void)read_png(path), CompileError);
}

}  // namespace
}  // namespace bf_aot::input
