// What namespaces and queues say of their tenants (rules U71 to U75): the labels and annotations,
// right and wrong.
#include "schedd/model/config.h"
#include "schedd/shapes/config/object_readers.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

struct ReadBack {
  NamespaceTenancy tenancy;
  std::string problems;  // fields, joined by spaces
};

ReadBack Read(const std::string& metadata) {
  const json::value document =
      Yaml("{apiVersion: v1, kind: Namespace, metadata: {name: team-a, " + metadata + "}}");
  Problems problems;
  ReadBack out{ReadNamespace(Field(document, &problems)).tenancy, ""};
  if (problems.empty()) return out;
  for (const FieldError& one : problems.ToError().fields)
    out.problems += (out.problems.empty() ? "" : " ") + one.field;
  return out;
}

std::string Label(const std::string& name, const std::string& value) {
  return "labels: {pod-security.kubernetes.io/" + name + ": " + value + "}";
}

TEST(NamespaceTenancy, LabelsOfPodSecurity) {
  EXPECT_FALSE(Read("labels: {team: a}").tenancy.enforce);
  const ReadBack one = Read(Label("enforce",
                                  "restricted, pod-security.kubernetes.io/"
                                  "enforce-version: v1.30, "
                                  "pod-security.kubernetes.io/warn: restricted, "
                                  "pod-security.kubernetes.io/audit: baseline"));
  EXPECT_EQ(one.problems, "");
  EXPECT_EQ(one.tenancy.enforce, (PodSecurityPolicy{PodSecurityLevel::kRestricted, 30}));
  EXPECT_EQ(one.tenancy.warn, PodSecurityPolicy{PodSecurityLevel::kRestricted});
  EXPECT_TRUE(one.tenancy.audit);
  EXPECT_EQ(PodSecurityPolicyName(*one.tenancy.enforce), "restricted:v1.30");
  EXPECT_EQ(Read(Label("enforce-version", "latest")).tenancy.enforce, PodSecurityPolicy());
  const std::string field = "metadata.labels[pod-security.kubernetes.io/";
  EXPECT_EQ(Read(Label("enforce", "strict")).problems, field + "enforce]");
  EXPECT_EQ(Read(Label("enforce", "Restricted")).problems, field + "enforce]");
  for (const char* version : {"v1.x", "v1.01", "'1.30'", "v2.0", "v1", "''", "v1.-3"}) {
    EXPECT_EQ(Read(Label("warn-version", version)).problems, field + "warn-version]") << version;
  }
  EXPECT_EQ(Read(Label("enforced", "restricted")).problems, field + "enforced]")
      << "a misspelt label would protect nothing";
}

TEST(NamespaceTenancy, Annotations) {
  const ReadBack one = Read(
      "annotations: {muster.io/service-accounts: 'train, ml,train', muster.io/max-priority: '-5', "
      "muster.io/max-priority-class: low, muster.io/max-pending-jobs: '100'}");
  EXPECT_EQ(one.problems, "");
  EXPECT_EQ(one.tenancy.service_accounts, (std::vector<std::string>{"ml", "train"}));
  EXPECT_EQ(one.tenancy.max_priority, -5);
  EXPECT_EQ(one.tenancy.max_priority_class, "low");
  EXPECT_EQ(one.tenancy.max_pending_jobs, 100);
  for (const char* wrong :
       {"muster.io/service-accounts: 'a,,b'", "muster.io/service-accounts: '*'",
        "muster.io/max-priority: high", "muster.io/max-priority: '9999999999'",
        "muster.io/max-priority-class: 'a b'", "muster.io/max-pending-jobs: '0'",
        "muster.io/max-pending-jobs: many"}) {
    const std::string key(wrong, std::string_view(wrong).find(": "));
    EXPECT_EQ(Read("annotations: {" + std::string(wrong) + "}").problems,
              "metadata.annotations[" + key + "]")
        << wrong;
  }
}

TEST(ClusterQueueTenancy, TheLevelOfAQueue) {
  const auto read = [](const std::string& level, std::string* problem) {
    const json::value document = Yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: q, "
        "annotations: {muster.io/pod-security: " +
        level + "}}, spec: {}}");
    Problems problems;
    const ClusterQueue queue = ReadClusterQueue(Field(document, &problems));
    *problem = problems.empty() ? "" : problems.ToError().fields.front().field;
    return queue.pod_security;
  };
  std::string problem;
  EXPECT_EQ(read("privileged", &problem), PodSecurityLevel::kPrivileged);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(read("none", &problem), std::nullopt);
  EXPECT_EQ(problem, "metadata.annotations[muster.io/pod-security]");
}

}  // namespace
}  // namespace muster::shapes
