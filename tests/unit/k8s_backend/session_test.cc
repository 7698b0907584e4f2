// What a member reports (lists, ends) and what happens to it: it becomes unreachable, is another
// cluster, is restored from a backup, or changes its credentials.
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

class SessionTest : public BackendWorld {};

bool Healthy(const ClusterFacts& facts) { return facts.healthy; }
bool Unhealthy(const ClusterFacts& facts) { return !facts.healthy; }

TEST_F(SessionTest, AKubeconfigThatIsWrong_IsShownOnTheMember_AndReadAgain) {
  WriteKubeconfig("kind: Config\n");
  Make();
  const ClusterFacts facts =
      sink_.AwaitFacts([](const ClusterFacts& one) { return !one.message.empty(); });
  EXPECT_FALSE(facts.healthy);
  EXPECT_NE(facts.message.find("context"), std::string::npos) << facts.message;
  const auto refused = Ensure(JobOf(Key(), true));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  WriteKubeconfig(member_.Kubeconfig());
  sink_.AwaitFacts(Healthy);
}

TEST_F(SessionTest, AMemberThatIsAway_IsUnhealthyWithASentence_AndComesBackWithAGap) {
  Connect();
  sink_.AwaitGap(0);  // of the connection
  const int before = sink_.Gaps();
  member_.Stop();
  const ClusterFacts away = sink_.AwaitFacts(Unhealthy);
  EXPECT_FALSE(away.message.empty());
  EXPECT_TRUE(away.observed_at.set());
  const auto refused = Ensure(JobOf(Key(), true));
  ASSERT_FALSE(refused.ok());
  member_.Start();
  sink_.AwaitFacts(Healthy);
  sink_.AwaitGap(before);
  EXPECT_TRUE(Ensure(JobOf(Key(), true)).ok());
}

TEST_F(SessionTest, WhatHasNotChangedIsToldOnceAHeartbeatPeriod_AndAnotherPeriodCountsAtOnce) {
  Connect();
  WallTime answered = sink_.AwaitFacts(Healthy).observed_at;
  backend_->SetHeartbeat("m", 1);
  const auto begun = std::chrono::steady_clock::now();
  // With the default period this would take minutes; half a minute if only reported changes
  // counted.
  for (int answers = 0; answers < 3; ++answers) {
    answered = sink_
                   .AwaitFacts([answered](const ClusterFacts& facts) {
                     return facts.observed_at.us > answered.us + kMicrosPerSecond / 2;
                   })
                   .observed_at;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(20));
}

TEST_F(SessionTest, WhatRunsIsFollowedByFactsThatAreAsNew_ThoughNothingElseHasChanged) {
  Connect();
  const DispatchKey key = Key();
  // The pod is bound, and that is reported, some time before it runs.
  ASSERT_TRUE(Run(key, {{"bed.test/start", "3s"}}).ok());
  const Observation running = sink_.recording.AwaitPhase(key, RemotePhase::kRunning);
  const auto begun = std::chrono::steady_clock::now();
  sink_.AwaitFacts([&](const ClusterFacts& facts) {
    return facts.healthy && facts.observed_at >= running.observed_at;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8))
      << "not only with the heartbeat, nor with the next probe";
}

TEST_F(SessionTest, AnEndThatCameWhileWeWereAway_IsTold) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(
      Run(key, {{"bed.test/start", "1s"}, {"bed.test/fail", "0s"}, {"bed.test/exit-code", "3"}})
          .ok());
  member_.Stop();
  sink_.AwaitFacts(Unhealthy);
  member_.Start();
  const Observation end = sink_.recording.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.exit_code, 3);
}

TEST_F(SessionTest, AMemberMadeAnew_HasAnotherIncarnation_AndItsObjectsAreNotSaidToBeDeleted) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {}).ok());
  sink_.recording.AwaitPhase(key, RemotePhase::kRunning);
  const std::string before = member_.incarnation();
  member_.Wipe();
  const ClusterFacts now = sink_.AwaitFacts(
      [&](const ClusterFacts& facts) { return facts.healthy && facts.incarnation != before; });
  EXPECT_EQ(now.incarnation, member_.incarnation());
  EXPECT_TRUE(List().empty());
  for (const Observation& seen : sink_.recording.Of(key)) {
    EXPECT_NE(seen.phase, RemotePhase::kMissing) << "the engine tells this as clusterRecreated";
  }
}

TEST_F(SessionTest, AMemberTakenBackInTime_IsReadAnew) {
  Connect();
  const DispatchKey old = Key();
  ASSERT_TRUE(Ensure(JobOf(old, true, {}, "old")).ok());
  member_.Save("then");
  const DispatchKey lost = Key();
  ASSERT_TRUE(Ensure(JobOf(lost, true, {}, "lost")).ok());
  sink_.recording.AwaitPhase(lost, RemotePhase::kSuspended);
  sink_.AwaitGap(0);  // of the connection
  const int before = sink_.Gaps();
  member_.Restore("then");
  sink_.AwaitGap(before);
  const std::vector<Observation> listed = List();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed.front().key, old);
}

