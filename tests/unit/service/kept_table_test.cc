// Tables that follow the jobs as they change are those that one would make anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "api/service/kept_tables.h"
#include "schedd/base/limits.h"

namespace muster::test {
namespace {

using api::CountJob;
using api::EndedJobs;
using api::JobColumn;
using api::JobCounts;
using api::JobSource;
using api::KeptTable;
using api::KeptTables;
using api::TableKey;

constexpr std::int64_t kSecondUs = 1'000'000;

JobPtr Record(std::int64_t id, const std::string& name, JobState state, std::int64_t end_second = 0,
              int priority = 0) {
  auto job = std::make_shared<JobRecord>();
  job->id = {id};
  job->name = name;
  job->ns = id % 3 == 0 ? "a" : "b";
  job->state = state;
  job->priority = priority;
  job->submit_time = {id % 7 * kSecondUs};
  job->end_time = {end_second * kSecondUs};
  return job;
}

// What is in the table, found as simply as possible: numbers in its order.
std::vector<std::int64_t> Expected(const TableKey& key, const JobSource& source) {
  std::vector<const JobRecord*> jobs;
  source.ForEach([&](const JobPtr& job) {
    if (key.Takes(*job)) jobs.push_back(job.get());
  });
  std::stable_sort(jobs.begin(), jobs.end(), [&](const JobRecord* a, const JobRecord* b) {
    return api::HasNumber(key.column) ? NumberOf(*a, key.column) < NumberOf(*b, key.column)
                                      : TextOf(*a, key.column) < TextOf(*b, key.column);
  });
  std::vector<std::int64_t> ids;
  for (const JobRecord* job : jobs) ids.push_back(job->id.value);
  return ids;
}

JobCounts ExpectedCounts(const TableKey& key, const JobSource& source) {
  JobCounts counts;
  source.ForEach([&](const JobPtr& job) {
    if (key.Takes(*job)) CountJob(*job, key.column, 1, &counts);
  });
  return counts;
}

void ExpectTheTable(const KeptTable& table, const TableKey& key, const JobSource& source) {
  if (key.counted) {
    const JobCounts expected = ExpectedCounts(key, source);
    std::size_t total = 0;
    ASSERT_EQ(table.counts().size(), expected.size());
    for (const auto& [value, count] : expected) {
      ASSERT_EQ(table.counts().at(value).count, count.count) << value;
      ASSERT_EQ(table.counts().at(value).states, count.states) << value;
      total += count.count;
    }
    ASSERT_EQ(table.size(), total);
    return;
  }
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < table.size(); ++i) ids.push_back(table.At(i)->id.value);
  ASSERT_EQ(ids, Expected(key, source));
}

// Jobs of two sources, the world's and the store's, that change at random.
class ChangingJobs {
 public:
  explicit ChangingJobs(std::uint32_t seed) : random_(seed) {}

  void Change() {
    switch (Below(8)) {
      case 0:
      case 1:
      case 2:
        return live_.Put(Some(++newest_));
      case 3:
        return live_.Erase({1 + Below(newest_ + 1)});
      case 4: {
        // The list of ended jobs is read anew, with or without those that are in memory.
        auto list = std::make_shared<EndedJobs::List>();
        for (std::int64_t id = 1; id <= newest_; ++id) {
          const JobPtr kept = Below(3) == 0 ? nullptr : live_.Find({id});
          if (kept != nullptr && IsTerminal(kept->state)) list->push_back(kept);
          if (kept == nullptr && Below(4) == 0) list->push_back(Ended(id));
        }
        ended_ = std::move(list);
        return;
      }
      default:
        return live_.Put(Some(1 + Below(newest_ + 1)));
    }
  }
  JobSource Now() {
    live_.Seal();
    return {live_, ended_};
  }
  std::int64_t Below(std::int64_t count) {
    return std::uniform_int_distribution<std::int64_t>(0, count - 1)(random_);
  }

 private:
  JobPtr Ended(std::int64_t id) {
    return Record(id, Name(), Below(2) == 0 ? JobState::kFailed : JobState::kSucceeded, Below(400));
  }
  JobPtr Some(std::int64_t id) {
    constexpr JobState kLive[] = {JobState::kHeld, JobState::kPending, JobState::kAdmitted,
                                  JobState::kRunning};
    if (Below(3) == 0) return Ended(id);
    return Record(id, Name(), kLive[Below(4)], 0, static_cast<int>(Below(5)));
  }
  std::string Name() { return std::string(1, static_cast<char>('a' + Below(4))) + "-job"; }

