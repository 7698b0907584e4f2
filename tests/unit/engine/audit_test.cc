// The audit trail as the engine writes it: a row for each submission with its jobs, rows of
// refusals and reads, versions, and retention (rules U30, U33, U35).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/base/limits.h"
#include "schedd/model/audit_chain.h"
#include "tests/support/engine_world.h"

namespace muster::test {
namespace {

Actor Ada() { return {"ada", "unix", {"users"}, "", "unix:1000", "r1"}; }

using SubmitAnswer = std::optional<Result<std::vector<Result<SubmittedJob>>>>;

void Post(EngineWorld* world, std::vector<Submission> jobs, SubmitAnswer* answer = nullptr) {
  SubmitCommand command;
  command.actor = Ada();
  command.jobs = std::move(jobs);
  command.done = [answer](Result<std::vector<Result<SubmittedJob>>> results) {
    if (answer != nullptr) *answer = std::move(results);
  };
  world->engine->Post(std::move(command));
}

std::vector<AuditRow> Rows(EngineWorld* world) {
  AuditQuery query;
  query.verb = "create";
  query.object = "job/";
  return world->store.ReadAudit(query).value();
}

AuditRow Refusal(const std::string& object) {
  AuditRow row;
  row.time = {1};
  row.user = "eve";
  row.verb = "delete";
  row.object = object;
  row.result = kAuditRefused;
  row.code = "PERMISSION_DENIED";
  return row;
}

TEST(EngineAudit, ASubmissionHasARowInTheWriteOfItsJob) {
  EngineWorld world(1, {}, {.manual = true});
  Post(&world, {MakeSubmission({.name = "a"})});
  world.Settle();
  EXPECT_TRUE(Rows(&world).empty());
  world.store.DrainOne();
  const std::vector<AuditRow> rows = Rows(&world);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].user, "ada");
  EXPECT_EQ(rows[0].method, "unix");
  EXPECT_EQ(rows[0].groups, std::vector<std::string>{"users"});
  EXPECT_EQ(rows[0].source, "unix:1000");
  EXPECT_EQ(rows[0].request_id, "r1");
  EXPECT_THAT(rows[0].object, ::testing::MatchesRegex("job/.*/a"));
  EXPECT_EQ(rows[0].result, kAuditAllowed);
  EXPECT_EQ(rows[0].detail, "job 1");
  EXPECT_GT(rows[0].new_version, 0);
}

TEST(EngineAudit, ABatchIsOneRowWithTheRangeOfItsJobs) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  Post(&world, {MakeSubmission({.name = "a"}), MakeSubmission({.name = "b"}),
                MakeSubmission({.name = "c"})});
  world.Settle();
  const std::vector<AuditRow> rows = Rows(&world);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].detail, "3 jobs, 1-3: a b c");
}

TEST(EngineAudit, ATakenNameHasASecondRowThatSaysSo) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  Post(&world, {MakeSubmission({.name = "a"})});
  world.Settle();
  Submission same = MakeSubmission({.name = "a"});
  same.draft->uid = UidOf("another job of this name");
  SubmitAnswer answer;
  Post(&world, {std::move(same)}, &answer);
  world.Settle();
  const std::vector<AuditRow> rows = Rows(&world);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].result, kAuditFailed);
  EXPECT_EQ(rows[2].code, "ALREADY_EXISTS");
  EXPECT_EQ(rows[2].request_id, rows[1].request_id);
  EXPECT_THAT(rows[2].detail, ::testing::HasSubstr("job 2"));
  ASSERT_TRUE(answer && answer->ok() && !(**answer)[0].ok());
  EXPECT_TRUE((**answer)[0].error().audited) << "a frontend would note it again";
}

