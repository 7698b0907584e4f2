// Remove, Acknowledge, logs, pods and events of attempts on a Kubernetes member.
#include "tests/unit/k8s_backend/backend_world.h"

namespace muster::k8s {
namespace {

class RemovalTest : public BackendWorld {};

TEST_F(RemovalTest, IsAnsweredWhenObjectAndPodsAreGone) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Run(key, {});
  ASSERT_TRUE(made.ok());
  sink_.recording.AwaitPhase(key, RemotePhase::kRunning);
  const auto removed = Remove(key, At("work", made->remote_uid));
  ASSERT_TRUE(removed.ok()) << removed.error().detail;
  EXPECT_TRUE(removed->existed);
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 404);
  EXPECT_TRUE(member_.ActivePods(key.job_uid.ToString(), 1).empty());
  const auto again = Remove(key, At("work", made->remote_uid));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->existed);
}

TEST_F(RemovalTest, FindsItByItsLabels_WhenNobodySaysWhereItIs) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {}).ok());
  const auto removed = Remove(key);
  ASSERT_TRUE(removed.ok());
  EXPECT_TRUE(removed->existed);
  EXPECT_TRUE(List().empty());
}

TEST_F(RemovalTest, AnotherUidIsLeftAlone) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(JobOf(key, true)).ok());
  const auto removed = Remove(key, At("work", "00000000-0000-4000-8000-000000000000"));
  ASSERT_TRUE(removed.ok());
  EXPECT_FALSE(removed->existed);
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 200);
}

TEST_F(RemovalTest, AnAnswerThatIsLost_IsAskedAgain) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Ensure(JobOf(key, true));
  ASSERT_TRUE(made.ok());
  member_.Inject({.kind = FaultKind::kDropAnswer, .verb = "delete", .path = "/jobs"});
  auto removed = Remove(key, At("work", made->remote_uid));
  if (!removed.ok()) {
    EXPECT_EQ(removed.error().code, Code::kUnavailable) << "to be tried again";
    removed = Remove(key, At("work", made->remote_uid));
  }
  ASSERT_TRUE(removed.ok());
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 404);
}

TEST_F(RemovalTest, AFinishedJobIsHeld_UntilItsEndIsAcknowledged) {
  Connect();
  const DispatchKey key = Key();
  const auto made = Run(key, {{"bed.test/fail", "0s"}, {"bed.test/exit-code", "42"}});
  ASSERT_TRUE(made.ok());
  const Observation end = sink_.recording.AwaitEnd(key);
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.exit_code, 42);
  member_.Call("DELETE", std::string(kJobs) + "/work");
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 200) << "our finalizer holds it";
  ASSERT_TRUE(Acknowledge(key, made->remote_uid).ok());
  EXPECT_EQ(StatusOf(std::string(kJobs) + "/work"), 404);
  EXPECT_TRUE(Acknowledge(key, made->remote_uid).ok()) << "what is gone is no error";
}

TEST_F(RemovalTest, Acknowledgements_GoOneByOne_WhileTheMemberHasMoreUrgentThingsToDo) {
  Connect();
  std::vector<DispatchKey> keys;
  std::vector<std::string> uids;
  for (const char* name : {"end-0", "end-1", "end-2"}) {
    keys.push_back(Key());
    const auto made = Run(keys.back(), {}, name);
    ASSERT_TRUE(made.ok());
    uids.push_back(made->remote_uid);
  }
  const auto struck = [&](int fault, std::int64_t times) {
    while (member_.Struck(fault) < times) std::this_thread::yield();
  };
  const int creates =
      member_.Inject({.kind = FaultKind::kHang, .verb = "create", .path = "/jobs", .times = -1});
  for (const char* name : {"busy-0", "busy-1", "busy-2"})
    backend_->Ensure(JobOf(Key(), true, {}, name), [](const Result<RemoteRef>&) {});
  struck(creates, 3);
  const int first =
      member_.Inject({.kind = FaultKind::kHang, .verb = "patch", .path = "/jobs", .times = 1});
  const std::int64_t before = member_.counts().requests["patch jobs"];
  std::vector<std::promise<bool>> done(3);
  for (std::size_t i = 0; i < 3; ++i) {
    backend_->Acknowledge(
        keys[i], {"batch/v1", "Job", "default", "end-" + std::to_string(i)}, uids[i],
        [&done, i](const Result<Done>& result) { done[i].set_value(result.ok()); });
  }
  struck(first, 1);
  ASSERT_TRUE(Remove(Key(), At("nothing", "no-uid")).ok()) << "they had their turn before this";
  EXPECT_EQ(member_.counts().requests["patch jobs"], before + 1);
  member_.ClearFaults();
  member_.BreakConnections();
  EXPECT_FALSE(done[0].get_future().get());
  // Each attempt is asked for; a request on a connection that has just been broken is repeated.
  for (std::size_t i = 1; i < 3; ++i) {
    if (done[i].get_future().get()) continue;
    EXPECT_TRUE(Acknowledge(keys[i], uids[i], "end-" + std::to_string(i)).ok());
  }
}

TEST_F(RemovalTest, AnotherUidIsNotLetGo) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(JobOf(key, true)).ok());
  ASSERT_TRUE(Acknowledge(key, "00000000-0000-4000-8000-000000000000").ok());
  EXPECT_EQ(TextAt(std::string(kJobs) + "/work", "/metadata/finalizers/0"), kRecordFinalizer);
}

