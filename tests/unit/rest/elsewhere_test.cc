// A daemon that does not lead: what it answers from its copy, what it sends to the leader, and when
// it answers nothing.
#include <gtest/gtest.h>

#include <string>

#include "api/rest/routes.h"
#include "tests/unit/rest/waiting_world.h"

namespace muster::test {
namespace {

constexpr const char* kLeader = "http://leader.example:8686";

// While it looks who asks, the daemon begins to lead.
class TakingTheLead final : public auth::Authenticator {
 public:
  Result<auth::Principal> Authenticate(const auth::Evidence& evidence) const override {
    if (lease != nullptr) lease->Leads();
    return known_.Authenticate(evidence);
  }
  Status StillGood(const auth::Principal& who) const override { return known_.StillGood(who); }
  LeaseBoard* lease = nullptr;

 private:
  const FixedAuthenticator known_;
};

class ElsewhereTest : public testing::Test {
 protected:
  ElsewhereTest() {
    world.lease.SetSelf({"own", "here", "http://here.example:1", 5000, false, {}});
    world.service.SetLease(&world.lease);
  }
  void AnotherLeads() {
    LeaseRow row;
    row.epoch.value = 3;
    row.id = "other";
    row.holder = "there";
    row.address = kLeader;
    row.since.us = 1'800'000'000'000'000;
    row.left_ms = row.ttl_ms = 5000;
    world.lease.Saw(row);
  }
  static std::string Location(const Answer& answer) {
    const std::size_t at = answer.head.find("Location: ");
    return at == std::string::npos
               ? ""
               : answer.head.substr(at + 10, answer.head.find("\r\n", at) - at - 10);
  }
  static bool Has(const Answer& answer, const std::string& line) {
    return answer.head.find(line) != std::string::npos;
  }
  WaitingWorld world;
};

TEST_F(ElsewhereTest, WithoutACopyEveryRouteOfTheWorldIsSentToTheLeader) {
  AnotherLeads();
  for (const auto& [method, path] : std::vector<std::pair<std::string, std::string>>{
           {"GET", "/v1/jobs?limit=3&state=Running"},
           {"POST", "/v1/namespaces/default/jobs?dryRun=true"},
           {"PUT", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues/a%2Db"},
           {"DELETE", "/v1/jobs/1"},
           {"GET", "/v1/events?since=4"}}) {
    const Answer answer = world.Ask(method, path);
    EXPECT_EQ(answer.status, 307) << method << " " << path;
    EXPECT_EQ(Location(answer), kLeader + path);
    EXPECT_TRUE(Has(answer, std::string("Muster-Leader: ") + kLeader)) << answer.head;
  }
  for (const char* path : {"/livez", "/version", "/metrics", "/openapi.yaml", "/apis"})
    EXPECT_EQ(world.Ask("GET", path).status, 200) << path;
}

// What a follower was told under the lead before may be lost with a server of the database.
TEST_F(ElsewhereTest, AStreamOfEventsEndsWhenThisDaemonHasBegunToLeadAnew) {
  const auto lead = [&](std::int64_t epoch) {
    LeaseRow now;
    now.epoch.value = epoch;
    now.id = "own";
    now.left_ms = now.ttl_ms = 5000;
    world.lease.Took({}, now);
    world.term->Begin(now.epoch, world.clock.Now(), world.clock.Now());
    world.lease.Leads();
  };
  while (!world.engine.View()->ready) world.engine.Step();
  lead(1);
  RawClient follower(world.server.port());
  follower.Send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(follower.ReadUntil(": following from "));
  lead(2);
  EXPECT_TRUE(follower.ReadUntil(": the stream ends: a new lead has begun"));
}

TEST_F(ElsewhereTest, ReadsAreAnsweredFromTheCopyWithItsAge) {
  AnotherLeads();
  world.lease.Copied(world.clock.Now());
  world.clock.Advance(1234);
  for (const char* path :
       {"/v1/jobs", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues", "/v1/quotas"}) {
    const Answer answer = world.Ask("GET", path);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    EXPECT_TRUE(Has(answer, "Muster-Copy-Age: 1.234\r\n")) << answer.head;
    EXPECT_TRUE(Has(answer, kLeader)) << answer.head;
  }
  for (const char* path :
       {"/v1/events", "/v1/jobs/1/logs", "/v1/jobs/1/pods", "/v1/jobs/1/member-events"})
    EXPECT_EQ(world.Ask("GET", path).status, 307) << path;
  EXPECT_EQ(world.Ask("POST", "/v1/namespaces/default/jobs").status, 307);
}

// What it has read may be of the copy, or of the world that it leads.
TEST(Elsewhere, AReadThatBeganBeforeTheLeadIsMarkedAsWell) {
  TakingTheLead authenticator;
  WaitingWorld world(&authenticator);
  world.lease.SetSelf({"own", "here", "http://here.example:1", 5000, false, {}});
  world.service.SetLease(&world.lease);
  while (!world.engine.View()->ready) world.engine.Step();
  world.term->Begin(Epoch{1}, world.clock.Now(), world.clock.Now());
  world.lease.Copied(world.clock.Now());
  world.clock.Advance(321);
  authenticator.lease = &world.lease;
  const Answer answer = world.Ask("GET", "/v1/jobs");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_NE(answer.head.find("Muster-Copy-Age: 0.321\r\n"), std::string::npos) << answer.head;
  EXPECT_EQ(world.Ask("GET", "/v1/jobs").head.find("Muster-Copy-Age"), std::string::npos);
}

TEST_F(ElsewhereTest, WhileNobodyIsKnownToLeadNothingIsCarriedOutAndTheAnswerSaysSo) {
  for (const char* method : {"GET", "POST"}) {
    const Answer answer = world.Ask(method, method[0] == 'G' ? "/v1/jobs" : "/v1/apply");
    EXPECT_EQ(answer.status, 503);
    EXPECT_TRUE(Has(answer, "Muster-Leader: none\r\n")) << answer.head;
    EXPECT_TRUE(Has(answer, "Retry-After: 1\r\n")) << answer.head;
  }
}

TEST_F(ElsewhereTest, ALeaderWhoseLeaseIsNotConfirmedAnswersNoReadAndNoWrite) {
  while (!world.engine.View()->ready) world.engine.Step();
  world.term->Begin(Epoch{1}, world.clock.Now(), world.clock.Now());
  EXPECT_EQ(world.Ask("GET", "/v1/jobs").status, 200);
  EXPECT_FALSE(Has(world.Ask("GET", "/v1/jobs"), "Muster-Copy-Age"));
  EXPECT_EQ(world.Ask("GET", "/readyz").status, 200);
  world.clock.Advance(1000);
  for (const char* method : {"GET", "POST"}) {
    const Answer answer = world.Ask(method, method[0] == 'G' ? "/v1/jobs" : "/v1/apply");
    EXPECT_EQ(answer.status, 503);
    EXPECT_NE(answer.body.find("has not confirmed this daemon's lease"), std::string::npos)
        << answer.body;
  }
  EXPECT_EQ(world.Ask("GET", "/readyz").status, 503);
  world.term->Renew(Epoch{1}, world.clock.Now());
  EXPECT_EQ(world.Ask("GET", "/v1/jobs").status, 200);
}

TEST_F(ElsewhereTest, StatusAndReadinessSayWhoLeadsSinceWhenAndWhere) {
  EXPECT_NE(world.Ask("GET", "/v1/status").body.find(R"("role":"none")"), std::string::npos);
  AnotherLeads();
  for (const char* path : {"/v1/status", "/readyz"}) {
    const std::string body = world.Ask("GET", path).body;
    for (const char* part : {R"("role":"standby")", kLeader, R"("host":"there")", R"("epoch":3)",
                             R"("since":"2027-01-15T08:00:00Z")"})
      EXPECT_NE(body.find(part), std::string::npos) << path << " " << part << " " << body;
  }
}

}  // namespace
}  // namespace muster::test
