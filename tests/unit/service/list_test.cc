#include <gtest/gtest.h>

#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using api::JobFilter;

std::vector<std::int64_t> AllPages(ServiceWorld& w, const JobFilter& filter, std::size_t size) {
  std::vector<std::int64_t> ids;
  std::string token;
  do {
    const auto page = w.service.ListJobs(w.alice, filter, token, size);
    EXPECT_TRUE(page.ok());
    if (!page.ok()) break;
    EXPECT_LE(page->items.size(), size);
    for (const JobPtr& job : page->items) ids.push_back(job->id.value);
    token = page->next_page_token;
  } while (!token.empty() && ids.size() < 1000);
  return ids;
}

TEST(ListJobs, PagesOfAnySize_GiveEveryJobOnceInIdOrder) {
  ServiceWorld w;
  std::vector<std::int64_t> expected;
  for (int i = 0; i < 7; ++i)
    expected.push_back((*w.Submit(JobManifest("j" + std::to_string(i)))).job->id.value);
  for (const std::size_t size : {1u, 2u, 3u, 7u, 100u})
    EXPECT_EQ(AllPages(w, {}, size), expected) << size;
}

TEST(ListJobs, JobsWhoseObjectIsGone_StayListedAsHistory_UnlessAskedNotTo) {
  ServiceWorld w;
  const JobId ended = (*w.Submit(JobManifest("a"))).job->id;
  w.world.Run();
  ASSERT_TRUE(w.world.members.End(w.world.KeyOf(ended), RemotePhase::kSucceeded));
  w.world.Run();
  ASSERT_TRUE(w.world.Do(JobVerb::kDelete, ended).ok());
  w.world.Run();
  ASSERT_EQ(w.world.engine->View()->jobs.Find(ended), nullptr);
  const auto page = w.service.ListJobs(w.alice, {}, "", 10);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->items.size(), 1u) << "sacct reads this list";
  EXPECT_EQ(page->items[0]->id, ended);
  EXPECT_EQ(page->items[0]->state, JobState::kSucceeded);
  EXPECT_TRUE(w.service.GetJob(w.alice, std::to_string(ended.value)).ok()) << "and sacct -j this";
  EXPECT_EQ(w.service.Attempts(w.alice, page->items)->size(), 1u);
  api::JobFilter objects;
  objects.include_deleted = false;
  EXPECT_TRUE(w.service.ListJobs(w.alice, objects, "", 10)->items.empty());
}

TEST(ListJobs, JobsThatLeftMemory_AreStillListedInTheirPlace) {
  ServiceWorld w;
  const JobId first = (*w.Submit(JobManifest("a"))).job->id;
  w.world.Run();
  ASSERT_TRUE(w.world.members.End(w.world.KeyOf(first), RemotePhase::kSucceeded));
  w.world.Run();
  const JobId second = (*w.Submit(JobManifest("b"))).job->id;
  w.world.clock.Advance(3'600'000);
  w.world.Run();
  w.world.Restart();  // what ended long ago is not loaded again
  w.world.Run();
  ASSERT_EQ(w.world.engine->View()->jobs.Find(first), nullptr);
  api::SchedulerService service(*w.world.engine, w.world.store, w.world.random, w.authorizer, {});
  const auto page = service.ListJobs(w.alice, {}, "", 10);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->items.size(), 2u);
  EXPECT_EQ(page->items[0]->id, first);
  EXPECT_EQ(page->items[1]->id, second);
  EXPECT_EQ((*service.GetJob(w.alice, std::to_string(first.value)))->state, JobState::kSucceeded);
}

TEST(ListJobs, Filters_LeaveOutWhatTheyDoNotName) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("other", "cq")}).ok());
  const std::int64_t a = (*w.Submit(JobManifest("a", "queue", "4"))).job->id.value;
  const std::int64_t b = (*w.Submit(JobManifest("b", "other", "4"))).job->id.value;
  JobFilter by_queue, by_state, by_user, by_ns;
  by_queue.queue = "other";
  by_state.states = {JobState::kAdmitted, JobState::kRunning};
  by_user.user = "bob";
  by_ns.ns = "default";
  EXPECT_EQ(AllPages(w, by_queue, 10), std::vector<std::int64_t>{b});
  EXPECT_EQ(AllPages(w, by_state, 10), std::vector<std::int64_t>{a});
  EXPECT_TRUE(AllPages(w, by_user, 10).empty());
  EXPECT_EQ(AllPages(w, by_ns, 10).size(), 2u);
}

