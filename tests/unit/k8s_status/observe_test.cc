// An object and its pods together.
#include "tests/unit/k8s_status/support.h"

namespace muster::k8s {
namespace {

std::string Failure(const std::string& code, const std::string& reason = "Error") {
  return "{phase: Failed, startTime: '2026-11-22T10:00:01Z', containerStatuses: [{name: c, state: "
         "{terminated: {exitCode: " +
         code + ", reason: " + reason + ", finishedAt: '2026-11-22T10:00:05Z'}}}]}";
}

json::object FailedJob(const std::string& reason = "BackoffLimitExceeded") {
  return Object("{}", "{failed: 1, conditions: [{type: Failed, status: 'True', reason: " + reason +
                          ", message: 'over'}]}");
}

const char kUnschedulable[] =
    "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, "
    "message: 'no node'}]}";

TEST(Observe, CountsPodsWhereTheKindDoesNot) {
  const json::object set = Object("{replicatedJobs: [{name: w, replicas: 2}]}", "{}");
  const PodState done = Pod("c", "{phase: Succeeded}");
  PodState going = RunningPod("d");
  going.deleting = true;
  PodState gone = Pod("e", Failure("1"));
  gone.gone = true;
  EXPECT_EQ(Said("JobSet", set, {RunningPod("a"), Pod("b", "{phase: Pending}"), done, going, gone}),
            "Running ready=1 active=2 succeeded=1 from 10:00:01");
}

TEST(Observe, LetsPodsSayThatAJobRunsBeforeItsOwnStatusDoes) {
  const json::object job = Object("{parallelism: 2, completions: 2}", "{active: 2}");
  EXPECT_EQ(Said("Job", job, {RunningPod("a")}), "Pending active=2 from 10:00:01");
  EXPECT_EQ(Said("Job", job, {RunningPod("a"), RunningPod("b")}),
            "Running ready=2 active=2 from 10:00:01");
  const json::object suspended = Object("{suspend: true, parallelism: 1}", "{}");
  EXPECT_EQ(Said("Job", suspended, {RunningPod("a")}), "Suspended from 10:00:01");
}

TEST(Observe, SaysWhatTheFirstWaitingPodWaitsFor) {
  const json::object job = Object("{parallelism: 3}", "{active: 3}");
  EXPECT_EQ(Said("Job", job, {Pod("z", kUnschedulable), Pod("y", kUnschedulable), RunningPod("a")}),
            "Pending active=3 from 10:00:01 | pod y: Unschedulable: no node");
}

TEST(Observe, TellsTheExitCodeOfTheFirstFailingContainer) {
  EXPECT_EQ(Said("Job", FailedJob(), {RunningPod("a"), Pod("b", Failure("137", "OOMKilled"))}),
            "Failed failed=1 code=137 signal=9 from 10:00:01 to 10:00:05 OutOfMemory | "
            "BackoffLimitExceeded: over; pod b: container c ended with exit code 137 (OOMKilled)");
}

TEST(Observe, TellsWantOfMemoryByItsField) {
  const auto ended =
      [](const std::string& phase, const std::string& code, const std::string& reason) {
    return Pod("a", "{phase: " + phase +
                        ", containerStatuses: [{name: c, state: {terminated: "
                        "{exitCode: " +
                        code + ", reason: " + reason + ", message: 'OOMKilled'}}}]}");
  };
  const json::object done =
      Object("{}", "{succeeded: 1, conditions: [{type: Complete, status: 'True'}]}");
  const PodState restarted = Pod(
      "a",
      "{phase: Succeeded, containerStatuses: [{name: c, state: {terminated: {exitCode: 0, reason: "
      "Completed}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}");
  const PodState crashing =
      Pod("a",
          "{phase: Running, containerStatuses: [{name: c, state: {waiting: {reason: Crashing}}, "
          "lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}");
  const struct {
    const char* sentence;
    json::object job;
    PodState pod;
    Reason told;
  } kCases[] = {
      {"a container that was killed", FailedJob(), ended("Failed", "137", "OOMKilled"),
       Reason::kOutOfMemory},
      {"a script that went on and failed", FailedJob(), ended("Failed", "1", "OOMKilled"),
       Reason::kOutOfMemory},
      {"a container that was being started again", FailedJob(), crashing, Reason::kOutOfMemory},
      {"a script that went on and returned 0", done, ended("Succeeded", "0", "OOMKilled"),
       Reason::kOutOfMemory},
      {"a later start of the container was enough", done, restarted, Reason::kNone},
      {"words of a message are none", FailedJob(), ended("Failed", "137", "Error"),
       Reason::kBackoffLimitExceeded},
      {"a deadline is a deadline", FailedJob("DeadlineExceeded"),
       ended("Failed", "137", "OOMKilled"), Reason::kDeadlineExceeded},
  };
  for (const auto& one : kCases) {
    const ObjectState state = ReadObject(KindNamed("Job"), one.job);
    EXPECT_EQ(Observe(state, std::vector<PodState>{one.pod}).reason, one.told) << one.sentence;
  }
}

TEST(Observe, TellsTheCodeOfTheLastContainer_OfAJobWhoseContainersAreStartedAgain) {
  // The controller deletes the pod when the job fails, so our TERM ends it after its own failure.
  PodState gone =
      Pod("b",
          "{phase: Failed, startTime: '2026-11-22T10:00:01Z', containerStatuses: [{name: c, state: "
          "{terminated: {exitCode: 143, reason: Error, finishedAt: '2026-11-22T10:00:05Z'}}, "
          "lastState: {terminated: {exitCode: 7, reason: Error, finishedAt: "
          "'2026-11-22T10:00:04Z'}}}]}");
  gone.gone = true;
  const Observation seen =
      Observe(ReadObject(KindNamed("Job"), FailedJob()), std::vector<PodState>{gone});
  EXPECT_EQ(seen.exit_code, 7);
  EXPECT_EQ(seen.exit_signal, 0);
}

TEST(Observe, RemembersAFailedPodThatIsGone) {
  PodState gone = Pod("b", Failure("3"));
  gone.gone = true;
  EXPECT_EQ(Said("JobSet",
                 Object("{}", "{conditions: [{type: Failed, status: 'True', reason: FailedJobs}]}"),
                 {gone}),
            "Failed code=3 from 10:00:01 to 10:00:05 Failed | FailedJobs; pod b: container c ended "
            "with exit code 3");
}

TEST(Observe, HasNoExitCodeWhenNoPodIsKnown) {
  EXPECT_EQ(Said("Job", FailedJob(), {}),
            "Failed failed=1 BackoffLimitExceeded | BackoffLimitExceeded: over");
}

struct DisruptionCase {
  const char* sentence;
  std::string job_reason, pod;
  Reason told;
};

TEST(Observe, TellsEvictionsAndLostNodesFromTheJobsOwnFailure) {
  const std::string evicted = "{phase: Failed, reason: Evicted, message: low}";
  const std::string lost =
      "{phase: Failed, conditions: [{type: DisruptionTarget, status: 'True', reason: "
      "DeletionByTaintManager}]}";
  const std::vector<DisruptionCase> cases = {
      {"the job failed by itself", "BackoffLimitExceeded", Failure("1"),
       Reason::kBackoffLimitExceeded},
      {"its pod was evicted", "BackoffLimitExceeded", evicted, Reason::kEvictedOnMember},
      {"its node was lost", "BackoffLimitExceeded", lost, Reason::kNodeFailures},
      {"its failure policy ends it when it is evicted", "PodFailurePolicy", evicted,
       Reason::kEvictedOnMember},
      {"it ran out of time, evicted or not", "DeadlineExceeded", evicted,
       Reason::kDeadlineExceeded},
  };
  for (const DisruptionCase& c : cases) {
    const ObjectState state = ReadObject(KindNamed("Job"), FailedJob(c.job_reason));
    const std::vector<PodState> pods = {Pod("p", c.pod)};
    EXPECT_EQ(Observe(state, pods).reason, c.told) << c.sentence;
  }
  const ObjectState state = ReadObject(KindNamed("Job"), FailedJob());
  const std::vector<PodState> both = {Pod("a", evicted), Pod("b", Failure("4"))};
  const Observation seen = Observe(state, both);
  EXPECT_EQ(seen.reason, Reason::kBackoffLimitExceeded) << "one of its pods failed by itself";
  EXPECT_EQ(seen.exit_code, 4);
}

TEST(Observe, OrdersPodsByPodSetIndexAndName) {
  PodState a = RunningPod("a", "worker"), b = RunningPod("b", "driver"),
           c = RunningPod("c", "driver");
  b.index = 1;
  c.index = 0;
  EXPECT_TRUE(PodBefore(b, a));
  EXPECT_TRUE(PodBefore(c, b));
  EXPECT_FALSE(PodBefore(a, a));
}

}  // namespace
}  // namespace muster::k8s