TEST_F(SessionTest, ObjectsDeletedOnTheMember_AreToldAsMissing) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Run(key, {});
  ASSERT_TRUE(made.ok());
  member_.Call("DELETE", std::string(kJobs) + "/work");
  const Observation asked = sink_.recording.Await(
      key, [](const Observation& seen) { return seen.deleting && seen.held; });
  EXPECT_EQ(asked.remote_uid, made->remote_uid);
  ASSERT_TRUE(Acknowledge(key, made->remote_uid).ok());
  const Observation gone = sink_.recording.AwaitPhase(key, RemotePhase::kMissing);
  EXPECT_EQ(gone.remote_uid, made->remote_uid);
  EXPECT_NE(gone.message.find("was deleted on the member"), std::string::npos);
}

TEST_F(SessionTest, List_HoldsWhatWasJustMade_ThoughNoWatchHasToldOfIt) {
  Connect();
  member_.Inject({.kind = FaultKind::kStall, .verb = "watch", .path = "/jobs", .times = -1});
  member_.CloseWatches();
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(JobOf(key, true)).ok());
  const std::vector<Observation> listed = List();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed.front().key, key);
}

TEST_F(SessionTest, List_OfARestartedBackend_HasEverything) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  Make();
  const std::vector<Observation> listed = List();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed.front().remote_uid, made->remote_uid);
  EXPECT_EQ(listed.front().object, (RemoteObject{"batch/v1", "Job", "default", "work"}));
  EXPECT_EQ(listed.front().incarnation, member_.incarnation());
}

TEST_F(SessionTest, WatchesThatExpireOrClose_LoseNothing) {
  Connect();
  member_.Inject({.kind = FaultKind::kGone, .verb = "watch", .times = 3});
  member_.Inject({.kind = FaultKind::kClose, .verb = "watch", .times = 5, .events = 1});
  member_.Compact();
  member_.CloseWatches();
  std::vector<DispatchKey> keys;
  for (int i = 0; i < 10; ++i) {
    keys.push_back(Key());
    ASSERT_TRUE(Run(keys.back(), {{"bed.test/run", "0s"}}, "work" + std::to_string(i)).ok());
  }
  for (const DispatchKey& key : keys)
    EXPECT_EQ(sink_.recording.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

TEST_F(SessionTest, AKubeconfigThatNamesAnotherServer_IsRead_WhileTheOldOneIsSilent) {
  Connect();
  member_.Stop();
  sink_.AwaitFacts(Unhealthy);
  FakeMember moved;
  WriteKubeconfig(moved.Kubeconfig());
  sink_.AwaitFacts([&](const ClusterFacts& facts) {
    return facts.healthy && facts.incarnation == moved.incarnation();
  });
}

TEST_F(SessionTest, AKubeconfigThatBecomesUnusable_LeavesTheSession_AndIsSaid_UntilItIsMended) {
  Connect();
  const auto says = [](const ClusterFacts& facts) {
    return facts.message.find("its kubeconfig has changed and cannot be used") != std::string::npos;
  };
  const std::string good = member_.Kubeconfig();
  WriteKubeconfig("kind: Config\n");
  backend_->ReloadMember("m");
  const ClusterFacts kept = sink_.AwaitFacts(says);
  EXPECT_TRUE(kept.healthy);
  EXPECT_NE(kept.message.find("current-context is missing"), std::string::npos) << kept.message;
  EXPECT_TRUE(Ensure(JobOf(Key(), true)).ok());
  // Nobody says when it is mended: it is read again by itself.
  WriteKubeconfig(good);
  sink_.AwaitFacts([&](const ClusterFacts& facts) { return facts.healthy && !says(facts); });
  FakeMember moved;
  WriteKubeconfig("kind: Config\n");
  backend_->ReloadMember("m");
  sink_.AwaitFacts(says);
  WriteKubeconfig(moved.Kubeconfig());
  sink_.AwaitFacts([&](const ClusterFacts& facts) {
    return facts.healthy && facts.incarnation == moved.incarnation() && !says(facts);
  });
}

class TokenTest : public BackendWorld {
 protected:
  TokenTest() : BackendWorld(WithToken()) {}
  static FakeMemberOptions WithToken() {
    FakeMemberOptions options;
    options.token = "first";
    return options;
  }
};

TEST_F(TokenTest, ATokenThatIsRefused_IsReadAnewFromTheKubeconfig) {
  Connect();
  member_.SetToken("second");
  member_.BreakConnections();
  // The broken connections make the member unhealthy too, for a moment, before it refuses anything.
  const ClusterFacts refused = sink_.AwaitFacts([](const ClusterFacts& facts) {
    return !facts.healthy && facts.message.find("Unauthorized") != std::string::npos;
  });
  EXPECT_EQ(refused.message.find("second"), std::string::npos);
  WriteKubeconfig(member_.Kubeconfig());
  sink_.AwaitFacts(Healthy);
  const auto made = Ensure(JobOf(Key(), true));
  EXPECT_TRUE(made.ok()) << made.error().detail;
}

}  // namespace
}  // namespace muster::k8s
