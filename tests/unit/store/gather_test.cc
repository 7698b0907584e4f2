// When a group of writes waits for company: a pure policy, in tables.
#include "schedd/store/pg/gather.h"

#include <gtest/gtest.h>

namespace muster::pg {
namespace {

// One group as the writer sends it; `comes` further rows arrive during a wait.
std::size_t Send(Gather* gather, std::size_t rows, std::size_t comes) {
  const std::size_t target = gather->Target(rows);
  const std::size_t sent = target > rows ? rows + comes : rows;
  gather->Sent(rows, target, sent);
  return target;
}

TEST(Gather, TheFirstGroup_IsSentAtOnce) {
  Gather gather;
  EXPECT_EQ(gather.Target(1), 1u);
}

TEST(Gather, ClientsJustAnswered_AreWaitedFor) {
  Gather gather;
  Send(&gather, 4, 0);
  EXPECT_EQ(gather.Target(3), 7u);
}

TEST(Gather, ALargeGroup_WaitsForNobody) {
  Gather gather;
  Send(&gather, 1000, 0);
  EXPECT_EQ(gather.Target(Gather::kEnoughRows), Gather::kEnoughRows);
  EXPECT_EQ(gather.Target(10), Gather::kEnoughRows);
}

TEST(Gather, ALoneClient_PaysForFewTrialsOnly) {
  Gather gather;
  int waits = 0;
  for (int i = 0; i < 1000; ++i) waits += Send(&gather, 1, 0) > 1 ? 1 : 0;
  EXPECT_GE(waits, 1);
  EXPECT_LE(waits, 25);
}

TEST(Gather, AWaitThatPays_IsTakenAgainAtOnce) {
  Gather gather;
  Send(&gather, 2, 0);
  for (int i = 0; i < 100; ++i) EXPECT_GT(Send(&gather, 2, 2), 2u);
}

TEST(Gather, AfterALonePeriod_CompanyIsFoundWithinThePause) {
  Gather gather;
  for (int i = 0; i < 1000; ++i) Send(&gather, 1, 0);
  int until = 0;
  while (Send(&gather, 2, 2) == 2 && until <= Gather::kLongestPause) ++until;
  EXPECT_LE(until, Gather::kLongestPause);
  EXPECT_GT(Send(&gather, 2, 2), 2u);
}

}  // namespace
}  // namespace muster::pg
