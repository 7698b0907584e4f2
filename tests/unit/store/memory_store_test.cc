// The controls of the memory store for tests: manual answers, and faults on request.
#include "schedd/store/memory/memory_store.h"

#include <gtest/gtest.h>

#include "tests/contract/store/store_fixtures.h"

namespace muster::test {
namespace {

Epoch LeadNow(Store& store) { return store.Lead("t", std::chrono::milliseconds(0))->epoch; }

TEST(MemoryStore, InManualModeNothingHappensBeforeItsTurn) {
  MemoryStore store({.manual = true});
  const Epoch epoch = LeadNow(store);
  std::vector<int> order;
  store.Accept(epoch, {MakeNew(DraftJob(1))},
               [&](const Result<Answers>& a) { order.push_back(a.ok() ? 1 : -1); });
  store.Commit(epoch, {},
               [&](const Result<CommitVersion>& v) { order.push_back(v.ok() ? 2 : -2); });
  EXPECT_EQ(store.waiting(), 2U);
  EXPECT_EQ(store.accepted_jobs(), 0U);
  EXPECT_TRUE(order.empty());
  EXPECT_TRUE(store.DrainOne());
  EXPECT_EQ(store.accepted_jobs(), 1U);
  EXPECT_EQ(order, std::vector<int>{1});
  EXPECT_TRUE(store.DrainOne());
  EXPECT_FALSE(store.DrainOne());
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

struct FaultCase {
  const char* name;
  StoreFault fault;
  Code code;
  std::size_t written;
  bool leads_after;
};

TEST(MemoryStore, EachFaultDoesWhatItSays) {
  const FaultCase cases[] = {
      {"unavailable", StoreFault::kUnavailable, Code::kUnavailable, 0, true},
      {"unknown, written", StoreFault::kUnknownApplied, Code::kUnknown, 1, false},
      {"unknown, not written", StoreFault::kUnknownNotApplied, Code::kUnknown, 0, false},
  };
  for (const FaultCase& fault : cases) {
    SCOPED_TRACE(fault.name);
    MemoryStore store;
    const Epoch epoch = LeadNow(store);
    store.InjectFault(2, fault.fault);
    ASSERT_TRUE(CommitNow(store, epoch, {}).ok()) << "the fault is laid on the second write";
    const auto answers = AcceptNow(store, epoch, {MakeNew(DraftJob(1))});
    ASSERT_FALSE(answers.ok());
    EXPECT_EQ(answers.error().code, fault.code);
    EXPECT_EQ(store.accepted_jobs(), fault.written);
    EXPECT_EQ(CommitNow(store, epoch, {}).ok(), fault.leads_after);
    EXPECT_TRUE(CommitNow(store, LeadNow(store), {}).ok());
  }
}

TEST(MemoryStore, WhileAwayNothingWorksAndTheLeadIsLost) {
  MemoryStore store;
  const Epoch epoch = LeadNow(store);
  store.SetAway(true);
  EXPECT_EQ(CommitNow(store, epoch, {}).error().code, Code::kUnavailable);
  EXPECT_EQ(store.Ping().error().code, Code::kUnavailable);
  EXPECT_EQ(store.Load(epoch, {}).error().code, Code::kUnavailable);
  EXPECT_EQ(store.Lead("t", std::chrono::milliseconds(0)).error().code, Code::kUnavailable);
  store.SetAway(false);
  EXPECT_EQ(CommitNow(store, epoch, {}).error().code, Code::kAborted);
  EXPECT_TRUE(CommitNow(store, LeadNow(store), {}).ok());
}

TEST(MemoryStore, ALostLeadRefusesWritesUntilLedAgain) {
  MemoryStore store;
  const Epoch epoch = LeadNow(store);
  store.LoseLead();
  EXPECT_EQ(AcceptNow(store, epoch, {MakeNew(DraftJob(1))}).error().code, Code::kAborted);
  EXPECT_GT(LeadNow(store), epoch);
}

}  // namespace
}  // namespace muster::test