TEST(ListJobs, AForeignPageToken_IsRefused) {
  ServiceWorld w;
  for (const char* token : {"x", "after-", "after-x", "after--1", "after-1x"}) {
    EXPECT_EQ(w.service.ListJobs(w.alice, {}, token, 10).error().code, Code::kInvalidArgument)
        << token;
  }
}

TEST(GetJob, ByNumberUidOrName_IsTheSameJob) {
  ServiceWorld w;
  const JobPtr job = (*w.Submit(JobManifest("a"))).job;
  for (const std::string& id :
       {std::to_string(job->id.value), job->uid.ToString(), std::string("default/a")}) {
    const Result<JobPtr> found = w.service.GetJob(w.alice, id);
    ASSERT_TRUE(found.ok()) << id << ": " << found.error().detail;
    EXPECT_EQ((*found)->id, job->id);
  }
  for (const char* id :
       {"99", "default/b", "x", "/", "-1", "", "00000000-0000-4000-8000-000000000000"}) {
    EXPECT_EQ(w.service.GetJob(w.alice, id).error().code, Code::kNotFound) << id;
  }
}

TEST(ChangeJob, CancelsAndHolds_AndUnknownJobsAreNotFound) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("big", "queue", "4")).ok());
  const JobPtr waiting = (*w.Submit(JobManifest("a", "queue", "4"))).job;
  const auto change = [&](const std::string& id, JobVerb verb) {
    std::optional<Result<JobPtr>> answer;
    w.service.ChangeJob(w.alice, id, verb, [&](Result<JobPtr> job) { answer = std::move(job); });
    w.world.Settle();
    return *answer;
  };
  EXPECT_EQ((*change("default/a", JobVerb::kHold))->state, JobState::kHeld);
  EXPECT_EQ((*change("default/a", JobVerb::kRelease))->state, JobState::kPending);
  EXPECT_EQ((*change(waiting->uid.ToString(), JobVerb::kCancel))->state, JobState::kCancelled);
  EXPECT_EQ(change("4711", JobVerb::kCancel).error().code, Code::kNotFound);
}

TEST(Explain, GivesThePositionInTheQueue) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("big", "queue", "4")).ok());
  ASSERT_TRUE(w.Submit(JobManifest("a", "queue", "4")).ok());
  w.world.clock.Advance(1000);
  ASSERT_TRUE(w.Submit(JobManifest("b", "queue", "4")).ok());
  EXPECT_EQ(w.service.Explain(w.alice, "default/big")->why.place.position, 0u);
  EXPECT_EQ(w.service.Explain(w.alice, "default/a")->why.place.position, 1u);
  EXPECT_EQ(w.service.Explain(w.alice, "default/b")->why.place.position, 2u);
  EXPECT_FALSE(w.service.Explain(w.alice, "default/b")->why.summary.empty());
}

TEST(Logs, OfAJobThatNeverRan_AreRefusedWithASentence) {
  ServiceWorld w;
  ASSERT_TRUE(w.Submit(JobManifest("big", "queue", "40")).ok());
  const auto log = w.service.ReadLog(w.alice, "default/big", {});
  ASSERT_FALSE(log.ok());
  EXPECT_EQ(log.error().code, Code::kFailedPrecondition);
  EXPECT_TRUE(w.service.Pods(w.alice, "default/big")->empty());
}

TEST(NotReady, Writes_AreUnavailable) {
  MemoryStore store;
  store.SetAway(true);
  EngineWorld world;  // supplies clock, random and members
  Metrics metrics;
  Engine engine(store, world.clock, world.random, world.members, metrics, {}, nullptr);
  ListAuthorizer authorizer;
  api::SchedulerService service(engine, store, world.random, authorizer, {});
  std::optional<Result<SubmittedJob>> answer;
  service.SubmitJob({}, {"", JobManifest("a"), ""},
                    [&](Result<SubmittedJob> result) { answer = std::move(result); });
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().code, Code::kUnavailable);
  EXPECT_GT(answer->error().retry_after_ms, 0);
}

JobId EndedJob(ServiceWorld& w, const std::string& name) {
  const JobId id = (*w.Submit(JobManifest(name))).job->id;
  w.world.Run();
  MUSTER_CHECK(w.world.members.End(w.world.KeyOf(id), RemotePhase::kSucceeded));
  w.world.Run();
  return id;
}

