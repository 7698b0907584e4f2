// Why a pod waits, how it ended, and why it was deleted.
#include "tests/unit/k8s_status/support.h"

namespace muster::k8s {
namespace {

// "Failed code=137 signal=9 evicted | message".
std::string Told(const PodState& pod) {
  static const char* const kPhases[] = {"Pending", "Running", "Succeeded", "Failed"};
  static const char* const kTaken[] = {"", " evicted", " preempted", " node lost"};
  std::string text = kPhases[static_cast<int>(pod.phase)];
  if (pod.ready) text += " ready";
  if (pod.failure) {
    text += " " + pod.failure->container + "=" + std::to_string(pod.failure->exit_code);
    if (pod.failure->exit_signal != 0)
      text += " signal=" + std::to_string(pod.failure->exit_signal);
  }
  text += kTaken[static_cast<int>(pod.disruption)];
  return pod.message.empty() ? text : text + " | " + pod.message;
}

struct Case {
  std::string sentence, status, told;
};

std::string Ended(const std::string& code, const std::string& reason,
                  const std::string& time = "10:00:05", const std::string& name = "c") {
  return "{name: " + name + ", state: {terminated: {exitCode: " + code + ", reason: '" + reason +
         "', finishedAt: '2026-11-22T" + time + "Z'}}}";
}
std::string Waits(const std::string& reason, const std::string& message) {
  return "{name: c, state: {waiting: {reason: " + reason + ", message: '" + message + "'}}}";
}
std::string Target(const std::string& reason) {
  return "conditions: [{type: DisruptionTarget, status: 'True', reason: " + reason +
         ", message: why}]";
}

TEST(PodStatusOfAMember, SaysWhyThePodDoesNotRun) {
  const std::vector<Case> cases = {
      {"nothing is known yet", "{}", "Pending"},
      {"no node takes it",
       "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, "
       "message: '0/4 nodes are available'}]}",
       "Pending | Unschedulable: 0/4 nodes are available"},
      {"its containers are being made",
       "{phase: Pending, containerStatuses: [" + Waits("ContainerCreating", "") + "]}", "Pending"},
      {"its image cannot be had",
       "{phase: Pending, containerStatuses: [" + Waits("ImagePullBackOff", "Back-off pulling i") +
           "]}",
       "Pending | container c: ImagePullBackOff: Back-off pulling i"},
      {"an init container's image cannot be had",
       "{phase: Pending, initContainerStatuses: [" + Waits("ErrImagePull", "not found") +
           "], containerStatuses: [" + Waits("PodInitializing", "") + "]}",
       "Pending | container c: ErrImagePull: not found"},
      {"a Secret that it needs is missing",
       "{phase: Pending, containerStatuses: [" +
           Waits("CreateContainerConfigError", "secret s not found") + "]}",
       "Pending | container c: CreateContainerConfigError: secret s not found"},
      {"its container crashes again and again",
       "{phase: Running, containerStatuses: [{name: c, state: {waiting: {reason: "
       "CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3}}}]}",
       "Running c=3 | container c: CrashLoopBackOff"},
  };
  for (const Case& c : cases) EXPECT_EQ(Told(Pod("p", c.status)), c.told) << c.sentence;
}

TEST(PodStatusOfAMember, SaysWhichContainerFailedFirstAndHow) {
  const std::vector<Case> cases = {
      {"all is well", "{phase: Succeeded, containerStatuses: [" + Ended("0", "Completed") + "]}",
       "Succeeded"},
      {"an exit code", "{phase: Failed, containerStatuses: [" + Ended("42", "Error") + "]}",
       "Failed c=42 | container c ended with exit code 42"},
      {"out of memory", "{phase: Failed, containerStatuses: [" + Ended("137", "OOMKilled") + "]}",
       "Failed c=137 signal=9 | container c ended with exit code 137 (OOMKilled)"},
      {"a signal", "{phase: Failed, containerStatuses: [" + Ended("143", "Error") + "]}",
       "Failed c=143 signal=15 | container c ended with exit code 143"},
      {"a high code that is no signal",
       "{phase: Failed, containerStatuses: [" + Ended("255", "Error") + "]}",
       "Failed c=255 | container c ended with exit code 255"},
      {"the earlier of two containers",
       "{phase: Failed, containerStatuses: [" + Ended("1", "Error", "10:00:07", "late") + ", " +
           Ended("2", "Error", "10:00:05", "early") + "]}",
       "Failed early=2 | container early ended with exit code 2"},
      {"an init container before the main one",
       "{phase: Failed, initContainerStatuses: [" + Ended("9", "Error", "10:00:04", "init") +
           "], containerStatuses: [" + Ended("1", "Error", "10:00:05") + "]}",
       "Failed init=9 | container init ended with exit code 9"},
      {"one that runs again after a failure",
       "{phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [{name: "
       "c, state: {running: {}}, lastState: {terminated: {exitCode: 7, finishedAt: "
       "'2026-11-22T10:00:01Z'}}}]}",
       "Running ready c=7"},
      {"a deadline of the pod's own",
       "{phase: Failed, reason: DeadlineExceeded, message: 'Pod was active too long'}",
       "Failed | DeadlineExceeded: Pod was active too long"},
  };
  for (const Case& c : cases) EXPECT_EQ(Told(Pod("p", c.status)), c.told) << c.sentence;
}

TEST(PodStatusOfAMember, TellsWhatTookAPodAwayFromItsOwnFailure) {
  const std::string killed = ", containerStatuses: [" + Ended("143", "Error") + "]";
  const std::vector<Case> cases = {
      {"evicted by request", "{phase: Failed, " + Target("EvictionByEvictionAPI") + "}",
       "Failed evicted | EvictionByEvictionAPI: why"},
      {"evicted by the kubelet, with the code that its signal made",
       "{phase: Failed, reason: Evicted, message: 'low on memory', " +
           Target("TerminationByKubelet") + killed + "}",
       "Failed c=143 signal=15 evicted | Evicted: low on memory"},
      {"evicted by an older kubelet", "{phase: Failed, reason: Evicted, message: 'low on disk'}",
       "Failed evicted | Evicted: low on disk"},
      {"preempted by the member's scheduler",
       "{phase: Running, " + Target("PreemptionByScheduler") + "}",
       "Running preempted | PreemptionByScheduler: why"},
      {"lost with its node", "{phase: Running, " + Target("DeletionByTaintManager") + "}",
       "Running node lost | DeletionByTaintManager: why"},
      {"collected because its node is gone", "{phase: Failed, " + Target("DeletionByPodGC") + "}",
       "Failed node lost | DeletionByPodGC: why"},
      {"lost, as an old node controller says it", "{phase: Running, reason: NodeLost}",
       "Running node lost | NodeLost"},
      {"stopped by a node that shut down", "{phase: Failed, reason: NodeShutdown, message: off}",
       "Failed node lost | NodeShutdown: off"},
      {"refused by the node it was bound to", "{phase: Failed, reason: OutOfcpu, message: full}",
       "Failed evicted | OutOfcpu: full"},
      {"a disruption to come", "{phase: Failed, " + Target("DeletionByTomorrow") + "}",
       "Failed evicted | DeletionByTomorrow: why"},
      {"a condition that is False",
       "{phase: Running, conditions: [{type: DisruptionTarget, status: 'False', reason: X}]}",
       "Running"},
  };
  for (const Case& c : cases) EXPECT_EQ(Told(Pod("p", c.status)), c.told) << c.sentence;
}

TEST(PodStatusOfAMember, KnowsItsPlaceInTheAttempt) {
  const std::vector<std::pair<std::string, std::int32_t>> cases = {
      {"labels: {batch.kubernetes.io/job-completion-index: '3'}", 3},
      {"labels: {}, annotations: {batch.kubernetes.io/job-completion-index: '4'}", 4},
      {"labels: {training.kubeflow.org/replica-index: '1'}", 1},
      {"labels: {leaderworkerset.sigs.k8s.io/worker-index: '0'}", 0},
      {"labels: {batch.kubernetes.io/job-completion-index: x}", -1},
      {"labels: {batch.kubernetes.io/job-completion-index: '-2'}", -1},
      {"labels: {app: x}", -1},
  };
  for (const auto& [metadata, index] : cases)
    EXPECT_EQ(ReadPod(Yaml("{metadata: {name: p, " + metadata + "}}")).index, index) << metadata;
}

TEST(PodStatusOfAMember, IsShownAsPodsOfOtherMembersAre) {
  PodState pod = Pod("p",
                     "{phase: Failed, startTime: '2026-11-22T10:00:01Z', containerStatuses: [" +
                         Ended("137", "OOMKilled") + "]}",
                     "worker");
  pod.node = "node-1";
  const PodStatus shown = ToPodStatus(pod);
  EXPECT_EQ(shown.name, "p");
  EXPECT_EQ(shown.pod_set, "worker");
  EXPECT_EQ(shown.phase, "Failed");
  EXPECT_EQ(shown.node, "node-1");
  EXPECT_EQ(shown.exit_code, 137);
  EXPECT_EQ(shown.exit_signal, 9);
  EXPECT_EQ(FormatRfc3339(shown.start_time), "2026-11-22T10:00:01Z");
  EXPECT_EQ(FormatRfc3339(shown.end_time), "2026-11-22T10:00:05Z");
  EXPECT_EQ(ToPodStatus(Pod("q", "{phase: Succeeded}")).exit_code, 0);
  EXPECT_FALSE(ToPodStatus(RunningPod("r")).exit_code.has_value());
}

TEST(PodStatusOfAMember, ListsMainContainersBeforeInitContainers) {
  const PodState pod = ReadPod(
      Yaml("{spec: {initContainers: [{name: first}], containers: [{name: main}, {name: side}]}}"));
  EXPECT_EQ(pod.containers, (std::vector<std::string>{"main", "side", "first"}));
}

TEST(FailedBefore, PutsOwnFailuresBeforeDisruptionsAndTheEarlierFirst) {
  const PodState own =
      Pod("own", "{phase: Failed, containerStatuses: [" + Ended("1", "Error") + "]}");
  const PodState earlier = Pod(
      "earlier", "{phase: Failed, containerStatuses: [" + Ended("1", "Error", "10:00:01") + "]}");
  const PodState taken = Pod("taken", "{phase: Failed, reason: Evicted, containerStatuses: [" +
                                          Ended("143", "Error", "09:00:00") + "]}");
  const PodState well = RunningPod("well");
  EXPECT_TRUE(FailedBefore(earlier, own));
  EXPECT_TRUE(FailedBefore(own, taken));
  EXPECT_TRUE(FailedBefore(taken, well));
  EXPECT_FALSE(FailedBefore(well, taken));
  EXPECT_FALSE(FailedBefore(own, own));
}

}  // namespace
}  // namespace muster::k8s
