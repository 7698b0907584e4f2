// StreamCounts: one limit for all streams of a user, whichever server they are open on.
#include "api/service/stream_counts.h"

#include <gtest/gtest.h>

#include <vector>

#include "schedd/model/access.h"

namespace muster::api {
namespace {

auth::Principal StreamUser(const std::string& name) {
  auth::Principal who;
  who.user = name;
  return who;
}

TEST(StreamCounts, CopiesCountTogether_AndAnEndedStreamIsCountedNoMore) {
  const StreamCounts rest(2);
  const StreamCounts grpc = rest;
  auto first = rest.Take(StreamUser("ada"));
  const auto second = grpc.Take(StreamUser("ada"));
  ASSERT_TRUE(first.ok() && second.ok());
  for (const StreamCounts* server : {&rest, &grpc}) {
    const auto third = server->Take(StreamUser("ada"));
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, Code::kResourceExhausted);
    EXPECT_GT(third.error().retry_after_ms, 0);
    EXPECT_TRUE(server->Take(StreamUser("bob")).ok()) << "others have their own";
  }
  std::move(first).value().reset();
  EXPECT_TRUE(grpc.Take(StreamUser("ada")).ok());
}

TEST(StreamCounts, MastersAndAnEmptyLimitAreNotBounded) {
  auth::Principal root = StreamUser("root");
  root.groups = {kMastersGroup};
  const StreamCounts one(1), any(0);
  std::vector<std::shared_ptr<const void>> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(one.Take(root).value());
    held.push_back(any.Take(StreamUser("ada")).value());
  }
  EXPECT_EQ(held.size(), 6U);
}

TEST(StreamCounts, AStreamMayOutliveTheCounter) {
  std::shared_ptr<const void> held;
  {
    const StreamCounts counts(1);
    held = counts.Take(StreamUser("ada")).value();
  }
  held.reset();
}

}  // namespace
}  // namespace muster::api
