#include "schedd/base/name_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(NameListTest, NamesStandBetweenCommas) {
  EXPECT_THAT(NamesIn("a,b,c"), testing::ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesIn("a"), testing::ElementsAre("a"));
  EXPECT_THAT(NamesIn("a,,b,"), testing::ElementsAre("a", "", "b", ""));
  EXPECT_THAT(NamesIn(""), testing::IsEmpty());
}

TEST(NameListTest, ANameIsInTheListOnlyAsAWhole) {
  EXPECT_TRUE(ListsName("ab,c", "c"));
  EXPECT_FALSE(ListsName("ab,c", "a"));
  EXPECT_FALSE(ListsName("", ""));
}

}  // namespace
}  // namespace muster
