// SharedHash against std::map: the same values after any edits, also where hashes collide, and
// copies that no later edit reaches.
#include "schedd/base/shared_hash.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace muster {
namespace {

// Values with the hash `value / 2 * spread`: two of each hash, and with a large spread many of a
// leaf.
struct Tested {
  explicit Tested(std::uint64_t spread_by) : spread(spread_by) {}
  std::uint64_t HashOf(int value) const { return static_cast<std::uint64_t>(value / 2) * spread; }
  auto Is(int value) const {
    return [value](const std::pair<int, int>& one) { return one.first == value; };
  }
  void Put(int value, int content) { hash.Put(HashOf(value), Is(value), {value, content}); }
  void Erase(int value) { hash.Erase(HashOf(value), Is(value)); }
  // -1 if there is none.
  int Find(int value) const {
    const auto* found = hash.Find(HashOf(value), Is(value));
    return found == nullptr ? -1 : found->second;
  }

  std::uint64_t spread;
  SharedHash<std::pair<int, int>> hash;
};

TEST(SharedHash, HasWhatAMapHas_AlsoWhereHashesCollide) {
  constexpr int kValues = 300;
  for (const std::uint64_t spread : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{4096},
                                     std::uint64_t{64 * 4096}, std::uint64_t{0x9e3779b97f4a7c15}}) {
    Tested tested(spread);
    std::map<int, int> expected;
    std::mt19937 random(7);
    for (int step = 0; step < 3000; ++step) {
      const int value = static_cast<int>(random() % kValues);
      if (random() % 3 == 0) {
        tested.Erase(value);
        expected.erase(value);
      } else {
        tested.Put(value, step);
        expected[value] = step;
      }
    }
    for (int value = 0; value < kValues; ++value) {
      const auto at = expected.find(value);
      EXPECT_EQ(tested.Find(value), at == expected.end() ? -1 : at->second) << spread;
    }
  }
}

TEST(SharedHash, ACopyStaysAsItWas) {
  Tested now(1);
  now.Put(4, 1);
  const Tested before = now;
  now.Put(4, 2);
  now.Put(5, 3);
  EXPECT_EQ(before.Find(4), 1);
  EXPECT_EQ(before.Find(5), -1);
  now.Erase(4);
  EXPECT_EQ(now.Find(4), -1);
  EXPECT_EQ(now.Find(5), 3) << "it has the hash of the one that went";
  EXPECT_EQ(before.Find(4), 1);
}

}  // namespace
}  // namespace muster
