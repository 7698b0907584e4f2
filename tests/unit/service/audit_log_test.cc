// AuditLog and AuditingAuthorizer: what is noted, and what a flood of refusals costs (rules U32,
// U34).
#include "api/service/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/auth/auditing_authorizer.h"
#include "schedd/base/limits.h"
#include "tests/support/fake_clock.h"

namespace muster::api {
namespace {

using test::FakeClock;
using test::ManualTimers;

// Lets nobody but root do anything.
class OnlyRoot final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal& who, auth::Verb, const auth::ResourceRef&) const override {
    return who.user == "root";
  }
  bool AllowsPath(const auth::Principal& who, auth::Verb, std::string_view) const override {
    return who.user == "root";
  }
  Status Authorize(const auth::Principal& who, auth::Verb verb,
                   const auth::ResourceRef& what) const override {
    if (Allows(who, verb, what)) return Done{};
    return Error{Code::kPermissionDenied, "not " + who.user};
  }
};

auth::Principal Person(const std::string& user, const std::string& request = "") {
  auth::Principal who;
  who.user = user;
  who.method = "unix";
  who.groups = {"users"};
  who.source = "unix:1000";
  who.request_id = request;
  who.request = std::hash<std::string>{}(request);
  return who;
}

constexpr auth::ResourceRef kJob{"batch", "jobs", "", "team-a", "x"};
constexpr auth::ResourceRef kLog{"batch", "jobs", "log", "team-a", "x"};
constexpr auth::ResourceRef kSecrets{"", "secrets", "", "team-a", ""};

class AuditLogTest : public ::testing::Test {
 protected:
  Error Denied() const { return {Code::kPermissionDenied, "you may not"}; }
  std::int64_t Total() const {
    std::int64_t total = 0;
    for (const AuditRow& row : rows_) total += row.count;
    return total;
  }
  void NextMinute() {
    clock_.Advance(limits::kAuditSameMs);
    timers_.FireDue();
  }

  FakeClock clock_;
  ManualTimers timers_{clock_};
  std::vector<AuditRow> rows_;
  bool full_ = false;
  AuditLog log_{[this](AuditCommand command) {
    if (full_) return false;
    for (AuditRow& row : command.rows) rows_.push_back(std::move(row));
    return true;
                },
                clock_, timers_};
  OnlyRoot rules_;
  auth::AuditingAuthorizer authorizer_{rules_, log_};
};

TEST_F(AuditLogTest, ARefusalHasItsPersonVerbObjectAndCode) {
  EXPECT_FALSE(authorizer_.Authorize(Person("eve", "r1"), auth::Verb::kDelete, kJob).ok());
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].user, "eve");
  EXPECT_EQ(rows_[0].method, "unix");
  EXPECT_EQ(rows_[0].groups, std::vector<std::string>{"users"});
  EXPECT_EQ(rows_[0].source, "unix:1000");
  EXPECT_EQ(rows_[0].verb, "delete");
  EXPECT_EQ(rows_[0].object, "job/team-a/x");
  EXPECT_EQ(rows_[0].result, kAuditRefused);
  EXPECT_EQ(rows_[0].code, "PERMISSION_DENIED");
  EXPECT_EQ(rows_[0].request_id, "r1");
}

TEST_F(AuditLogTest, WhoSeesTheEndOfARefusedRequestNotesItNoSecondTime) {
  EXPECT_FALSE(authorizer_.Authorize(Person("eve", "r1"), auth::Verb::kDelete, kJob).ok());
  log_.Failed(Person("eve", "r1"), "delete", "/v1/jobs/7", NotFound("no such job"));
  EXPECT_EQ(rows_.size(), 1U);
  log_.Failed(Person("eve", "r2"), "delete", "/v1/jobs/7", NotFound("no such job"));
  ASSERT_EQ(rows_.size(), 2U);
  EXPECT_EQ(rows_[1].result, kAuditFailed);
  EXPECT_EQ(rows_[1].code, "NOT_FOUND");
}

TEST_F(AuditLogTest, ARefusedPathIsNotedOnce_InTheNameOfItsCaller) {
  const Status refused =
      authorizer_.AuthorizePath(Person("eve", "r1"), auth::Verb::kGet, "/metrics");
  ASSERT_FALSE(refused.ok());
  // The server sees a request that it does not admit, and knows only the connection.
  log_.Failed(auth::UnknownCaller(nullptr), "get", "/metrics", refused.error());
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].user, "eve");
  EXPECT_EQ(rows_[0].result, kAuditRefused);
}

TEST_F(AuditLogTest, FiltersAndOverloadAreNotNoted) {
  EXPECT_FALSE(authorizer_.Allows(Person("eve"), auth::Verb::kList, kJob));
  EXPECT_FALSE(authorizer_.AllowsPath(Person("eve"), auth::Verb::kGet, "/metrics"));
  log_.Failed(Person("eve"), "create", "/v1/x", Overloaded("later", 1));
  log_.Failed(Person("eve"), "create", "/v1/x", Unavailable("not ready"));
  EXPECT_TRUE(rows_.empty());
}

TEST(UnknownCallers, AreToldByTheirAccountOrTheirAddress) {
  net::Peer local, remote;
  local.kind = net::Peer::Kind::kUnix;
  local.uid = 1000;
  remote.address = "192.0.2.7:4321";
  EXPECT_EQ(auth::UnknownCaller(&local).source, "unix:1000");
  EXPECT_EQ(auth::UnknownCaller(&remote).source, "192.0.2.7:4321");
  EXPECT_EQ(auth::UnknownCaller(nullptr).source, "");
}

