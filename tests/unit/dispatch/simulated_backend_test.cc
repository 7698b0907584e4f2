#include "backends/simulated/simulated_backend.h"

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"

namespace muster::simulated {
namespace {

class Sink final : public ObservationSink {
 public:
  void OnObservation(Observation observation) override { seen.push_back(std::move(observation)); }
  void OnFacts(ClusterFacts more) override { facts.push_back(std::move(more)); }
  void OnGap(const std::string&) override {}
  std::vector<Observation> seen;
  std::vector<ClusterFacts> facts;
};

struct Member {
  explicit Member(std::int64_t run_ms = 1000, std::int32_t failures = 0)
      : timers(clock), backend(clock, timers, {{{"east", {{"cpu", 8000}}}}, run_ms, failures}) {
    backend.Start(sink);
  }
  ~Member() { backend.Stop(); }

  static DispatchOrder Order(std::uint64_t job, bool suspended = false) {
    DispatchOrder order;
    order.key = {Uid{job, job}, 1, "east"};
    order.pod_sets = {{"workers", 3, {}, {}}};
    order.suspended = suspended;
    return order;
  }
  std::string Ensure(const DispatchOrder& order) {
    std::string uid;
    backend.Ensure(order, [&](Result<RemoteRef> ref) { uid = ref.ok() ? ref->remote_uid : ""; });
    return uid;
  }
  bool Remove(const DispatchKey& key, const RemovePolicy& policy) {
    bool existed = false;
    backend.Remove(key, policy, [&](Result<RemovalResult> removed) {
      existed = removed.ok() && removed->existed;
    });
    return existed;
  }
  std::vector<Observation> List() {
    std::vector<Observation> all;
    backend.List("east", [&](Result<std::vector<Observation>> listed) { all = *listed; });
    return all;
  }
  void Pass(std::int64_t ms) {
    clock.Advance(ms);
    timers.FireDue();
  }