TEST(EngineAudit, TheRowOfATakenNameOutlivesALostTransaction) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  Post(&world, {MakeSubmission({.name = "a"})});
  world.Settle();
  Submission same = MakeSubmission({.name = "a"});
  same.draft->uid = UidOf("another job of this name");
  world.store.InjectFault(2, StoreFault::kUnavailable);  // after the write of the submission
  Post(&world, {std::move(same)});
  world.Settle();
  world.clock.Advance(60'000);
  world.Settle();
  const std::vector<AuditRow> rows = Rows(&world);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[2].code, "ALREADY_EXISTS");
}

TEST(EngineAudit, ARefusalIsWrittenWithTheNextTransaction) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.engine->Post(AuditCommand{{Refusal("job/a/b")}});
  world.Settle();
  AuditQuery query;
  query.user = "eve";
  const auto rows = world.store.ReadAudit(query);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().result, kAuditRefused);
}

TEST(EngineAudit, RowsAreKeptWhileTheDatabaseIsAway) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.store.SetAway(true);
  for (int i = 0; i < 3; ++i)
    world.engine->Post(AuditCommand{{Refusal("job/a/" + std::to_string(i))}});
  world.Settle();
  world.engine->Post(AuditCommand{{Refusal("job/a/later")}});
  world.Settle();
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Settle();
  AuditQuery query;
  query.user = "eve";
  EXPECT_EQ(world.store.ReadAudit(query)->size(), 4U);
}

TEST(EngineAudit, WhatIsTooMuchIsCounted) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.store.SetAway(true);
  AuditCommand command;
  command.rows.assign(limits::kAuditKept + 5, Refusal("job/a/b"));
  world.engine->Post(std::move(command));
  world.Settle();
  world.store.SetAway(false);
  world.clock.Advance(60'000);
  world.Settle();
  AuditQuery query;
  query.limit = 2 * limits::kAuditKept;
  query.user = "eve";
  EXPECT_EQ(world.store.ReadAudit(query)->size(), limits::kAuditKept);
  query.user = "";
  query.object = "audit";
  const auto lost = world.store.ReadAudit(query);
  ASSERT_EQ(lost->size(), 1U);
  EXPECT_EQ(lost->front().count, 5);
}

TEST(EngineAudit, AnEditHasTheVersionsBeforeAndAfter) {
  EngineWorld world;
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  world.Declare({{"cpu", 8000}}, {{"cpu", 8000}});
  AuditQuery query;
  query.object = "clusterqueue/cq";
  const auto rows = world.store.ReadAudit(query);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].verb, "create");
  EXPECT_EQ((*rows)[0].old_version, 0);
  EXPECT_EQ((*rows)[1].verb, "update");
  EXPECT_EQ((*rows)[1].old_version, (*rows)[0].new_version);
  EXPECT_GT((*rows)[1].new_version, (*rows)[1].old_version);
}

TEST(EngineAudit, RetentionRemovesWholeDaysAndTheRestStaysVerifiable) {
  constexpr std::int64_t kDayMs = 86'400'000;
  EngineOptions options;
  options.audit_retention_ms = 2 * kDayMs;
  EngineWorld world(1, options);
  world.Declare({{"cpu", 4000}}, {{"cpu", 8000}});
  for (int day = 0; day < 6; ++day) {
    Post(&world, {MakeSubmission({.name = "day" + std::to_string(day)})});
    world.Settle();
    world.clock.Advance(kDayMs);
    world.Settle();
  }
  const auto rows = world.store.ReadAudit(AuditQuery{});
  const auto anchor = world.store.ReadAuditAnchor();
  ASSERT_TRUE(rows.ok() && anchor.ok());
  EXPECT_GT(anchor->last_id, 0);
  EXPECT_EQ(rows->front().id, anchor->last_id + 1);
  EXPECT_GE(rows->front().time.us / 1000, world.clock.WallNow().us / 1000 - 4 * kDayMs);
  AuditVerifier verifier(*anchor);
  for (const AuditRow& row : *rows) EXPECT_EQ(verifier.Check(row), "");
}

}  // namespace
}  // namespace muster::test
