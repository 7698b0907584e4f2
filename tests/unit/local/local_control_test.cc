// Control over a batch script on a local member: why it is stopped (rule B35), signals (B36), its
// steps.
#include <sys/stat.h>

#include <set>
#include <tuple>

#include "tests/unit/local/local_pods_fixture.h"

namespace muster::testing {
namespace {

// Longer than a loaded machine needs: to start a script, and to run its trap.
constexpr int kLimitS = 15, kGraceS = 60;

class LocalControl : public LocalPods {
 protected:
  using SteadyTime = std::chrono::steady_clock::time_point;
  static SteadyTime Now() { return std::chrono::steady_clock::now(); }
  static std::string Limit() {
    return "\"activeDeadlineSeconds\":" + std::to_string(kLimitS) + ",";
  }
  void SetUp() override {
    ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
    Open(Options());
  }
  DispatchKey Begin(const std::string& script, const std::string& annotations = "",
                    const std::string& job_spec = "") {
    const DispatchKey key = Key();
    DispatchOrder order = ShellJob(key, script, kGraceS, job_spec,
                                   R"("annotations":{)" + annotations +
                                       R"("muster.io/hosts":"alpha","muster.io/batch":"true"})");
    order.job = {7};
    order.account = submitter_;
    const auto made = Ensure(*backend_, order);
    EXPECT_TRUE(made.ok()) << made.error().detail;
    return key;
  }
  Result<Done> Send(const DispatchKey& key, int signal, SignalOrder::Target target, int step = -1) {
    return Wait<Done>([&](auto done) {
      backend_->Signal(key, {signal, target, step}, std::move(done));
    });
  }
  std::string StepsDir(const DispatchKey& key) const {
    return directory_.path() + "/state/alpha/" + key.job_uid.ToString() + "-1/steps";
  }
  // The text without the time in its line, and without what the shell says of its `sleep`.
  static std::string WithoutTime(std::string text) {
    if (const std::size_t said = text.find("Terminated\n"); said != std::string::npos)
      text.erase(said, 11);
    const std::size_t at = text.find(" AT ");
    if (at != std::string::npos) text.erase(at + 4, 19);
    return text;
  }
};

TEST_F(LocalControl, AStoppedScriptIsToldWhy) {
  const std::pair<StopCause, std::string> causes[] = {
      {StopCause::kCancelled, ""},
      {StopCause::kTimeLimit, " DUE TO TIME LIMIT"},
      {StopCause::kPreempted, " DUE TO PREEMPTION"},
      {StopCause::kRequeued, " DUE TO JOB REQUEUE"},
      {StopCause::kNodeFailure, " DUE TO NODE FAILURE"}};
  for (const auto& [cause, words] : causes) {
    const std::string file = directory_.path() + "/err";
    const DispatchKey key =
        Begin("trap 'echo trapped; exit 0' TERM; echo ready; while :; do sleep 0.05; done",
              R"("muster.io/stderr-path":")" + file + "\",");
    ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
    RemovePolicy policy;
    policy.keep_logs = true;
    policy.cause = cause;
    ASSERT_TRUE(Remove(*backend_, key, policy).ok());
    const std::string line =
        "slurmstepd: error: *** JOB 7 ON alpha CANCELLED AT " + words + " ***\n";
    EXPECT_EQ(WithoutTime(Log()), "ready\n" + line + "trapped\n");
    EXPECT_EQ(WithoutTime(*local::ReadWholeFile(file)), line);
  }
}

TEST_F(LocalControl, AtTheTimeLimitAStoppedScriptGoesOn_AndIsToldWhy) {
  const DispatchKey key = Begin(
      "trap 'echo trapped; exit 0' TERM; echo ready; kill -STOP $$$$; while :; do sleep 0.05; done",
      "", Limit());
  const Observation end = sink_.AwaitEnd(key);
  EXPECT_EQ(end.reason, Reason::kDeadlineExceeded);
  EXPECT_EQ(WithoutTime(Log()),
            "ready\nslurmstepd: error: *** JOB 7 ON alpha CANCELLED AT  DUE TO TIME LIMIT ***\n"
            "trapped\n");
}

TEST_F(LocalControl, AScriptThatEndsIsToldNothing) {
  const DispatchKey key = Begin("echo done");
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(Log(), "done\n");
}

TEST_F(LocalControl, SuspendedTimeDoesNotCountForTheLimit) {
  const std::string count = directory_.path() + "/count";
  const SteadyTime before = Now();
  const DispatchKey key =
      Begin("echo ready; while :; do echo x >> " + count + "; sleep 0.05; done", "", Limit());
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
  ASSERT_TRUE(Send(key, SIGSTOP, SignalOrder::Target::kFull).ok());
  const SteadyTime stopped = Now();
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const auto size = std::filesystem::file_size(count);
  // A restarted daemon knows that the job is suspended.
  backend_->Stop();
  backend_.reset();
  Open(Options());
  std::this_thread::sleep_for(std::chrono::milliseconds(3000));
  EXPECT_EQ(std::filesystem::file_size(count), size) << "it goes on though it is suspended";
  const auto suspended = Now() - stopped;
  ASSERT_TRUE(Send(key, SIGCONT, SignalOrder::Target::kFull).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).reason, Reason::kDeadlineExceeded);
  // The limit is of the wall clock, which may be set a little.
  EXPECT_GE(Now() - before, std::chrono::seconds(kLimitS - 1) + suspended);
  EXPECT_GT(std::filesystem::file_size(count), size);
}

