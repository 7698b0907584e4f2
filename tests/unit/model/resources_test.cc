#include "schedd/model/resources.h"

#include <gtest/gtest.h>

#include "schedd/base/quantity.h"

namespace muster {
namespace {

TEST(Resources, SetAmount_KeepsTheListSorted_AndReplaces) {
  ResourceList list;
  SetAmount(&list, "memory", 3);
  SetAmount(&list, "cpu", 1);
  SetAmount(&list, "nvidia.com/gpu", 8);
  SetAmount(&list, "cpu", 2);
  EXPECT_EQ(list, (ResourceList{{"cpu", 2}, {"memory", 3}, {"nvidia.com/gpu", 8}}));
}

TEST(Resources, AmountOf_AbsentResource_IsZero) {
  const ResourceList list{{"cpu", 2}, {"memory", 3}};
  EXPECT_EQ(AmountOf(list, "cpu"), 2);
  EXPECT_EQ(AmountOf(list, "memory"), 3);
  EXPECT_EQ(AmountOf(list, "gpu"), 0);
  EXPECT_EQ(AmountOf(list, "zzz"), 0);
  EXPECT_EQ(AmountOf({}, "cpu"), 0);
}

TEST(Resources, AddAmounts_MergesBothLists_AndSaturates) {
  ResourceList list{{"cpu", 2}, {"memory", kUnlimited - 1}};
  AddAmounts(&list, {{"gpu", 4}, {"memory", 5}});
  EXPECT_EQ(list, (ResourceList{{"cpu", 2}, {"gpu", 4}, {"memory", kUnlimited}}));
}

TEST(Resources, Scaled_MultipliesEveryAmount_AndSaturates) {
  EXPECT_EQ(Scaled({{"cpu", 3}, {"gpu", kUnlimited / 2}}, 4),
            (ResourceList{{"cpu", 12}, {"gpu", kUnlimited}}));
  EXPECT_EQ(Scaled({{"cpu", 3}}, 0), (ResourceList{{"cpu", 0}}));
}

TEST(Resources, MaxAmounts_TakesTheLargerOfEach) {
  ResourceList list{{"cpu", 5}, {"memory", 1}};
  MaxAmounts(&list, {{"cpu", 3}, {"gpu", 1}, {"memory", 2}});
  EXPECT_EQ(list, (ResourceList{{"cpu", 5}, {"gpu", 1}, {"memory", 2}}));
}

}  // namespace
}  // namespace muster
