// Every state that each kind can report (backends/k8s/README.md, "What each kind reports").
#include "tests/unit/k8s_status/support.h"

namespace muster::k8s {
namespace {

struct Case {
  std::string sentence, spec, status, said;
};

void Expect(const std::string& kind, const std::vector<Case>& cases) {
  for (const Case& c : cases)
    EXPECT_EQ(Said(kind, Object(c.spec, c.status)), c.said) << kind << " " << c.sentence;
}

// The conditions of a list: "Complete=True:Reason:message".
std::string When(const std::string& type, const std::string& status, const std::string& reason,
                 const std::string& message, const std::string& time = "10:00:09") {
  return "{type: " + type + ", status: '" + status + "', reason: " + reason + ", message: '" +
         message + "', lastTransitionTime: '2026-11-22T" + time + "Z'}";
}

const std::string kStarted = "startTime: '2026-11-22T10:00:00Z'";
const std::string kResumed = When("Suspended", "False", "JobResumed", "Job resumed");

TEST(JobStatus, SaysHowFarTheJobIs) {
  Expect(
      "Job",
      {
          {"that nobody released yet is suspended", "{suspend: true, parallelism: 2}",
           "{conditions: [" + When("Suspended", "True", "JobSuspended", "Job suspended") + "]}",
           "Suspended"},
          {"without any status waits", "{suspend: false}", "{}", "Pending"},
          {"whose pods are not all ready waits", "{parallelism: 2, completions: 2}",
           "{active: 2, ready: 1, " + kStarted + "}", "Pending ready=1 active=2 from 10:00:00"},
          {"whose pods are all ready runs", "{parallelism: 2, completions: 2}",
           "{active: 2, ready: 2, " + kStarted + ", conditions: [" + kResumed + "]}",
           "Running ready=2 active=2 from 10:00:00"},
          {"with pods that are done and not counted yet runs", "{parallelism: 2, completions: 4}",
           "{active: 1, ready: 1, uncountedTerminatedPods: {succeeded: [p1]}, " + kStarted + "}",
           "Running ready=1 active=1 succeeded=1 from 10:00:00"},
          {"that needs fewer completions than it may run at once needs only those",
           "{parallelism: 5, completions: 1}", "{active: 1, ready: 1, " + kStarted + "}",
           "Running ready=1 active=1 from 10:00:00"},
          {"that met its success criteria still runs", "{parallelism: 1, completions: 1}",
           "{succeeded: 1, " + kStarted + ", conditions: [" +
               When("SuccessCriteriaMet", "True", "CompletionsReached", "all") + "]}",
           "Running succeeded=1 from 10:00:00"},
          {"is done with Complete", "{parallelism: 1, completions: 1}",
           "{succeeded: 1, " + kStarted + ", completionTime: '2026-11-22T10:00:08Z', conditions: " +
               "[" + When("Complete", "True", "CompletionsReached", "all") + "]}",
           "Succeeded succeeded=1 code=0 from 10:00:00 to 10:00:08"},
          {"that will fail has not failed yet", "{}",
           "{active: 1, " + kStarted + ", conditions: [" +
               When("FailureTarget", "True", "BackoffLimitExceeded", "limit reached") + "]}",
           "Pending active=1 from 10:00:00 | BackoffLimitExceeded: limit reached"},
          {"fails with Failed", "{}",
           "{failed: 1, " + kStarted + ", conditions: [" +
               When("Failed", "True", "BackoffLimitExceeded", "limit reached") + "]}",
           "Failed failed=1 from 10:00:00 to 10:00:09 BackoffLimitExceeded | BackoffLimitExceeded: "
           "limit reached"},
          {"that ran too long", "{}",
           "{conditions: [" + When("Failed", "True", "DeadlineExceeded", "too long") + "]}",
           "Failed to 10:00:09 DeadlineExceeded | DeadlineExceeded: too long"},
          {"whose failure policy ended it", "{}",
           "{conditions: [" + When("Failed", "True", "PodFailurePolicy", "rule 0") + "]}",
           "Failed to 10:00:09 PodFailurePolicy | PodFailurePolicy: rule 0"},
          {"with an index that failed for good", "{}",
           "{conditions: [" + When("Failed", "True", "FailedIndexes", "1 index") + "]}",
           "Failed to 10:00:09 BackoffLimitExceeded | FailedIndexes: 1 index"},
          {"with too many of them", "{}",
           "{conditions: [" + When("Failed", "True", "MaxFailedIndexesExceeded", "2") + "]}",
           "Failed to 10:00:09 BackoffLimitExceeded | MaxFailedIndexesExceeded: 2"},
          {"that failed for a reason to come", "{}",
           "{conditions: [" + When("Failed", "True", "Tomorrow", "new") + "]}",
           "Failed to 10:00:09 Failed | Tomorrow: new"},
          {"with Complete False goes on", "{}",
           "{active: 1, ready: 1, conditions: [" + When("Complete", "False", "X", "") + "]}",
           "Running ready=1 active=1"},
      });
}

TEST(JobStatus, GivesBackThePodsThatNoCompletionIsLeftFor) {
  const std::string labelled = ", template: {metadata: {labels: {muster.io/pod-set: trainers}}}}";
  Expect("Job",
         {
             {"with more to do than runs at once keeps all", "{parallelism: 2, completions: 5}",
              "{active: 2, ready: 2, succeeded: 3}", "Running ready=2 active=2 succeeded=3"},
             {"with one left of three at once gives two", "{parallelism: 3, completions: 5}",
              "{active: 1, ready: 1, succeeded: 4}",
              "Running ready=1 active=1 succeeded=4 reclaim main=2"},
             {"never holds more than it has completions", "{parallelism: 5, completions: 3}",
              "{active: 3, ready: 3}", "Running ready=3 active=3"},
             {"with indexes counts each once, failed ones too",
              "{parallelism: 3, completions: 3, completionMode: Indexed}",
              "{active: 1, ready: 1, succeeded: 1, failed: 4, completedIndexes: '0', "
              "failedIndexes: '2'}",
              "Pending ready=1 active=1 succeeded=1 failed=4 reclaim main=2"},
             {"with indexes that make no sense counts what succeeded",
              "{parallelism: 3, completions: 3, completionMode: Indexed}",
              "{active: 2, ready: 2, succeeded: 1, completedIndexes: '7-2,x'}",
              "Running ready=2 active=2 succeeded=1 reclaim main=1"},
             {"of one pod at a time gives nothing", "{parallelism: 1, completions: 3}",
              "{succeeded: 3}", "Running succeeded=3"},
             {"without completions gives nothing", "{parallelism: 3}", "{succeeded: 3}",
              "Running succeeded=3"},
             {"calls the pod set as its template does",
              "{parallelism: 2, completions: 2" + labelled, "{active: 1, ready: 1, succeeded: 1}",
              "Running ready=1 active=1 succeeded=1 reclaim trainers=1"},
         });
}

const std::string kTwoJobs =
    "replicatedJobs: [{name: driver, replicas: 1, template: {spec: {}}}, {name: Worker, replicas: "
    "2, template: {spec: {parallelism: 3, completions: 3, template: {metadata: {labels: "
    "{muster.io/pod-set: worker}}}}}}]}";

TEST(JobSetStatus, SaysHowFarTheSetIs) {
  const std::string resumed = When("Suspended", "False", "ResumeJobs", "resumed", "10:00:00");
  Expect(
      "JobSet",
      {
          {"that nobody released yet is suspended", "{suspend: true, " + kTwoJobs,
           "{conditions: [" + When("Suspended", "True", "SuspendedJobs", "suspended") + "]}",
           "Suspended"},
          {"whose jobs are not all ready waits", "{" + kTwoJobs,
           "{conditions: [" + resumed +
               "], replicatedJobsStatus: [{name: driver, ready: 1}, {name: Worker, ready: 1}]}",
           "Pending from 10:00:00"},
          {"whose jobs are all ready runs", "{" + kTwoJobs,
           "{conditions: [" + resumed +
               "], replicatedJobsStatus: [{name: Worker, ready: 2}, {name: driver, ready: 1}]}",
           "Running from 10:00:00"},
          {"gives back the pods of jobs that succeeded", "{" + kTwoJobs,
           "{replicatedJobsStatus: [{name: driver, ready: 1}, {name: Worker, ready: 1, succeeded: "
           "1}]}",
           "Running reclaim worker=3"},
          {"in its startup order waits", "{" + kTwoJobs,
           "{conditions: [" +
               When("StartupPolicyInProgress", "True", "InOrderStartupPolicyInProgress", "x") +
               "], replicatedJobsStatus: [{name: driver, ready: 1}]}",
           "Pending"},
          {"that was restarted says how often", "{" + kTwoJobs, "{restarts: 2}",
           "Pending | restarted 2 times"},
          {"is done with Completed", "{" + kTwoJobs,
           "{conditions: [" + resumed + ", " +
               When("Completed", "True", "AllJobsCompleted", "well") + "]}",
           "Succeeded code=0 from 10:00:00 to 10:00:09"},
          {"fails with Failed", "{" + kTwoJobs,
           "{conditions: [" + When("Failed", "True", "FailedJobs", "first failed job: x") + "]}",
           "Failed to 10:00:09 Failed | FailedJobs: first failed job: x"},
          {"that used up its restarts", "{" + kTwoJobs,
           "{conditions: [" + When("Failed", "True", "ReachedMaxRestarts", "3") + "]}",
           "Failed to 10:00:09 BackoffLimitExceeded | ReachedMaxRestarts: 3"},
          {"without replicated jobs waits for ever", "{}", "{}", "Pending"},
      });
}

TEST(PyTorchJobStatus, SaysHowFarTheTrainingIs) {
  const std::string counts =
      "replicaStatuses: {Master: {active: 1}, Worker: {active: 2, failed: 1}}, " + kStarted;
  const auto failed = [](const std::string& message, const std::string& master = "failed: 1") {
    return "{completionTime: '2026-11-22T10:00:08Z', replicaStatuses: {Master: {" + master +
           "}}, " + kStarted + ", conditions: [" +
           When("Running", "False", "PyTorchJobRunning", "x") + ", " +
           When("Failed", "True", "PyTorchJobFailed", message) + "]}";
  };
  Expect(
      "PyTorchJob",
      {
          {"that nobody released yet is suspended", "{runPolicy: {suspend: true}}",
           "{conditions: [" + When("Suspended", "True", "PyTorchJobSuspended", "x") + "]}",
           "Suspended"},
          {"is suspended by its own field, not by spec.suspend", "{suspend: true}", "{}",
           "Pending"},
          {"that was created waits", "{}",
           "{conditions: [" + When("Created", "True", "PyTorchJobCreated", "x") + "]}", "Pending"},
          {"runs with Running", "{}",
           "{conditions: [" + When("Running", "True", "PyTorchJobRunning", "x") + "], " + counts +
               "}",
           "Running active=3 failed=1 from 10:00:00"},
          {"that restarts a pod says so", "{}",
           "{conditions: [" + When("Running", "False", "X", "x") + ", " +
               When("Restarting", "True", "PyTorchJobRestarting", "1 Worker") + "]}",
           "Pending | PyTorchJobRestarting: 1 Worker"},
          {"is done with Succeeded", "{}",
           "{completionTime: '2026-11-22T10:00:08Z', conditions: [" +
               When("Succeeded", "True", "PyTorchJobSucceeded", "x") +
               "], replicaStatuses: {Master: {succeeded: 1}}, " + kStarted + "}",
           "Succeeded succeeded=1 code=0 from 10:00:00 to 10:00:08"},
          {"fails with Failed", "{}", failed("1 Master replica(s) failed"),
           "Failed failed=1 from 10:00:00 to 10:00:08 Failed | PyTorchJobFailed: 1 Master "
           "replica(s) failed"},
          {"that ran too long", "{runPolicy: {activeDeadlineSeconds: 8}}", failed("x", ""),
           "Failed from 10:00:00 to 10:00:08 DeadlineExceeded | PyTorchJobFailed: x"},
          {"that ended before its deadline failed by itself",
           "{runPolicy: {activeDeadlineSeconds: 9}}",
           failed("rank 0: it was active longer than specified deadline"),
           "Failed failed=1 from 10:00:00 to 10:00:08 Failed | PyTorchJobFailed: rank 0: it was "
           "active longer than specified deadline"},
          {"whose deadline lies beyond any clock",
           "{runPolicy: {activeDeadlineSeconds: 9223372036854775807}}", failed("x"),
           "Failed failed=1 from 10:00:00 to 10:00:08 Failed | PyTorchJobFailed: x"},
          {"that used up its retries in place", "{runPolicy: {backoffLimit: 3}}", failed("x", ""),
           "Failed from 10:00:00 to 10:00:08 BackoffLimitExceeded | PyTorchJobFailed: x"},
          {"that had more failures than retries", "{runPolicy: {backoffLimit: 0}}", failed("x"),
           "Failed failed=1 from 10:00:00 to 10:00:08 BackoffLimitExceeded | PyTorchJobFailed: x"},
          {"that failed for good before its retries were used up", "{runPolicy: {backoffLimit: 3}}",
           failed("it has reached the backoff limit of patience"),
           "Failed failed=1 from 10:00:00 to 10:00:08 Failed | PyTorchJobFailed: it has reached "
           "the backoff limit of patience"},
      });
}

TEST(RayJobStatus, SaysHowFarTheJobIs) {
  const auto status =
      [](const std::string& deployment, const std::string& job, const std::string& more = "") {
    return "{jobDeploymentStatus: " + deployment + ", jobStatus: '" + job +
           "', startTime: '2026-11-22T10:00:00Z'" + more + "}";
  };
  const std::string ended = ", endTime: '2026-11-22T10:00:08Z'";
  Expect("RayJob",
         {
             {"that nobody released yet is suspended", "{suspend: true}",
              "{jobDeploymentStatus: Suspended}", "Suspended"},
             {"that is being suspended is suspended", "{suspend: true}",
              "{jobDeploymentStatus: Suspending}", "Suspended"},
             {"that is new waits", "{}", "{}", "Pending"},
             {"that was released and still says Suspended waits", "{suspend: false}",
              "{jobDeploymentStatus: Suspended}", "Pending"},
             {"that makes its cluster waits", "{}", status("Initializing", ""),
              "Pending from 10:00:00"},
             {"whose cluster is ready runs", "{}",
              status("Initializing", "", ", rayClusterStatus: {state: ready}"),
              "Running from 10:00:00"},
             {"whose entrypoint runs", "{}", status("Running", "RUNNING"), "Running from 10:00:00"},
             {"that its operator tries again", "{}", status("Retrying", "FAILED", ", failed: 1"),
              "Pending from 10:00:00 | retried by its operator after 1 failed tries"},
             {"is done with Complete and SUCCEEDED", "{}",
              status("Complete", "SUCCEEDED", ended + ", succeeded: 1"),
              "Succeeded code=0 from 10:00:00 to 10:00:08"},
             {"with Complete and FAILED has failed", "{}", status("Complete", "FAILED", ended),
              "Failed from 10:00:00 to 10:00:08 Failed | jobDeploymentStatus Complete, jobStatus "
              "FAILED"},
             {"with Complete and STOPPED has failed", "{}", status("Complete", "STOPPED", ended),
              "Failed from 10:00:00 to 10:00:08 Failed | jobDeploymentStatus Complete, jobStatus "
              "STOPPED"},
             {"with SUCCEEDED alone is not done", "{}", status("Running", "SUCCEEDED"),
              "Running from 10:00:00"},
             {"fails with Failed", "{}",
              status("Failed", "FAILED", ended + ", reason: AppFailed, message: 'Job failed'"),
              "Failed from 10:00:00 to 10:00:08 Failed | AppFailed: Job failed"},
             {"that ran too long", "{}",
              status("Failed", "RUNNING", ended + ", reason: DeadlineExceeded, message: late"),
              "Failed from 10:00:00 to 10:00:08 DeadlineExceeded | DeadlineExceeded: late"},
             {"whose submitter did not get through", "{}",
              status("Failed", "", ended + ", reason: SubmissionFailed, message: 'no head'"),
              "Failed from 10:00:00 to 10:00:08 FailedToStart | SubmissionFailed: no head"},
             {"that its operator does not take, suspended or not", "{suspend: true}",
              "{jobDeploymentStatus: ValidationFailed, reason: ValidationFailed, message: bad}",
              "Failed FailedToStart | ValidationFailed: bad"},
         });
}

TEST(RayClusterStatus, SaysHowFarTheClusterIsAndNeverEnds) {
  Expect("RayCluster",
         {
             {"that nobody released yet is suspended", "{suspend: true}", "{state: suspended}",
              "Suspended"},
             {"that was released and still says suspended waits", "{suspend: false}",
              "{state: suspended}", "Pending"},
             {"without a state waits", "{}", "{desiredWorkerReplicas: 2}", "Pending"},
             {"runs when it is ready", "{}",
              "{state: ready, stateTransitionTimes: {ready: '2026-11-22T10:00:03Z'}}",
              "Running from 10:00:03"},
             {"that its operator calls failed is tried again by it", "{}",
              "{state: failed, reason: 'no quota'}", "Pending | no quota"},
             {"whose pods cannot be made says so", "{}",
              "{conditions: [" + When("ReplicaFailure", "True", "FailedCreateHeadPod", "denied") +
                  "]}",
              "Pending | FailedCreateHeadPod: denied"},
         });
}

TEST(LeaderWorkerSetStatus, SaysHowFarTheGroupsAreAndNeverEnds) {
  const std::string available =
      "conditions: [" + When("Available", "True", "AllGroupsReady", "x") + "]";
  Expect("LeaderWorkerSet",
         {
             {"of no groups is suspended, though all of them are available", "{replicas: 0}",
              "{readyReplicas: 0, " + available + "}", "Suspended"},
             {"whose groups are not all ready waits", "{replicas: 2}",
              "{readyReplicas: 1, replicas: 2}", "Pending"},
             {"that was just released is not available because no groups were", "{replicas: 2}",
              "{readyReplicas: 0, " + available + "}", "Pending"},
             {"runs when all groups are ready", "{replicas: 2}",
              "{readyReplicas: 2, " + available + "}", "Running from 10:00:09"},
             {"has one group unless it says otherwise", "{}", "{readyReplicas: 1}", "Running"},
         });
}

TEST(ObjectMetadata, CarriesWhatIdentifiesTheAttempt) {
  const ObjectState state = ReadObject(KindNamed("Job"), Object("{suspend: true}", "{}"));
  ASSERT_TRUE(state.attempt.has_value());
  EXPECT_EQ(state.attempt->job_uid.ToString(), kJobUid);
  EXPECT_EQ(state.attempt->attempt, 2);
  const Observation seen = Observe(state, {});
  EXPECT_EQ(seen.key.attempt, 2);
  EXPECT_EQ(seen.remote_uid, "u1");
  EXPECT_EQ(seen.object, (RemoteObject{"batch/v1", "Job", "team", "a"}));
  EXPECT_TRUE(seen.held);
  EXPECT_FALSE(seen.deleting);
  EXPECT_EQ(seen.sequence, 42);
  EXPECT_EQ(state.resource_version, "7");
}

struct LabelCase {
  const char* sentence;
  const char* metadata;
  bool ours;
};

TEST(ObjectMetadata, BelongsToAnAttemptOnlyWithItsLabelsAndWithoutAnotherController) {
  const std::string uid = kJobUid;
  const std::vector<LabelCase> cases = {
      {"no labels at all", "{}", false},
      {"labels that are a list", "{labels: [a]}", false},
      {"no attempt", "{labels: {muster.io/job-uid: UID}}", false},
      {"an attempt that is no number", "{labels: {muster.io/job-uid: UID, muster.io/attempt: 2x}}",
       false},
      {"attempt 0", "{labels: {muster.io/job-uid: UID, muster.io/attempt: '0'}}", false},
      {"an attempt beyond any",
       "{labels: {muster.io/job-uid: UID, muster.io/attempt: '99999999999'}}", false},
      {"a job uid that is none", "{labels: {muster.io/job-uid: x, muster.io/attempt: '1'}}", false},
      {"both labels", "{labels: {muster.io/job-uid: UID, muster.io/attempt: '1'}}", true},
      {"both labels on a RayJob's own RayCluster",
       "{labels: {muster.io/job-uid: UID, muster.io/attempt: '1'}, ownerReferences: [{kind: "
       "RayJob, name: a, uid: u, controller: true}]}",
       false},
      {"an owner that does not control it",
       "{labels: {muster.io/job-uid: UID, muster.io/attempt: '1'}, ownerReferences: [{kind: "
       "ConfigMap, name: a, uid: u}]}",
       true},
  };
  for (const LabelCase& c : cases) {
    std::string metadata = c.metadata;
    if (const auto at = metadata.find("UID"); at != std::string::npos) metadata.replace(at, 3, uid);
    const ObjectState state =
        ReadObject(KindNamed("RayCluster"), Yaml("{metadata: " + metadata + "}"));
    EXPECT_EQ(state.attempt.has_value(), c.ours) << c.sentence;
  }
}

TEST(ObjectMetadata, KnowsWhereOurFinalizerStands) {
  const auto finalizer = [](const std::string& list) {
    return ReadObject(KindNamed("Job"), Yaml("{metadata: {finalizers: " + list + "}}")).finalizer;
  };
  EXPECT_EQ(finalizer("[]"), -1);
  EXPECT_EQ(finalizer("[foregroundDeletion]"), -1);
  EXPECT_EQ(finalizer("[muster.io/record]"), 0);
  EXPECT_EQ(finalizer("[foregroundDeletion, muster.io/record]"), 1);
  EXPECT_EQ(finalizer("{a: muster.io/record}"), -1);
}

TEST(ObjectMetadata, TellsASuspensionByOthersFromOurOwn) {
  const std::string released = ", muster.io/released: 'true'";
  EXPECT_EQ(Said("Job", Object("{suspend: true}", "{}")), "Suspended");
  EXPECT_EQ(Said("Job", Object("{suspend: true}", "{}", released)).substr(0, 31),
            "Suspended | SuspendedExternally");
  EXPECT_EQ(Said("LeaderWorkerSet", Object("{replicas: 0}", "{}", released)).substr(0, 31),
            "Suspended | SuspendedExternally");
  EXPECT_EQ(Said("Job", Object("{suspend: false}", "{}", released)), "Pending");
}

TEST(ObjectMetadata, SaysThatItIsBeingDeleted) {
  json::object object = Object("{}", "{}");
  object["metadata"].as_object()["deletionTimestamp"] = "2026-11-22T10:00:00Z";
  EXPECT_TRUE(Observe(ReadObject(KindNamed("Job"), object), {}).deleting);
}

}  // namespace
}  // namespace muster::k8s