json::value NamedScript(const std::string& name) {
  return Json(R"({"script":"#!/bin/sh\ntrue\n","queue":"queue","name":")" + name + "\"}");
}

TEST(NamedJobs, AListByName_HasObjectsAndScriptsOfTheName_EndedOnesToo) {
  ServiceWorld w;
  const std::int64_t object = EndedJob(w, "train").value;
  const std::int64_t script = (*w.Submit(NamedScript("train"))).job->id.value;
  ASSERT_TRUE(w.Submit(JobManifest("train-2")).ok());
  JobFilter filter;
  filter.name = "train";
  EXPECT_EQ(AllPages(w, filter, 1), (std::vector<std::int64_t>{object, script}));
  w.world.clock.Advance(3'600'000);
  w.world.Run();
  w.world.Restart();  // what ended long ago is read from the store
  w.world.Run();
  ASSERT_EQ(w.world.engine->View()->jobs.Find(JobId{object}), nullptr);
  api::SchedulerService service(*w.world.engine, w.world.store, w.world.random, w.authorizer, {});
  const auto page = service.ListJobs(w.alice, filter, "", 10);
  ASSERT_TRUE(page.ok());
  ASSERT_EQ(page->items.size(), 2U);
  EXPECT_EQ(page->items[0]->id.value, object);
}

TEST(NamedJobs, ANameMeansTheOneThatHasNotEnded_AndSeveralAreRefusedWithTheirList) {
  ServiceWorld w;
  EXPECT_EQ(w.service.GetJob(w.alice, "default/train").error().code, Code::kNotFound);
  const JobId ended = EndedJob(w, "train");
  EXPECT_EQ((*w.service.GetJob(w.alice, "default/train"))->id, ended) << "the only one";
  const JobId live = (*w.Submit(NamedScript("train"))).job->id;
  EXPECT_EQ((*w.service.GetJob(w.alice, "default/train"))->id, live);
  const JobId second = (*w.Submit(NamedScript("train"))).job->id;
  const auto several = w.service.GetJob(w.alice, "default/train");
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(HttpStatus(several.error().code), 409);
  for (const JobId id : {live, second})
    EXPECT_NE(several.error().detail.find(std::to_string(id.value) + " (BatchScript, "),
              std::string::npos)
        << several.error().detail;
  EXPECT_NE(several.error().detail.find("submitted 20"), std::string::npos);
  EXPECT_EQ(several.error().detail.find(std::to_string(ended.value) + " (Job"), std::string::npos)
      << "ended ones are not meant";
  std::optional<Code> code;
  w.service.ChangeJob(w.alice, "default/train", JobVerb::kCancel, [&code](Result<JobPtr> job) {
    code = job.ok() ? Code::kOk : job.error().code;
  });
  w.world.Settle();
  EXPECT_EQ(code, Code::kFailedPrecondition) << "and nothing was cancelled";
  EXPECT_FALSE(IsTerminal(w.world.StateOf(second)));
}

TEST(NamedJobs, SeveralEndedOnes_AreNoAnswerEither) {
  ServiceWorld w;
  for (int i = 0; i < 2; ++i) {
    const JobId id = (*w.Submit(NamedScript("train"))).job->id;
    w.world.Run();
    ASSERT_TRUE(w.world.members.End(w.world.KeyOf(id), RemotePhase::kSucceeded));
    w.world.Run();
  }
  EXPECT_EQ(w.service.GetJob(w.alice, "default/train").error().code, Code::kFailedPrecondition);
}

TEST(Audit, TheTrailIsReadOldestFirst_SinceATime_AndOnlyByWhoMay) {
  ServiceWorld w;
  ASSERT_TRUE(w.world.Apply({LocalQueueObject("other", "cq")}).ok());
  w.world.clock.Advance(60'000);
  const WallTime since = w.world.clock.WallNow();
  ASSERT_TRUE(w.world.Apply({ClusterQueueObject({.nominal = {{"cpu", 6000}}})}).ok());
  AuditQuery query;
  query.last = true;
  query.limit = 100;
  const auto all = w.service.Audit(w.alice, query);
  ASSERT_TRUE(all.ok());
  ASSERT_GE(all->size(), 3U);
  EXPECT_EQ(all->back().object, "clusterqueue/cq");
  query.limit = 2;
  EXPECT_EQ(w.service.Audit(w.alice, query)->size(), 2U);
  EXPECT_EQ(w.service.Audit(w.alice, query)->back().object, "clusterqueue/cq");
  query.since = since;
  EXPECT_EQ(w.service.Audit(w.alice, query)->size(), 1U);
  w.authorizer.refused_user = "alice";
  EXPECT_EQ(w.service.Audit(w.alice, query).error().code, Code::kPermissionDenied);
}

}  // namespace
}  // namespace muster::test