TEST_F(AuditLogTest, WhatTheEngineHasNotedIsNotNotedAgain) {
  Error taken = AlreadyExists("a job of this name exists");
  taken.audited = true;
  log_.Failed(Person("eve"), "create", "job", taken);
  EXPECT_TRUE(rows_.empty());
  NoteFailedItems(log_, Person("eve"), "team-a", {taken, AlreadyExists("found by the service")});
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].detail, "1 of 2 jobs were not taken; the first: found by the service");
}

TEST_F(AuditLogTest, ReadsOfLogsSecretsAndTheTrailAreNotedAndOthersAreNot) {
  const auth::Principal root = Person("root");
  EXPECT_TRUE(authorizer_.Authorize(root, auth::Verb::kGet, kLog).ok());
  EXPECT_TRUE(authorizer_.Authorize(root, auth::Verb::kList, kSecrets).ok());
  EXPECT_TRUE(
      authorizer_.Authorize(root, auth::Verb::kList, {"muster.io", "audit", "", "", ""}).ok());
  EXPECT_TRUE(authorizer_.Authorize(root, auth::Verb::kGet, kJob).ok());
  EXPECT_TRUE(authorizer_.Authorize(root, auth::Verb::kCreate, kSecrets).ok());
  std::vector<std::string> objects;
  for (const AuditRow& row : rows_) objects.push_back(row.verb + " " + row.object);
  EXPECT_THAT(objects, ::testing::ElementsAre("get job/team-a/x:log", "list secret/team-a",
                                              "list audit.muster.io"));
  EXPECT_EQ(rows_[0].result, kAuditAllowed);
}

TEST_F(AuditLogTest, AReadThatCannotBeNotedIsRefused) {
  full_ = true;
  const Status read = authorizer_.Authorize(Person("root"), auth::Verb::kGet, kLog);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kResourceExhausted);
  full_ = false;
  EXPECT_TRUE(authorizer_.Authorize(Person("root"), auth::Verb::kGet, kLog).ok());
  EXPECT_EQ(rows_.size(), 1U);
}

TEST_F(AuditLogTest, EqualRefusalsWithinAMinuteAreOneRowAndACount) {
  for (int i = 0; i < 1000; ++i) log_.Refused(Person("eve"), "delete", kJob, Denied());
  EXPECT_EQ(rows_.size(), 1U);
  NextMinute();
  ASSERT_EQ(rows_.size(), 2U);
  EXPECT_EQ(rows_[1].count, 999);
  EXPECT_EQ(rows_[1].object, "job/team-a/x");
  log_.Refused(Person("eve"), "delete", kJob, Denied());
  EXPECT_EQ(rows_.size(), 3U) << "in the next minute it is a new one";
  NextMinute();
  EXPECT_EQ(rows_.size(), 3U);
}

TEST_F(AuditLogTest, OneCallerHasABoundedNumberOfDifferentRefusals) {
  constexpr int kFlood = 100'000;
  for (int i = 0; i < kFlood; ++i) {
    const std::string name = std::to_string(i);
    log_.Refused(Person("eve"), "get", {"batch", "jobs", "", "team-a", name}, Denied());
  }
  log_.Refused(Person("bob"), "get", kJob, Denied());
  EXPECT_EQ(rows_.size(), limits::kAuditRefusalsPerCaller + 1) << "bob has a row of his own";
  NextMinute();
  ASSERT_EQ(rows_.size(), limits::kAuditRefusalsPerCaller + 2);
  EXPECT_EQ(rows_.back().user, "eve");
  EXPECT_EQ(rows_.back().object, "*");
  EXPECT_EQ(Total(), kFlood + 1);
}

// Callers without a name are told by their address, and a port is no other caller.
TEST_F(AuditLogTest, ManyCallersHaveABoundedNumberOfRows) {
  constexpr int kCallers = 20'000;
  for (int i = 0; i < kCallers; ++i) {
    auth::Principal unknown;
    unknown.source = "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ":4711";
    log_.Failed(unknown, "get", "/v1/jobs", {Code::kUnauthenticated, "who are you?"});
  }
  EXPECT_LE(rows_.size(), limits::kAuditDifferent / 4);
  NextMinute();
  EXPECT_LE(rows_.size(), limits::kAuditDifferent / 4 + 1)
      << "the rest is left to those with names";
  EXPECT_EQ(Total(), kCallers);
  rows_.clear();
  for (int port = 0; port < 100; ++port) {
    auth::Principal unknown;
    unknown.source = "10.0.0.1:" + std::to_string(port);
    log_.Failed(unknown, "get", "/v1/jobs", {Code::kUnauthenticated, "who are you?"});
  }
  EXPECT_EQ(rows_.size(), 1U);
}

TEST_F(AuditLogTest, AFullEngineLosesNoCount) {
  full_ = true;
  for (int i = 0; i < 10; ++i) log_.Refused(Person("eve"), "delete", kJob, Denied());
  NextMinute();
  EXPECT_TRUE(rows_.empty());
  full_ = false;
  NextMinute();
  ASSERT_EQ(rows_.size(), 1U);
  EXPECT_EQ(rows_[0].count, 10);
}

TEST_F(AuditLogTest, CloseWritesTheCountsAndEndsTheNotes) {
  log_.Refused(Person("eve"), "delete", kJob, Denied());
  log_.Refused(Person("eve"), "delete", kJob, Denied());
  log_.Close();
  EXPECT_EQ(Total(), 2);
  EXPECT_FALSE(log_.Read(Person("root"), auth::Verb::kGet, kLog).ok());
  NextMinute();
  EXPECT_EQ(Total(), 2);
}

}  // namespace
}  // namespace muster::api
