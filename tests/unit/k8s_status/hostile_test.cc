// Status of a broken or hostile member: the result is always defined, bounded and valid UTF-8.
#include "backends/k8s/status/reader.h"
#include "tests/unit/k8s_status/support.h"

namespace muster::k8s {
namespace {

TEST(HostileStatus, AMemberOfTheWrongTypeCountsAsAbsent) {
  const std::vector<std::string> documents = {
      "{}",
      "{metadata: 1, spec: x, status: [1, 2]}",
      "{metadata: {labels: 3, annotations: [x], finalizers: {a: b}, ownerReferences: 7, name: {}, "
      "uid: [], deletionTimestamp: null}, spec: null, status: true}",
      "{spec: {suspend: 'yes', parallelism: many, completions: {}, replicas: [], runPolicy: 4, "
      "replicatedJobs: {name: x}}, status: {active: -5, ready: 1.5, succeeded: '3', failed: null, "
      "conditions: {type: Failed}, uncountedTerminatedPods: 1, completedIndexes: 4, "
      "replicatedJobsStatus: x, replicaStatuses: [1], jobDeploymentStatus: 9, startTime: soon, "
      "readyReplicas: {}, state: []}}",
      "{spec: {replicatedJobs: [1, null, {name: 3, replicas: -1, template: x}]}, status: "
      "{conditions: [1, null, {type: 3}, {type: Failed, status: true}]}}",
  };
  for (const KindInfo& kind : Kinds()) {
    for (const std::string& document : documents) {
      const ObjectState state = ReadObject(kind, Yaml(document));
      EXPECT_FALSE(state.attempt.has_value());
      EXPECT_EQ(state.name, "");
      const Observation seen = Observe(state, {});
      EXPECT_NE(seen.phase, RemotePhase::kSucceeded) << kind.kind << document;
      EXPECT_NE(seen.phase, RemotePhase::kFailed) << kind.kind << document;
      EXPECT_EQ(seen.active_pods, 0) << kind.kind << document;
    }
  }
}

TEST(HostileStatus, PodsOfTheWrongTypeAreJustPending) {
  for (const std::string document :
       {"{}", "{metadata: [], spec: 3, status: x}",
        "{status: {phase: 7, conditions: [3, {type: Ready}], containerStatuses: {a: b}, "
        "initContainerStatuses: [null, {state: [], lastState: {terminated: 4}}], reason: []}}",
        "{spec: {containers: {name: x}}, metadata: {labels: {muster.io/pod-set: 5}}}"}) {
    const PodState pod = ReadPod(Yaml(document));
    EXPECT_EQ(pod.phase, PodPhase::kPending) << document;
    EXPECT_FALSE(pod.attempt || pod.failure || pod.ready) << document;
    EXPECT_EQ(pod.message + pod.name + pod.pod_set, "") << document;
  }
}

TEST(HostileStatus, NumbersStayWithinWhatACountCanBe) {
  const Observation seen = Observe(
      ReadObject(KindNamed("Job"),
                 Object("{parallelism: 9223372036854775807, completions: 9223372036854775807}",
                        "{active: 9223372036854775807, succeeded: 2147483647, failed: -3, "
                        "uncountedTerminatedPods: {succeeded: [a, b]}}")),
      {});
  EXPECT_EQ(seen.active_pods, INT32_MAX);
  EXPECT_EQ(seen.succeeded_pods, INT32_MAX);
  EXPECT_EQ(seen.failed_pods, 0);
  const Observation set = Observe(
      ReadObject(KindNamed("JobSet"),
                 Object("{replicatedJobs: [{name: w, replicas: 2147483647, template: {spec: "
                        "{parallelism: 2147483647}}}]}",
                        "{replicatedJobsStatus: [{name: w, succeeded: 2147483647}]}")),
      {});
  ASSERT_EQ(set.reclaimable.size(), 1U);
  EXPECT_EQ(set.reclaimable[0].count, INT32_MAX);
}

TEST(HostileStatus, LongTextsAreCutAndNamesToo) {
  const std::string endless(200'000, 'x');
  json::object object = Object("{}", "{conditions: [{type: Failed, status: 'True'}]}");
  object["status"].as_object()["conditions"].as_array()[0].as_object()["message"] = endless;
  object["metadata"].as_object()["name"] = endless;
  const PodState pod = Pod("p", "{phase: Failed, reason: Evicted, message: " + endless + "}");
  const std::vector<PodState> pods = {pod};
  const Observation seen = Observe(ReadObject(KindNamed("Job"), object), pods);
  EXPECT_EQ(seen.message.size(), kMessageBytes);
  EXPECT_EQ(seen.object.name.size(), kNameBytes);
  EXPECT_LE(pod.message.size(), kMessageBytes);
}

TEST(CleanText, KeepsUtf8AndReplacesWhatIsNot) {
  EXPECT_EQ(CleanText("Gr\xC3\xB6\xC3\x9F"
                      "e \xF0\x9F\x8E\x89",
                      100),
            "Gr\xC3\xB6\xC3\x9F"
            "e \xF0\x9F\x8E\x89");
  EXPECT_EQ(CleanText("a\xFF"
                      "b",
                      100),
            "a\xEF\xBF\xBD"
            "b")
      << "a byte that is none";
  EXPECT_EQ(CleanText("a\xC3", 100), "a\xEF\xBF\xBD") << "cut in the middle";
  EXPECT_EQ(CleanText("\xC0\x80", 100), "\xEF\xBF\xBD\xEF\xBF\xBD") << "overlong";
  EXPECT_EQ(CleanText("\xED\xA0\x80", 100), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD") << "surrogate";
  EXPECT_EQ(CleanText("\xF4\x90\x80\x80", 4).size(), 3U) << "beyond the last character";
  EXPECT_EQ(CleanText(std::string_view("a\nb\0c\x7F", 6), 100), "a b c ") << "control characters";
}

TEST(CleanText, CutsBetweenCharacters) {
  EXPECT_EQ(CleanText("abc", 2), "ab");
  EXPECT_EQ(CleanText("a\xC3\xB6", 2), "a");
  EXPECT_EQ(CleanText("a\xC3\xB6", 3), "a\xC3\xB6");
  EXPECT_EQ(CleanText("\xFF\xFF", 5), "\xEF\xBF\xBD");
}

}  // namespace
}  // namespace muster::k8s