TEST_F(LocalControl, ASuspendedJobWhosePodsHaveEndedGoesOnAfterwards) {
  backend_->Stop();
  backend_.reset();
  LocalOptions options = Options();
  options.pod_backoff_ms = 1000;
  Open(options);
  const std::string dir = directory_.path();
  const DispatchKey key = Key();
  DispatchOrder order = OrderOf(
      key, "batch/v1", "Job", "j",
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":{"spec":{)"
      R"("restartPolicy":"Never","containers":[{"name":"main","command":["/bin/sh","-c",)"
      R"("[ -e )" +
          dir + R"(/pid ] && exit 0; echo $$$$ > )" + dir + "/new; mv " + dir + "/new " + dir +
          R"(/pid; while :; do sleep 0.05; done"]}]}}}})");
  order.account = submitter_;
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  Result<std::string> pid = local::ReadWholeFile(dir + "/pid");
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!pid.ok() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    pid = local::ReadWholeFile(dir + "/pid");
  }
  ASSERT_TRUE(pid.ok());
  ASSERT_TRUE(Send(key, SIGSTOP, SignalOrder::Target::kFull).ok());
  ASSERT_EQ(::kill(std::atoi(pid->c_str()), SIGKILL), 0);
  sink_.Await(key, [](const Observation& seen) { return seen.failed_pods == 1; });
  const Result<Done> sent = Send(key, SIGCONT, SignalOrder::Target::kFull);
  EXPECT_TRUE(sent.ok()) << sent.error().detail;
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

TEST_F(LocalControl, PodsThatAreBeingStoppedAreNeitherActiveNorReady) {
  const std::string dir = directory_.path();
  const DispatchKey key = Key();
  DispatchOrder order = OrderOf(
      key, "batch/v1", "Job", "j",
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{)"
      R"("completionMode":"Indexed","parallelism":2,"completions":2,)"
      R"("successPolicy":{"rules":[{"succeededIndexes":"0"}]},"template":{"spec":{)"
      R"("restartPolicy":"Never","terminationGracePeriodSeconds":3600,)"
      R"("containers":[{"name":"main","command":["/bin/sh","-c",")"
      R"(if [ $JOB_COMPLETION_INDEX = 0 ]; then )" +
          UntilExists(dir + "/ready") + "; exit 0; fi; trap '" + UntilExists(dir + "/go") +
          "; exit 0' TERM; touch " + dir + R"(/ready; while :; do sleep 0.05; done"]}]}}}})");
  order.account = submitter_;
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  sink_.Await(key, [](const Observation& seen) {
    return seen.succeeded_pods == 1 && seen.active_pods == 0 && seen.ready_pods == 0;
  });
  directory_.Touch("go");
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
}

