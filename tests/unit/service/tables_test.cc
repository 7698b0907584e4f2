// Tables of jobs, and the ended jobs that are kept for them.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "api/service/ended_jobs.h"
#include "api/service/job_table.h"
#include "schedd/base/limits.h"
#include "tests/unit/service/service_world.h"

namespace muster::test {
namespace {

using api::EndedJobs;

constexpr std::int64_t kSecond = 1'000'000;

// Answers queries from a list of ended jobs, and counts the rows that it gave.
class Rows {
 public:
  void End(std::int64_t id, std::int64_t second, JobState state = JobState::kSucceeded,
           std::int64_t version = 1) {
    auto job = std::make_shared<JobRecord>();
    job->id = {id};
    job->state = state;
    job->end_time = {second * kSecond};
    job->resource_version = version;
    jobs_[id] = std::move(job);
  }
  Result<EndedJobs::List> Read(const JobQuery& query) {
    EndedJobs::List found;
    for (const auto& [id, job] : jobs_) {
      if (job->state == query.state && job->end_time >= query.ended_since &&
          found.size() < query.limit)
        found.push_back(job);
    }
    given_ += found.size();
    return found;
  }
  std::size_t TakeGiven() { return std::exchange(given_, 0); }

 private:
  std::map<std::int64_t, JobPtr> jobs_;
  std::size_t given_ = 0;
};

struct Kept {
  Rows rows;
  EndedJobs ended{[this](const JobQuery& query) { return rows.Read(query); }};

