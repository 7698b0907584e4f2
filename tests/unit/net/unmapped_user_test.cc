#include "api/net/unmapped_user.h"

#include <gtest/gtest.h>

namespace muster::net {
namespace {

TEST(UnmappedUser, IsTheOverflowUidWhereSomeUsersAreNotMapped) {
  EXPECT_EQ(UnmappedUserOf("         0          0 4294967295\n", "65534\n"), std::nullopt);
  EXPECT_EQ(UnmappedUserOf("0 0 1000\n1000 1000 4294966295\n", "65534\n"), std::nullopt);
  // Rootless containers: one user, and a user with subordinate ones.
  EXPECT_EQ(UnmappedUserOf("0 1000 1\n", "65534\n"), 65534U);
  EXPECT_EQ(UnmappedUserOf("0 1000 1\n1 100000 65536\n", "65533\n"), 65533U);
  // What cannot be read is not trusted.
  EXPECT_EQ(UnmappedUserOf("", ""), 65534U);
}

}  // namespace
}  // namespace muster::net
