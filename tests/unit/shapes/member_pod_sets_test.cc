// The pod sets of the Workload that stands for a job in a member's own queue.
#include "schedd/shapes/kinds/member_pod_sets.h"

#include "schedd/model/admission_lifecycle.h"
#include "schedd/model/member_queues.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

constexpr char kPod[] = "{spec: {restartPolicy: Never, containers: [{name: pytorch, image: i}]}}";

std::string SetsText(const std::string& manifest) {
  const auto sets = MemberPodSetsOf(Yaml(manifest));
  if (!sets.ok()) return sets.error().detail;
  std::string text;
  for (const MemberPodSet& one : *sets) {
    text += (text.empty() ? "" : "; ") + one.name + " x" + std::to_string(one.count);
    EXPECT_EQ(TextAt(one.pod_template, {"spec", "containers", "0", "image"}), "\"i\"") << one.name;
  }
  return text;
}

TEST(MemberPodSets, EachKindHasThoseThatKueueFindsInIt) {
  const std::string pod = kPod;
  const std::string serving = "{spec: {containers: [{name: c, image: i}]}}";
  struct Case {
    std::string manifest, sets;
  };
  const Case cases[] = {
      {"{apiVersion: batch/v1, kind: Job, metadata: {name: a}, spec: {parallelism: 5, completions: "
       "3, template: " +
           pod + "}}",
       "main x3"},
      {"{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, spec: "
       "{replicatedJobs: [{name: x, replicas: 2, template: {spec: {parallelism: 3, completions: 3, "
       "template: " +
           pod + "}}}, {name: y, template: {spec: {template: " + pod + "}}}]}}",
       "x x6; y x1"},
      {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a}, spec: "
       "{pytorchReplicaSpecs: {Master: {template: " +
           pod + "}, Worker: {replicas: 4, template: " + pod + "}}}}",
       "master x1; worker x4"},
      {"{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {headGroupSpec: "
       "{template: " +
           serving + "}, workerGroupSpecs: [{groupName: g, replicas: 2, template: " + serving +
           "}]}}",
       "head x1; g x2"},
  };
  for (const Case& one : cases) EXPECT_EQ(SetsText(one.manifest), one.sets) << one.manifest;
}

TEST(MemberPodSets, AJobAsItsApiServerHasCompletedItIsRead) {
  EXPECT_EQ(SetsText("{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: b, uid: u, "
                     "generation: 1, creationTimestamp: '2026-01-01T00:00:00Z', managedFields: "
                     "[]}, spec: {suspend: true, parallelism: 2, completions: 2, backoffLimit: 6, "
                     "completionMode: NonIndexed, podReplacementPolicy: TerminatingOrFailed, "
                     "manualSelector: false, selector: {matchLabels: "
                     "{batch.kubernetes.io/controller-uid: u}}, template: {metadata: {labels: "
                     "{batch.kubernetes.io/controller-uid: u, job-name: a}}, spec: {restartPolicy: "
                     "Never, terminationGracePeriodSeconds: 30, dnsPolicy: ClusterFirst, "
                     "securityContext: {}, schedulerName: default-scheduler, containers: [{name: "
                     "main, image: i, resources: {}, terminationMessagePath: /dev/termination-log, "
                     "terminationMessagePolicy: File, imagePullPolicy: Always}]}}}, status: {}}"),
            "main x2");
}

TEST(MemberPodSets, WhatIsNoJobHasNone) {
  EXPECT_FALSE(
      MemberPodSetsOf(Yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")).ok());
}

TEST(MemberPodSets, AJobForAMembersQueueSaysNothingElseToIt) {
  const std::string manifest =
      "{apiVersion: batch/v1, kind: Job, metadata: {name: a, labels: "
      "{kueue.x-k8s.io/max-exec-time-seconds: '5', app: t}, annotations: "
      "{kueue.x-k8s.io/job-min-parallelism: '1', kueue.x-k8s.io/other: x, note: y}}, spec: "
      "{parallelism: 2, template: " +
      std::string(kPod) + "}}";
  const ParsedJob parsed = Job(Yaml(manifest));
  JobRecord job;
  job.name = "a";
  job.ns = "b";
  job.attempt = 1;
  ChangeState(&job, [](AdmissionState* state) {
    AdmissionCheckStatus check;
    check.name = kMemberQueuesCheck;
    state->checks = {check};
  });
  const auto rendered = Render(job, parsed.manifest, ConfigView{}, {"inst", true});
  ASSERT_TRUE(rendered.ok()) << rendered.error().detail;
  EXPECT_EQ(WriteJson(rendered->object.manifest).find("kueue.x-k8s.io"), std::string::npos);
  EXPECT_EQ(TextAt(rendered->object.manifest, {"metadata", "labels", "app"}), "\"t\"");
  EXPECT_EQ(TextAt(rendered->object.manifest, {"metadata", "annotations", "note"}), "\"y\"");
}

}  // namespace
}  // namespace muster::shapes
