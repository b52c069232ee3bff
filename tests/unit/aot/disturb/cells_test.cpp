#include "aot/disturb/cells.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace bf_aot::disturb {
namespace {

constexpr Picture kPicture = {1, 4, 5, false};

std::vector<Parameter> parameters() {
  return read_disturbances({"rotation=-1/3..5", "occlusion=2"}, kPicture, "test");
}

TEST(Cells, HalvesHaveAllOfACellAndTheirBytesMeanThem) {
  const std::vector<Parameter> all = parameters();
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Cell cell = whole(all);
    for (int split = 0; split < 60; ++split) {
      const std::size_t side = random() % all.size();
      if (!can_split(all[side], cell[side])) continue;
      const auto [low, high] = halves_of(all, cell, side);
      for (std::size_t j = 0; j < all.size(); ++j) {
        if (j != side) {
          EXPECT_EQ(bytes_of({low[j]}), bytes_of({cell[j]}));
        } else if (all[j].is_place()) {
          EXPECT_EQ(low[j].first, cell[j].first);
          EXPECT_EQ(low[j].last + 1, high[j].first);
          EXPECT_EQ(high[j].last, cell[j].last);
        } else {
          const auto end = [](const Side& of, double sign) -> mpq_class {
            return mpq_class(of.middle()) + mpq_class(sign * of.half());
          };
          EXPECT_EQ(end(low[j], -1), end(cell[j], -1));
          EXPECT_EQ(end(low[j], 1), end(high[j], -1));
          EXPECT_EQ(end(high[j], 1), end(cell[j], 1));
        }
      }
      cell = random() % 2 == 0 ? low : high;
      const auto again = cell_from(all, bytes_of(cell));
      ASSERT_TRUE(again);
      EXPECT_EQ(bytes_of(*again), bytes_of(cell));
      EXPECT_EQ(middle_of(all, *again), middle_of(all, cell));
    }
  }
}

TEST(Cells, BytesThatAreNoCellAreRefused) {
  const std::vector<Parameter> all = parameters();
  Cell cell = whole(all);
  EXPECT_TRUE(cell_from(all, bytes_of(cell)));
  std::vector<std::byte> bytes = bytes_of(cell);
  bytes.pop_back();
  EXPECT_FALSE(cell_from(all, bytes));
  cell[0].index = 1;  // of one cell
  EXPECT_FALSE(cell_from(all, bytes_of(cell)));
  cell[0] = {0, kMostHalved + 1, 0, 0};
  EXPECT_FALSE(cell_from(all, bytes_of(cell)));
  cell = whole(all);
  cell[1].last = all[1].places;
  EXPECT_FALSE(cell_from(all, bytes_of(cell)));
  cell[1] = {0, 0, 2, 1};
  EXPECT_FALSE(cell_from(all, bytes_of(cell)));
}

TEST(Cells, TheGridHasTheEnds) {
  const std::vector<Parameter> all = parameters();
  const std::vector<Position> grid = grid_of(all);
  EXPECT_EQ(grid.size(), 125U);
  std::map<std::size_t, std::pair<mpq_class, mpq_class>> ends;
  for (const Position& point : grid) {
    const std::vector<mpq_class> at = parameters_at(all, point);
    for (std::size_t j = 0; j < at.size(); ++j) {
      const auto [found, fresh] = ends.try_emplace(j, at[j], at[j]);
      found->second = {std::min(found->second.first, at[j]), std::max(found->second.second, at[j])};
    }
  }
  EXPECT_EQ(ends[0], std::pair(mpq_class(-1, 3), mpq_class(5)));
  EXPECT_EQ(ends[1], std::pair(mpq_class(0), mpq_class(2)));
  EXPECT_EQ(ends[2], std::pair(mpq_class(0), mpq_class(3)));
}

}  // namespace
}  // namespace bf_aot::disturb
