#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "frontend/graph/shapes.h"
#include "frontend/import/helpers/builder.h"
#include "frontend/import/helpers/importing.h"
#include "frontend/import/operators/operators.h"

// Col2Im: an image whose elements are the sums of all blocks that cover them.

namespace bf_aot {
namespace {

struct Folding {
  Shape image, block, count;  // sizes, and how many blocks there are along each axis
  std::vector<std::int64_t> stride, dilation, pad_begin;
};

// Throws: BF1012.
std::vector<std::int64_t> read_numbers(const NodeImport& node, std::string_view name,
                                       std::size_t count, std::int64_t otherwise) {
  constexpr std::int64_t kMost = std::int64_t{1} << 28;
  const std::vector<std::int64_t> given =
      node.ints_attribute(name).value_or(std::vector<std::int64_t>(count, otherwise));
  if (given.size() != count)
    fail("BF1012", "",
         fmt::format("attribute '{}' has {} entries, but {} are expected", name, given.size(),
                     count));
  for (const std::int64_t each : given)
    if (each < otherwise || each > kMost)
      fail("BF1012", "", fmt::format("attribute '{}' holds {}", name, each));
  return given;
}

Folding read_folding(const NodeImport& node) {
  Folding of;
  of.image = node.list(1, "image_shape");
  of.block = node.list(2, "block_shape");
  const std::size_t rank = of.image.size();
  if (rank < 1 || of.block.size() != rank)
    fail("BF1014", "",
         fmt::format("an image of shape {} in blocks of {}", to_string(of.image),
                     to_string(of.block)));
  of.stride = read_numbers(node, "strides", rank, 1);
  of.dilation = read_numbers(node, "dilations", rank, 1);
  of.pad_begin = read_numbers(node, "pads", 2 * rank, 0);
  node.check_size(of.image);
  node.check_size(of.block);
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t reach = (of.block[d] - 1) * of.dilation[d] + 1;
    const std::int64_t room = of.image[d] + of.pad_begin[d] + of.pad_begin[rank + d] - reach;
    if (of.image[d] < 1 || of.block[d] < 1 || room < 0)
      fail("BF1014", "",
           fmt::format("a block that reaches {} in an image of {} with its pads", reach,
                       room + reach));
    of.count.push_back(room / of.stride[d] + 1);
  }
  return of;
}

// [batch, channels, image...] of [batch, channels x block, number of blocks].
void import_col_2_im(NodeImport& node) {
  const Shape input = node.input_shape(0);
  const Folding of = read_folding(node);
  const std::int64_t taps = element_count(of.block), blocks = element_count(of.count);
  if (input.size() != 3 || input[1] % taps != 0 || input[2] != blocks)
    fail("BF1014", "",
         fmt::format("columns of shape {} for {} blocks of {} elements", to_string(input), blocks,
                     taps));
  const std::int64_t channels = input[1] / taps;
  Shape output = {input[0], channels};
  output.insert(output.end(), of.image.begin(), of.image.end());
  node.check_size(output);
  // Each element of the image is the sum of these: tap times the number of blocks, plus block.
  std::vector<std::vector<std::int64_t>> covering(
      static_cast<std::size_t>(element_count(of.image)));
  const std::vector<std::int64_t> strides = row_major_strides(of.image);
  check_work(node, taps, blocks);
  for_each_index(of.block, [&](const std::vector<std::int64_t>& tap, std::int64_t tap_number) {
    for_each_index(of.count, [&](const std::vector<std::int64_t>& at, std::int64_t block) {
      std::int64_t to = 0;
      for (std::size_t d = 0; d < at.size(); ++d) {
        const std::int64_t i = at[d] * of.stride[d] - of.pad_begin[d] + tap[d] * of.dilation[d];
        if (i < 0 || i >= of.image[d]) return;
        to += i * strides[d];
      }
      covering[static_cast<std::size_t>(to)].push_back(tap_number * blocks + block);
    });
  });
  check_work(node, input[0] * channels, taps * blocks);
  RowBuilder rows(node);
  for (std::int64_t image = 0; image < input[0] * channels; ++image)
    for (const std::vector<std::int64_t>& columns : covering) {
      rows.begin();
      for (const std::int64_t column : columns) rows.add(image * taps * blocks + column);
    }
  node.emit(std::move(rows).finish_sums(node.input(0), output));
}

}  // namespace

OperatorRows fold_operators() {
  static constexpr OperatorImporter kRows[] = {
      {"Col2Im", import_col_2_im, 3, 3, 1, {"dilations", "pads", "strides"}},
  };
  return kRows;
}

}  // namespace bf_aot
