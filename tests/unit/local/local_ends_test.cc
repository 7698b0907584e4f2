// How the end of an attempt is reported: which exit code counts, and that lack of memory is a
// field.
#include "backends/local/process/cgroup.h"
#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

class LocalEnds : public LocalPods {
 protected:
  void SetUp() override { Open(Options()); }
  Observation RunOnFailure(const std::string& script, const std::string& more = "") {
    const std::string job = "\"backoffLimit\":1,";
    return RunJob(job + R"("template":{"spec":{"restartPolicy":"OnFailure","containers":[)" + more +
                  R"({"name":"main","command":["sh","-c",")" + script + "\"]}]}}");
  }
  static bool LimitsMemory() {
    return local::PodCgroups(local::FindCgroups("muster"), "").limits_memory();
  }
  // A shell whose child takes 200 MiB where 32 are allowed.
  Observation RunGreedy(const std::string& then) {
    return RunPod(
        R"("containers":[{"name":"main","resources":{"limits":{"memory":"32Mi"}},"command":["sh","-c","head -c 200000000 /dev/zero | tail > /dev/null; )" +
        then + "\"]}]");
  }
};

TEST_F(LocalEnds, AFailedJobWhoseContainersAreStartedAgain_HasTheExitCodeOfTheLastOne) {
  const Observation end = RunOnFailure("exit 7");
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_EQ(end.reason, Reason::kBackoffLimitExceeded);
  EXPECT_EQ(end.exit_code, 7);
  EXPECT_EQ(end.exit_signal, 0);
  EXPECT_EQ(end.message,
            "the job reached its backoffLimit of 1: container main exited with code 7");
}

// No process was made, whose end would tell of it.
TEST_F(LocalEnds, AnInitContainerThatCannotBeGivenItsLimits_FailsItsPod) {
  if (!LimitsMemory()) return;
  const Observation end = RunPod(
      R"("initContainers":[{"name":"first","resources":{"limits":{"cpu":"1000000000"}},"command":["true"]}],)"
      R"("containers":[{"name":"main","command":["true"]}])");
  EXPECT_EQ(end.phase, RemotePhase::kFailed);
  EXPECT_NE(end.message.find("cannot limit container first"), std::string::npos) << end.message;
}

TEST_F(LocalEnds, ASignalThatEndedIt_IsToldToo) {
  const Observation end = RunOnFailure("kill -SEGV $$$$");
  EXPECT_EQ(end.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(end.exit_signal, SIGSEGV);
}

TEST_F(LocalEnds, WhatIsStoppedBesideIt_DoesNotSpeakForIt) {
  const Observation end = RunOnFailure("exit 7", R"({"name":"beside","command":["sleep","60"]},)");
  EXPECT_EQ(end.exit_code, 7) << "not 143 of the one that was stopped";
}

TEST_F(LocalEnds, AJobThatWasCancelledWhileItRan_HasNoFailureOfItsOwn) {
  const DispatchKey key = Key();
  ASSERT_TRUE(Ensure(*backend_, ShellJob(key, "sleep 60")).ok());
  sink_.Await(key, [](const Observation& seen) { return seen.phase == RemotePhase::kRunning; });
  RemovePolicy stop;
  stop.grace_period_s = 5;
  stop.keep_logs = true;
  ASSERT_TRUE(Remove(*backend_, key, stop).ok());
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.reason, Reason::kCancelled);
  EXPECT_FALSE(end.exit_code.has_value());
}

TEST_F(LocalEnds, AProcessKilledForWantOfMemory_IsToldAsAField_AlsoIfTheScriptReturnsNought) {
  const Observation end = RunGreedy("exit 0");
  // Otherwise the program's own allocation fails, and the kernel kills nothing.
  if (!LimitsMemory()) {
    EXPECT_NE(end.reason, Reason::kOutOfMemory);
    return;
  }
  EXPECT_EQ(end.reason, Reason::kOutOfMemory) << end.message;
  const Observation failed = RunGreedy("exit 3");
  EXPECT_EQ(failed.phase, RemotePhase::kFailed);
  EXPECT_EQ(failed.reason, Reason::kOutOfMemory);
  EXPECT_NE(failed.exit_code, 0);
}

TEST_F(LocalEnds, TheSameOfAnAttemptThatIsAdopted) {
  const Observation told = RunGreedy("exit 0");
  backend_->Stop();
  backend_.reset();
  Open(Options());
  const Result<std::vector<Observation>> listed = List(*backend_, "alpha");
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 1u);
  EXPECT_EQ(listed->front().reason, told.reason);
}

TEST_F(LocalEnds, AnEarlierKillIsNotCountedAgain_WhenAContainerIsStartedAnew) {
  const std::string mark = directory_.path() + "/mark";
  const Observation end = RunJob(
      R"("backoffLimit":3,"template":{"spec":{"restartPolicy":"OnFailure","containers":[{"name":"main",
      "resources":{"limits":{"memory":"32Mi"}},"command":["sh","-c",
      "[ -e )" +
      mark + R"( ] && exit 0; touch )" + mark +
      R"(; head -c 200000000 /dev/zero | tail > /dev/null; exit 3"]}]}})");
  EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << end.message;
  EXPECT_EQ(end.reason, Reason::kNone);
}

TEST_F(LocalEnds, DeadlinesBeyondAnyClock_LetTheJobRun) {
  for (const char* seconds : {"10000000000000", "9223372036854775807"}) {
    const std::string limit = R"("activeDeadlineSeconds":)" + std::string(seconds) + ",";
    const Observation end = RunPod(limit + R"("terminationGracePeriodSeconds":)" + seconds +
                                       R"(,"containers":[{"name":"main","command":["true"]}])",
                                   "\"backoffLimit\":0," + limit);
    EXPECT_EQ(end.phase, RemotePhase::kSucceeded) << seconds << ": " << end.message;
  }
}

}  // namespace
}  // namespace muster::testing