  test::FakeClock clock;
  test::ManualTimers timers;
  Sink sink;
  SimulatedBackend backend;
};

TEST(SimulatedBackend, AnAttemptRunsForItsTimeAndSucceeds) {
  Member member;
  member.Ensure(Member::Order(1));
  ASSERT_EQ(member.sink.seen.size(), 1U);
  EXPECT_EQ(member.sink.seen[0].phase, RemotePhase::kRunning);
  EXPECT_EQ(member.sink.seen[0].ready_pods, 3);
  member.Pass(999);
  EXPECT_EQ(member.sink.seen.size(), 1U);
  member.Pass(1);
  ASSERT_EQ(member.sink.seen.size(), 2U);
  EXPECT_EQ(member.sink.seen[1].phase, RemotePhase::kSucceeded);
  EXPECT_EQ(member.sink.seen[1].succeeded_pods, 3);
  EXPECT_EQ(member.sink.seen[1].exit_code, 0);
}

TEST(SimulatedBackend, AnObjectMaySayHowLongItRunsAndTheShorterEndsFirst) {
  struct {
    const char* name;
    const char* run_time;
    std::int64_t ends_after_ms;
  } const cases[] = {
      {"shorter than what began before", R"("300")", 300},
      {"longer than the member's own", R"("1500")", 1500},
      {"not a number", R"("soon")", 1000},
      {"negative", R"("-5")", 1000},
      {"not a text", "300", 1000},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    Member member;
    member.Ensure(Member::Order(1));
    DispatchOrder order = Member::Order(2);
    order.object.json = std::string(R"({"metadata":{"annotations":{"muster.io/run-time-ms":)") +
                        one.run_time + "}}}";
    member.Ensure(order);
    member.Pass(one.ends_after_ms - 1);
    const auto ended = [&] {
      for (const Observation& seen : member.List())
        if (seen.key == order.key) return seen.phase == RemotePhase::kSucceeded;
      return false;
    };
    EXPECT_FALSE(ended());
    member.Pass(1);
    EXPECT_TRUE(ended());
  }
}

TEST(SimulatedBackend, EnsureIsIdempotentByKey) {
  Member member;
  const std::string uid = member.Ensure(Member::Order(1));
  EXPECT_FALSE(uid.empty());
  EXPECT_EQ(member.Ensure(Member::Order(1)), uid);
  EXPECT_EQ(member.List().size(), 1U);
  member.Pass(1000);
  EXPECT_EQ(member.Ensure(Member::Order(1)), uid) << "an ended attempt is not run again";
  EXPECT_EQ(member.List()[0].phase, RemotePhase::kSucceeded);
}

TEST(SimulatedBackend, ASuspendedAttemptRunsOnlyWhenReleased) {
  Member member;
  member.Ensure(Member::Order(1, true));
  member.Pass(5000);
  EXPECT_EQ(member.List()[0].phase, RemotePhase::kSuspended);
  member.Ensure(Member::Order(1, false));
  EXPECT_EQ(member.List()[0].phase, RemotePhase::kRunning);
  member.Pass(1000);
  EXPECT_EQ(member.List()[0].phase, RemotePhase::kSucceeded);
}

TEST(SimulatedBackend, RemovingStopsAndKeepsOnlyWhatItIsToldToKeep) {
  Member member;
  member.Ensure(Member::Order(1));
  member.Ensure(Member::Order(2));
  const DispatchKey first = Member::Order(1).key, second = Member::Order(2).key;
  RemovePolicy keep;
  keep.keep_logs = true;
  EXPECT_TRUE(member.Remove(first, keep));
  RemovePolicy other;
  other.expected_uid = "another object";
  EXPECT_FALSE(member.Remove(second, other));
  EXPECT_TRUE(member.Remove(second, {}));
  EXPECT_FALSE(member.Remove(second, {})) << "again: nothing there";
  ASSERT_EQ(member.List().size(), 1U);
  EXPECT_EQ(member.List()[0].phase, RemotePhase::kFailed);
  const auto before = member.sink.seen.size();
  member.Pass(2000);
  EXPECT_EQ(member.sink.seen.size(), before) << "what was stopped does not end again";
}

TEST(SimulatedBackend, FailuresComeAtTheGivenRateAndAreTheSameEachTime) {
  int failed = 0;
  for (int round = 0; round < 2; ++round) {
    Member member(0, 25);
    for (std::uint64_t job = 1; job <= 1000; ++job) member.Ensure(Member::Order(job * 7919));
    member.Pass(1);
    int now = 0;
    for (const Observation& seen : member.List()) {
      ASSERT_TRUE(seen.phase == RemotePhase::kSucceeded || seen.phase == RemotePhase::kFailed);
      if (seen.phase == RemotePhase::kFailed) ++now;
    }
    EXPECT_TRUE(round == 0 || now == failed);
    failed = now;
  }
  EXPECT_GT(failed, 180);
  EXPECT_LT(failed, 320);
}

TEST(SimulatedBackend, FactsAreToldAtTheStartAndPodsFollowTheAttempt) {
  Member member;
  ASSERT_EQ(member.sink.facts.size(), 1U);
  EXPECT_EQ(AmountOf(member.sink.facts[0].allocatable, "cpu"), 8000);
  member.Ensure(Member::Order(1));
  const auto pods = member.backend.Pods(Member::Order(1).key);
  ASSERT_TRUE(pods.ok());
  ASSERT_EQ(pods->size(), 3U);
  EXPECT_EQ((*pods)[2].name, "workers-2");
  EXPECT_EQ((*pods)[2].phase, "Running");
  EXPECT_EQ(member.backend.Pods(Member::Order(9).key).error().code, Code::kNotFound);
  EXPECT_EQ(member.backend.ReadLog(Member::Order(1).key, {}).error().code, Code::kNotFound);
}

TEST(SimulatedBackend, AnotherMemberIsNotServed) {
  Member member;
  DispatchOrder order = Member::Order(1);
  order.key.cluster = "west";
  EXPECT_EQ(member.Ensure(order), "");
  EXPECT_TRUE(member.List().empty());
}

TEST(SimulatedBackend, AnOrderWhoseLeadIsOverRunsNothing) {
  Member member;
  const auto lead = std::make_shared<LeadTerm>(member.clock, kNanosPerSecond);
  DispatchOrder order = Member::Order(1);
  lead->Begin(Epoch{1}, member.clock.Now(), member.clock.Now());
  order.permit = lead->Current();
  member.clock.Advance(1000);
  EXPECT_EQ(member.Ensure(order), "");
  lead->Renew(Epoch{1}, member.clock.Now());
  EXPECT_NE(member.Ensure(order), "");
}

}  // namespace
}  // namespace muster::simulated