TEST_F(RemovalTest, Pods_AreToldWithNodeAndPodSet) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {}).ok());
  const std::vector<std::string> running = muster::testing::AwaitRunning(*backend_, key, 1);
  ASSERT_EQ(running.size(), 1u);
  const auto pods = backend_->Pods(key);
  ASSERT_TRUE(pods.ok());
  EXPECT_EQ(pods->front().pod_set, "main");
  EXPECT_FALSE(pods->front().node.empty());
  EXPECT_EQ(backend_->Pods(Key()).error().code, Code::kNotFound);
}

TEST_F(RemovalTest, ALogThatIsFollowed_CostsOneRequest) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {{"bed.test/log", "abcdefgh\n"}}).ok());
  const std::vector<std::string> running = muster::testing::AwaitRunning(*backend_, key, 1);
  ASSERT_EQ(running.size(), 1u);
  LogQuery query;
  query.max_bytes = 3;
  std::string text;
  Result<LogChunk> chunk = backend_->ReadLog(key, query);
  ASSERT_TRUE(chunk.ok()) << chunk.error().detail;
  EXPECT_EQ(chunk->data, "abc");
  query.offset = chunk->next_offset;
  query.max_bytes = 100;
  chunk = backend_->ReadLog(key, query);
  EXPECT_EQ(chunk->data, "defgh\n");
  EXPECT_FALSE(chunk->ended);
  query.offset = chunk->next_offset;
  member_.AppendLog("default", running[0], "more\n");
  std::string more;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (more.empty() && std::chrono::steady_clock::now() < until) {
    chunk = backend_->ReadLog(key, query);
    ASSERT_TRUE(chunk.ok());
    more = chunk->data;
  }
  EXPECT_EQ(more, "more\n");
  query.offset = -5;
  EXPECT_EQ(backend_->ReadLog(key, query)->data, "more\n");
  query.offset = 0;
  EXPECT_TRUE(backend_->ReadLog(key, query)->data.starts_with("abcdefgh\n"))
      << "a place that went by is read again";
}

TEST_F(RemovalTest, TheLogOfAnEndedPod_Ends) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {{"bed.test/run", "0s"}, {"bed.test/log", "done\n"}}).ok());
  sink_.recording.AwaitEnd(key);
  const auto chunk = backend_->ReadLog(key, {});
  ASSERT_TRUE(chunk.ok()) << chunk.error().detail;
  EXPECT_EQ(chunk->data, "done\n");
  EXPECT_TRUE(chunk->ended);
  LogQuery query;
  query.container = "nobody";
  EXPECT_EQ(backend_->ReadLog(key, query).error().code, Code::kNotFound);
}

TEST_F(RemovalTest, TheLogOfAnEndedPodOnAMemberThatHangs_IsNoEmptyLog) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {{"bed.test/run", "0s"}, {"bed.test/log", "done\n"}}).ok());
  sink_.recording.AwaitEnd(key);
  member_.Inject({.kind = fake::FaultKind::kHang, .verb = "log"});
  const auto chunk = backend_->ReadLog(key, {});
  ASSERT_FALSE(chunk.ok());
  EXPECT_EQ(chunk.error().code, Code::kUnavailable);
  EXPECT_EQ(backend_->ReadLog(key, {})->data, "done\n");
}

TEST_F(RemovalTest, ALogThatTheMemberRefusesToItsUser_IsNoRefusalOfTheCaller) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {{"bed.test/run", "0s"}, {"bed.test/log", "done\n"}}).ok());
  sink_.recording.AwaitEnd(key);
  for (const int status : {401, 403}) {
    const int fault = member_.Inject({.kind = fake::FaultKind::kAnswer,
                                      .verb = "log",
                                      .times = -1,
                                      .status = status,
                                      .reason = "Refused",
                                      .message = "no logs for you"});
    const auto chunk = backend_->ReadLog(key, {});
    ASSERT_FALSE(chunk.ok()) << status;
    EXPECT_EQ(chunk.error().code, Code::kUnavailable) << status;
    EXPECT_NE(chunk.error().detail.find("member cluster m refuses"), std::string::npos)
        << chunk.error().detail;
    EXPECT_NE(chunk.error().detail.find("no logs for you"), std::string::npos);
    member_.Withdraw(fault);
  }
}

TEST_F(RemovalTest, ALogBeforeItsPod_IsNotThereYet) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(JobOf(key, true)).ok());
  sink_.recording.AwaitPhase(key, RemotePhase::kSuspended);
  EXPECT_EQ(backend_->ReadLog(key, {}).error().code, Code::kFailedPrecondition);
  EXPECT_EQ(backend_->ReadLog(Key(), {}).error().code, Code::kNotFound);
}

TEST_F(RemovalTest, Events_OfTheObjectAndItsPods_OldestFirst) {
  Connect();
  const DispatchKey key = Key();
  ASSERT_TRUE(Run(key, {}).ok());
  ASSERT_EQ(muster::testing::AwaitRunning(*backend_, key, 1).size(), 1u);
  const auto events = backend_->Events(key);
  ASSERT_TRUE(events.ok()) << events.error().detail;
  ASSERT_FALSE(events->empty());
  for (std::size_t i = 1; i < events->size(); ++i) {
    EXPECT_GE((*events)[i].time, (*events)[i - 1].time);
  }
}

}  // namespace
}  // namespace muster::k8s