  // The ended jobs for a view with these numbers of events.
  std::vector<std::int64_t> Since(std::int64_t since, std::int64_t retired_seq,
                                  std::int64_t last_seq) {
    const auto list = Ask(since, retired_seq, last_seq);
    std::vector<std::int64_t> ids;
    for (const JobPtr& job : *list) ids.push_back(job->id.value);
    return ids;
  }
  std::shared_ptr<const EndedJobs::List> Ask(std::int64_t since, std::int64_t retired_seq,
                                             std::int64_t last_seq, std::int64_t now = 1000) {
    WorldView view;
    view.retired_seq = retired_seq;
    view.last_seq = last_seq;
    view.as_of = {now * kSecond};
    return *ended.Since({since * kSecond}, view);
  }
};

using Ids = std::vector<std::int64_t>;

TEST(EndedJobs, AreReadOnce_AndTheNewOnesWhenAJobHasLeftMemory) {
  Kept k;
  for (std::int64_t id = 1; id <= 100; ++id) k.rows.End(id, 1000 + id);
  EXPECT_EQ(k.Since(900, 50, 70).size(), 100u);
  EXPECT_EQ(k.rows.TakeGiven(), 100u);
  k.rows.End(101, 1150, JobState::kFailed);
  EXPECT_EQ(k.Since(900, 70, 90).size(), 100u) << "it is in memory";
  EXPECT_EQ(k.rows.TakeGiven(), 0u);
  EXPECT_EQ(k.Since(900, 71, 95).size(), 101u);
  EXPECT_LE(k.rows.TakeGiven(), 4u) << "the new one, and those of the last two seconds";
  EXPECT_EQ(k.Since(900, 95, 99).size(), 101u);
  EXPECT_EQ(k.rows.TakeGiven(), 0u);
}

TEST(EndedJobs, WhoseEndWasCommittedLate_AreThereBeforeTheyLeaveMemory) {
  Kept k;
  k.rows.End(2, 1000);
  k.Ask(1, 1, 1, 1001);
  k.rows.End(1, 990);  // decided earlier, committed later
  EXPECT_EQ(k.Ask(1, 2, 2, 1100)->size(), 1u);
  const std::int64_t leaves = 990 + limits::kFinishedJobsKeptMs / 1000;
  EXPECT_EQ(k.Ask(1, 2, 2, leaves)->size(), 2u);
}

TEST(EndedJobs, OfAJobThatRanAgain_AreItsLastEnd) {
  Kept k;
  k.rows.End(1, 100, JobState::kFailed);
  k.rows.End(2, 100);
  k.Ask(1, 1, 1);
  k.rows.End(1, 102, JobState::kSucceeded, 2);
  const auto list = k.Ask(1, 2, 2);
  ASSERT_EQ(list->size(), 2u);
  EXPECT_EQ((*list)[0]->state, JobState::kSucceeded);
}

TEST(EndedJobs, OfALaterTime_AreInTheListOfAnEarlierOne_AndNotTheOtherWayRound) {
  Kept k;
  k.rows.End(1, 100, JobState::kCancelled);
  k.rows.End(2, 500);
  EXPECT_EQ(k.Since(400, 1, 1), Ids{2});
  EXPECT_EQ(k.Since(50, 1, 1), (Ids{1, 2}));
  k.rows.TakeGiven();
  k.Since(400, 1, 1);
  EXPECT_EQ(k.rows.TakeGiven(), 0u);
  EXPECT_EQ(k.Since(0, 1, 1), (Ids{1, 2})) << "an unset time means all";
}

TEST(EndedJobs, AreReadAgain_AfterTheyWereForgotten) {
  Kept k;
  k.rows.End(1, 100);
  k.Since(1, 1, 1);
  k.ended.Forget();
  k.rows.TakeGiven();
  EXPECT_EQ(k.Since(1, 1, 1), Ids{1});
  EXPECT_EQ(k.rows.TakeGiven(), 1u);
}

TEST(EndedJobs, BeyondTheLimit_AreNotKept_AndNotCountedAgainSoon) {
  Kept k;
  for (std::size_t i = 0; i <= limits::kEndedJobsKept; ++i)
    k.rows.End(static_cast<std::int64_t>(i) + 1, 1000);
  EXPECT_EQ(k.Ask(1, 1, 1, 1001), nullptr);
  k.rows.TakeGiven();
  EXPECT_EQ(k.Ask(1, 1, 1, 1002), nullptr);
  EXPECT_EQ(k.rows.TakeGiven(), 0u);
  EXPECT_NE(k.Ask(2000, 1, 1, 2001), nullptr) << "a later time is less";
}

// What a table shows is what the list shows, page by page.
void ExpectTheSame(ServiceWorld& w, api::JobTables& tables, const api::JobFilter& filter,
                   const char* what) {
  const auto listed = w.service.ListJobs(w.alice, filter, "", 100);
  api::JobTableAsk ask;
  ask.filter = filter;
  ask.limit = 100;
  const auto table = tables.Piece(w.alice, ask);
  ASSERT_TRUE(listed.ok() && table.ok()) << what;
  EXPECT_EQ(table->items, listed->items) << what;
  EXPECT_EQ(table->total, listed->items.size()) << what;
}

TEST(Tables, ShowEveryJobOnce_WhereverItIs) {
  ServiceWorld w;
  std::vector<JobId> jobs;
  for (const char* name : {"a", "b", "c", "d"})
    jobs.push_back((*w.Submit(JobManifest(name))).job->id);
  w.world.Run();
  api::JobFilter failed;
  failed.states = {JobState::kFailed};
  api::JobFilter by_name;
  by_name.name = "b";
  api::JobTables tables(w.service);
  const auto check = [&](const char* when) {
    ExpectTheSame(w, tables, {}, when);
    ExpectTheSame(w, tables, failed, when);
    ExpectTheSame(w, tables, by_name, when);
  };
  check("all run");
  ASSERT_TRUE(w.world.members.End(w.world.KeyOf(jobs[0]), RemotePhase::kSucceeded));
  ASSERT_TRUE(w.world.members.End(w.world.KeyOf(jobs[1]), RemotePhase::kFailed));
  w.world.Run();
  check("two ended");
  ASSERT_TRUE(w.world.Do(JobVerb::kDelete, jobs[1]).ok());
  w.world.Run();
  ASSERT_EQ(w.world.engine->View()->jobs.Find(jobs[1]), nullptr);
  check("one of them was deleted at once");
  w.world.clock.Advance(limits::kFinishedJobsKeptMs + 1000);
  w.world.Run();
  ASSERT_EQ(w.world.engine->View()->jobs.Find(jobs[0]), nullptr);
  check("both left memory");
}

TEST(Tables, AreSearchedCountedAndCut) {
  ServiceWorld w;
  for (const char* name : {"alpha", "beta", "alphabet"})
    ASSERT_TRUE(w.Submit(JobManifest(name)).ok());
  api::JobTables tables(w.service);
  api::JobTableAsk ask;
  ask.text = "ALPHA";
  ask.order = api::JobColumn::kName;
  ask.descending = true;
  ask.limit = 1;
  const auto table = tables.Piece(w.alice, ask);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->total, 2u);
  ASSERT_EQ(table->items.size(), 1u);
  EXPECT_EQ(table->items[0]->name, "alphabet");
  const auto counts = tables.CountBy(w.alice, {}, "alpha", api::JobColumn::kQueue);
  ASSERT_TRUE(counts.ok());
  EXPECT_EQ(counts->at("queue").count, 2u);
}

}  // namespace
}  // namespace muster::test