  std::mt19937 random_;
  JobTable live_;
  std::shared_ptr<const EndedJobs::List> ended_;
  std::int64_t newest_ = 0;
};

std::vector<TableKey> Keys() {
  std::vector<TableKey> keys;
  for (const JobColumn column : {JobColumn::kId, JobColumn::kName, JobColumn::kState,
                                 JobColumn::kPriority, JobColumn::kSubmitTime, JobColumn::kEndTime})
    keys.push_back({{}, nullptr, "", column, false});
  keys.push_back({{}, nullptr, "b-", JobColumn::kName, false});
  keys.push_back({{}, nullptr, "", JobColumn::kState, true});
  keys.push_back({{}, nullptr, "a-", JobColumn::kNamespace, true});
  keys.push_back(keys[1]);
  keys.back().filter.states = {JobState::kRunning, JobState::kFailed};
  keys.push_back(keys[0]);
  auto seen = std::make_shared<JobVisibility>();
  seen->all = {{"a", ShapeKind::kJob}};
  keys.back().seen = seen;
  return keys;
}

TEST(KeptTable, IsAfterEveryChange_TheTableThatOneWouldMakeAnew) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    ChangingJobs jobs(seed);
    std::vector<TableKey> keys = Keys();
    std::vector<KeptTable> tables(keys.begin(), keys.end());
    std::int64_t since = 0;
    for (int step = 0; step < 60; ++step) {
      // Sometimes many changes at once, so that rows are ordered anew.
      const std::int64_t changes = jobs.Below(10) == 0 ? 300 : jobs.Below(12);
      for (std::int64_t i = 0; i < changes; ++i) jobs.Change();
      if (jobs.Below(3) == 0) since += jobs.Below(20) * kSecondUs;
      const JobSource now = jobs.Now();
      for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i].filter.ended_since = {since};
        tables[i].Follow(now, {since});
        SCOPED_TRACE("seed " + std::to_string(seed) + " step " + std::to_string(step) + " table " +
                     std::to_string(i));
        ASSERT_NO_FATAL_FAILURE(ExpectTheTable(tables[i], keys[i], now));
      }
    }
  }
}

// How many jobs the table has; nullopt if it is not kept.
std::optional<std::size_t> Ask(KeptTables* tables, const TableKey& key, JobSource source = {}) {
  std::optional<std::size_t> size;
  const bool kept =
      tables->Read(key, std::move(source), [&](const KeptTable& table) { size = table.size(); });
  EXPECT_EQ(kept, size.has_value());
  return size;
}

TEST(KeptTables, KeepATable_ThatIsAskedForASecondTime) {
  KeptTables tables;
  JobTable jobs;
  jobs.Put(Record(1, "one", JobState::kRunning));
  const TableKey key;
  EXPECT_EQ(Ask(&tables, key, {jobs, nullptr}), std::nullopt);
  EXPECT_EQ(Ask(&tables, key, {jobs, nullptr}), 1u);
  TableKey other = key;
  other.text = "one";
  EXPECT_EQ(Ask(&tables, other), std::nullopt);
}

TEST(KeptTables, OfWhatDifferentPeopleMaySee_AreDifferentTables) {
  KeptTables tables;
  TableKey mine, yours;
  const auto of = [](const char* user) {
    auto seen = std::make_shared<JobVisibility>();
    seen->own = {{"", ShapeKind::kJob}};
    seen->user = user;
    return seen;
  };
  mine.seen = of("ana");
  yours.seen = of("bob");
  EXPECT_FALSE(Ask(&tables, mine));
  EXPECT_FALSE(Ask(&tables, yours));
  EXPECT_FALSE(Ask(&tables, TableKey{})) << "and somebody who sees everything";
  mine.seen = of("ana");
  EXPECT_TRUE(Ask(&tables, mine)) << "the rights are computed anew each time";
}

TEST(KeptTables, FollowATimeThatMovesOn_AndNoOther) {
  KeptTables tables;
  const auto since = [](std::int64_t second) {
    TableKey key;
    key.filter.ended_since = {second * kSecondUs};
    return key;
  };
  EXPECT_FALSE(Ask(&tables, since(1000)));
  EXPECT_TRUE(Ask(&tables, since(1060)));
  EXPECT_FALSE(Ask(&tables, since(1000))) << "ended jobs do not come back into a table";
  EXPECT_FALSE(Ask(&tables, since(4000))) << "the last hour is not the last day";
  EXPECT_FALSE(Ask(&tables, TableKey{}));
}

TEST(KeptTables, ThatNobodyAsksForBetweenTwoLooks_AreForgotten) {
  KeptTables tables;
  Ask(&tables, {});
  EXPECT_TRUE(tables.ForgetOld());
  EXPECT_TRUE(Ask(&tables, {}));
  EXPECT_TRUE(tables.ForgetOld());
  EXPECT_FALSE(tables.ForgetOld());
  EXPECT_FALSE(Ask(&tables, {}));
}

TEST(KeptTables, AreNotMoreThanTheLimit) {
  KeptTables tables;
  TableKey key;
  for (std::size_t i = 0; i <= limits::kTablesKept; ++i) {
    key.text = std::to_string(i);
    EXPECT_FALSE(Ask(&tables, key));
  }
  EXPECT_TRUE(Ask(&tables, key));
  key.text = "0";
  EXPECT_FALSE(Ask(&tables, key)) << "the one asked for longest ago went";
}

}  // namespace
}  // namespace muster::test