TEST_F(LocalControl, ASuspendedJobCanBeCancelled) {
  const DispatchKey key = Begin("trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
  ASSERT_TRUE(Send(key, SIGSTOP, SignalOrder::Target::kFull).ok());
  RemovePolicy policy;
  policy.keep_logs = true;
  // Longer than Remove waits for its answer: the script ends by its trap.
  policy.grace_period_s = 600;
  ASSERT_TRUE(Remove(*backend_, key, policy).ok());
}

TEST_F(LocalControl, SignalsReachTheProcessesThatAreMeant) {
  const std::string dir = directory_.path();
  const auto child = [&](const std::string& name, const std::string& step) {
    return "(" + (step.empty() ? "" : "export SLURM_STEP_ID=" + step + "; ") +
           "exec sh -c 'trap \"echo " + name + " >> " + dir + "/got\" USR1; touch " + dir + "/up-" +
           name + "; while :; do sleep 0.05; done') & ";
  };
  const DispatchKey key =
      Begin("unset SLURM_STEP_ID; trap 'echo shell >> " + dir + "/got' USR1; " +
            child("plain", "") + child("s0", "0") + child("s1", "1") + "while [ ! -e " + dir +
            "/up-plain -o ! -e " + dir + "/up-s0 -o ! -e " + dir +
            "/up-s1 ]; do sleep 0.05; done; echo ready; while :; do sleep 0.05; done");
  ASSERT_TRUE(AwaitLog(*backend_, key, "ready\n"));
  using Target = SignalOrder::Target;
  const std::tuple<Target, int, std::set<std::string>> cases[] = {
      {Target::kBatch, -1, {"shell"}},
      {Target::kSteps, -1, {"s0", "s1"}},
      {Target::kStep, 1, {"s1"}},
      {Target::kFull, -1, {"plain", "s0", "s1", "shell"}}};
  for (const auto& [target, step, wanted] : cases) {
    std::filesystem::remove(dir + "/got");
    ASSERT_TRUE(Send(key, SIGUSR1, target, step).ok());
    std::set<std::string> got;
    const SteadyTime give_up = Now() + kPatience;
    while (got != wanted && Now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::ifstream lines(dir + "/got");
      got.clear();
      for (std::string line; std::getline(lines, line);) got.insert(line);
    }
    EXPECT_EQ(got, wanted) << static_cast<int>(target);
  }
  ASSERT_TRUE(Send(key, SIGKILL, Target::kStep, 1).ok());
  const SteadyTime give_up = Now() + kPatience;
  while (!std::filesystem::exists(StepsDir(key) + "/cancelled.1") && Now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  struct stat info {};
  ASSERT_EQ(::stat((StepsDir(key) + "/cancelled.1").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, ::geteuid());
  EXPECT_FALSE(std::filesystem::exists(StepsDir(key) + "/cancelled.0"));
}

TEST_F(LocalControl, TheWarningComesBeforeTheLimit) {
  // Ten seconds after the start at the earliest, so that a trap is set by then.
  const SteadyTime began = Now();
  const DispatchKey key =
      Begin("trap 'echo warned; exit 3' USR1; echo ready; while :; do sleep 0.05; done",
            R"("muster.io/signal":"B:10@60","muster.io/time-limit-s":"60",)");
  EXPECT_EQ(sink_.AwaitEnd(key).exit_code, 3);
  EXPECT_EQ(Log(), "ready\nwarned\n");
  EXPECT_GE(Now() - began, std::chrono::seconds(9));
}

TEST_F(LocalControl, StepsAreReported_AndEndWithTheJob) {
  const std::string go = directory_.path() + "/go";
  const DispatchKey key = Begin(
      R"(cd $MUSTER_STEPS_DIR; echo '{"step":0,"name":"a","tasks":1,"state":"RUNNING","startUs":5}' >> steps.jsonl; )"
      R"(echo 'nonsense' >> steps.jsonl; echo '{"step":1,"name":"b","tasks":2,"state":"RUNNING","startUs":6}' >> steps.jsonl; echo ready; )" +
      UntilExists(go) +
      R"(; echo '{"step":0,"name":"a","tasks":1,"state":"COMPLETED","startUs":5,"endUs":9}' >> steps.jsonl)");
  const auto has = [](const Observation& seen, int step, StepState state) {
    return std::any_of(seen.steps.begin(), seen.steps.end(), [&](const StepRecord& one) {
      return one.step == step && one.state == state && one.job.value == 7 && one.attempt == 1;
    });
  };
  sink_.Await(key, [&](const Observation& seen) { return has(seen, 1, StepState::kRunning); });
  // A restarted daemon reports all of them again.
  backend_->Stop();
  backend_.reset();
  Result<std::unique_ptr<Backend>> again = MakeLocalBackend(Options());
  ASSERT_TRUE(again.ok());
  RecordingSink second;
  (*again)->Start(second);
  second.Await(key, [&](const Observation& seen) { return has(seen, 0, StepState::kRunning); });
  directory_.Touch("go");
  second.Await(key, [&](const Observation& seen) { return has(seen, 0, StepState::kCompleted); });
  second.Await(key, [&](const Observation& seen) { return has(seen, 1, StepState::kCancelled); });
  EXPECT_EQ(second.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  (*again)->Stop();
  again->reset();
  Open(Options());
}

TEST_F(LocalControl, TheStepsAreTheSubmittersOwn) {
  if (::geteuid() != 0) return;  // there is one user only
  submitter_ = 65534;
  const DispatchKey key =
      Begin(R"(stat -c '%a %u' $MUSTER_STEPS_DIR; cd $MUSTER_STEPS_DIR; )"
            R"(echo '{"step":0,"name":"a","state":"RUNNING","startUs":5}' >> steps.jsonl; )"
            "SLURM_STEP_ID=0 sleep 600; echo ended");
  sink_.Await(key, [](const Observation& seen) { return seen.steps.size() == 1; });
  ASSERT_TRUE(Send(key, SIGTERM, SignalOrder::Target::kStep, 0).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  EXPECT_EQ(WithoutTime(Log()), "700 65534\nended\n");
  struct stat info {};
  ASSERT_EQ(::stat((StepsDir(key) + "/cancelled.0").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 65534U);
  // A file of another user is not read.
  const DispatchKey other = Begin("cd $MUSTER_STEPS_DIR; echo ready; " +
                                  UntilExists(directory_.path() + "/go") + "; touch x; sleep 0.5");
  ASSERT_TRUE(AwaitLog(*backend_, other, "ready\n"));
  std::ofstream(StepsDir(other) + "/steps.jsonl")
      << R"({"step":0,"name":"a","state":"RUNNING","startUs":5})"
      << "\n";
  directory_.Touch("go");
  sink_.AwaitEnd(other);
  for (const Observation& seen : sink_.Of(other)) EXPECT_TRUE(seen.steps.empty());
}

TEST_F(LocalControl, ALinkInPlaceOfTheStepsIsNotFollowed) {
  const std::string target = directory_.path() + "/target";
  std::ofstream(target) << R"({"step":0,"name":"a","state":"RUNNING","startUs":5})"
                        << "\n";
  const DispatchKey key =
      Begin("cd $MUSTER_STEPS_DIR; ln -s " + target + " steps.jsonl; touch x; sleep 0.5");
  EXPECT_EQ(sink_.AwaitEnd(key).phase, RemotePhase::kSucceeded);
  for (const Observation& seen : sink_.Of(key)) EXPECT_TRUE(seen.steps.empty());
}

TEST_F(LocalControl, AnOutOfMemoryKillAnywhereIsTheJobsEnd) {
  const auto facts = Wait<ClusterFacts>([&](auto done) { backend_->Facts("alpha", done); });
  if (facts->message.find("memory (cgroup") == std::string::npos) return;
  const DispatchKey key = Key();
  DispatchOrder order = OrderOf(
      key, "batch/v1", "Job", "j",
      R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"backoffLimit":0,)"
      R"("template":{"metadata":{"annotations":{"muster.io/batch":"true"}},"spec":{)"
      R"("restartPolicy":"Never","containers":[{"name":"main","resources":{"limits":{"memory":"64Mi"}},)"
      R"("command":["/bin/sh","-c","head -c 300000000 /dev/zero | tail > /dev/null; echo survived; exit 0"]}]}}}})");
  order.job = {7};
  order.account = submitter_;
  ASSERT_TRUE(Ensure(*backend_, order).ok());
  EXPECT_EQ(sink_.AwaitEnd(key).reason, Reason::kOutOfMemory);
  EXPECT_NE(Log().find("survived\n"), std::string::npos) << Log();
  EXPECT_NE(Log().find("slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch. Some of "
                       "the step tasks have been OOM Killed.\n"),
            std::string::npos)
      << Log();
}

}  // namespace
}  // namespace muster::testing
