// SharedMap against std::map: the same entries in the same order after any edits, and copies that
// no later edit reaches.
#include "schedd/base/shared_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace muster {
namespace {

using Map = SharedMap<std::string, int>;

std::vector<std::pair<std::string, int>> EntriesOf(const auto& map) {
  std::vector<std::pair<std::string, int>> entries;
  for (const auto& [key, value] : map) entries.emplace_back(key, value);
  return entries;
}

// A sequence of pseudo-random numbers that is the same in every run.
struct Numbers {
  unsigned next = 12345;
  unsigned operator()(unsigned below) {
    next = next * 1103515245U + 12345U;
    return (next >> 8) % below;
  }
};

TEST(SharedMap, HoldsWhatAStdMapHolds_AfterAnyEdits) {
  Numbers number;
  Map map;
  std::map<std::string, int> expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "key-" + std::to_string(number(3000));
    if (number(3) == 0) {
      EXPECT_EQ(map.erase(key), expected.erase(key) > 0);
    } else {
      map.insert_or_assign(key, i);
      expected[key] = i;
    }
    const std::string probe = "key-" + std::to_string(number(3000));
    const auto at = map.lower_bound(probe);
    const auto want = expected.lower_bound(probe);
    ASSERT_EQ(at == map.end(), want == expected.end());
    if (want != expected.end()) {
      ASSERT_EQ(at->first, want->first);
    }
    ASSERT_EQ(map.contains(probe), expected.contains(probe));
  }
  EXPECT_EQ(map.size(), expected.size());
  EXPECT_EQ(EntriesOf(map), EntriesOf(expected));
  for (const auto& [key, value] : expected) EXPECT_TRUE(map.erase(key)) << value;
  EXPECT_TRUE(map.empty());
  EXPECT_TRUE(map.begin() == map.end());
}

TEST(SharedMap, ACopyKeepsWhatItHad) {
  Map map;
  for (int i = 0; i < 1000; ++i) map.insert_or_assign(std::to_string(i), i);
  const Map copy = map;
  const auto before = EntriesOf(copy);
  map.insert_or_assign("500", -1);
  map.insert_or_assign("new", 1);
  map.erase("7");
  EXPECT_EQ(EntriesOf(copy), before);
  EXPECT_EQ(copy.at("500"), 500);
  EXPECT_EQ(map.at("500"), -1);
  EXPECT_FALSE(copy.contains("new"));
  EXPECT_FALSE(map.contains("7"));
}

}  // namespace
}  // namespace muster
