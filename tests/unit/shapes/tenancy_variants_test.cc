// S09 (rules U70, U72): every violation in every pod template of every kind, in containers and init
// containers: none may pass the level baseline and the checks of identity. Also the reserved keys,
// and that the manifests that people are shown pass.
#include <iostream>

#include "schedd/shapes/parts/template_places.h"
#include "schedd/shapes/security/identity.h"
#include "schedd/shapes/security/pod_security.h"
#include "schedd/text/lenient.h"
#include "tests/unit/shapes/support.h"

namespace muster::shapes {
namespace {

// A manifest of `kind` whose template number `which` (of `templates`) is TEMPLATE.
struct KindOfJob {
  const char* kind;
  const char* manifest;  // with TEMPLATE where the template stands
};
const KindOfJob kKinds[] = {
    {"Job", "{kind: Job, metadata: {name: j}, spec: {template: TEMPLATE}}"},
    {"JobSet",
     "{kind: JobSet, metadata: {name: j}, spec: {replicatedJobs: [{name: a, template: {spec: "
     "{template: PLAIN}}}, {name: b, template: {spec: {template: TEMPLATE}}}]}}"},
    {"PyTorchJob",
     "{kind: PyTorchJob, metadata: {name: j}, spec: {pytorchReplicaSpecs: {Master: {template: "
     "TEMPLATE}, Worker: {template: PLAIN}}}}"},
    {"PyTorchJob",
     "{kind: PyTorchJob, metadata: {name: j}, spec: {pytorchReplicaSpecs: {Master: {template: "
     "PLAIN}, Worker: {template: TEMPLATE}}}}"},
    {"LeaderWorkerSet",
     "{kind: LeaderWorkerSet, metadata: {name: j}, spec: {leaderWorkerTemplate: {leaderTemplate: "
     "TEMPLATE, workerTemplate: PLAIN}}}"},
    {"LeaderWorkerSet",
     "{kind: LeaderWorkerSet, metadata: {name: j}, spec: {leaderWorkerTemplate: {workerTemplate: "
     "TEMPLATE}}}"},
    {"RayCluster",
     "{kind: RayCluster, metadata: {name: j}, spec: {headGroupSpec: {template: TEMPLATE}}}"},
    {"RayCluster",
     "{kind: RayCluster, metadata: {name: j}, spec: {headGroupSpec: {template: PLAIN}, "
     "workerGroupSpecs: [{groupName: w, template: PLAIN}, {groupName: x, template: TEMPLATE}]}}"},
    {"RayJob",
     "{kind: RayJob, metadata: {name: j}, spec: {rayClusterSpec: {headGroupSpec: {template: "
     "TEMPLATE}}}}"},
    {"RayJob",
     "{kind: RayJob, metadata: {name: j}, spec: {rayClusterSpec: {headGroupSpec: {template: "
     "PLAIN}, workerGroupSpecs: [{groupName: w, template: TEMPLATE}]}}}"},
    {"RayJob",
     "{kind: RayJob, metadata: {name: j}, spec: {submitterPodTemplate: TEMPLATE, rayClusterSpec: "
     "{headGroupSpec: {template: PLAIN}}}}"},
    {"Workload",
     "{kind: Workload, metadata: {name: j}, spec: {podSets: [{name: a, template: PLAIN}, "
     "{name: b, template: TEMPLATE}]}}"},
};

constexpr const char* kPlain = "{spec: {containers: [{name: c, image: i}]}}";

// Pod specs and templates that no tenant may have by default.
const char* const kBadPods[] = {
    "hostNetwork: true",
    "hostPID: true",
    "hostIPC: true",
    "volumes: [{name: v, hostPath: {path: /etc}}]",
    "securityContext: {windowsOptions: {hostProcess: true}}",
    "securityContext: {seLinuxOptions: {user: root}}",
    "securityContext: {seccompProfile: {type: Unconfined}}",
    "securityContext: {appArmorProfile: {type: Unconfined}}",
    "securityContext: {sysctls: [{name: kernel.shmmax, value: '1'}]}",
    "serviceAccountName: admin",
    "serviceAccount: admin",
    "nodeName: node-1",
    "schedulerName: mine",
};
const char* const kBadContainers[] = {
    "securityContext: {privileged: true}",
    "securityContext: {capabilities: {add: [SYS_ADMIN]}}",
    "securityContext: {procMount: Unmasked}",
    "securityContext: {windowsOptions: {hostProcess: true}}",
    "securityContext: {seccompProfile: {type: Unconfined}}",
    "ports: [{containerPort: 1, hostPort: 1}]",
    "livenessProbe: {tcpSocket: {host: h, port: 1}}",
};
const char* const kBadMetadata[] = {
    "namespace: other",
    "labels: {muster.io/job-uid: x}",
    "labels: {muster.io/instance: x}",
    "annotations: {muster.io/released: 'true'}",
    "annotations: {muster.io/cluster: east}",
    "labels: {kueue.x-k8s.io/multikueue-origin: x}",
    "finalizers: [muster.io/record]",
};

std::string Replaced(std::string text, const std::string& word, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += by.size())
    text.replace(at, word.size(), by);
  return text;
}

std::size_t ProblemCount(const KindOfJob& kind, const std::string& pod_template) {
  const json::value manifest =
      Yaml(Replaced(Replaced(kind.manifest, "TEMPLATE", pod_template), "PLAIN", kPlain));
  const NamespaceTenancy tenancy;
  Problems problems;
  const Field root(manifest, &problems);
  VisitPodTemplates(root, kind.kind, [](const Field& one) {
    CheckPodSecurity(PodSecurityPolicy(), FieldsOfTemplate(one));
  });
  CheckIdentity(root, kind.kind, {"default", tenancy});
  return problems.empty() ? 0 : problems.ToError().fields.size();
}

TEST(S09, NoVariantOfAForbiddenTemplatePasses) {
  int variants = 0, passed = 0;
  for (const KindOfJob& kind : kKinds) {
    EXPECT_EQ(ProblemCount(kind, kPlain), 0U) << kind.manifest;
    std::vector<std::string> templates;
    for (const char* pod : kBadPods) {
      templates.push_back("{spec: {" + std::string(pod) + ", containers: [{name: c, image: i}]}}");
    }
    for (const char* container : kBadContainers) {
      const std::string bad = "{name: b, image: i, " + std::string(container) + "}";
      templates.push_back("{spec: {containers: [{name: c, image: i}, " + bad + "]}}");
      templates.push_back("{spec: {initContainers: [" + bad +
                          "], containers: [{name: c, image: i}]}}");
    }
    for (const char* metadata : kBadMetadata) {
      templates.push_back("{metadata: {" + std::string(metadata) +
                          "}, spec: {containers: [{name: c, image: i}]}}");
    }
    for (const std::string& one : templates) {
      ++variants;
      const std::size_t problems = ProblemCount(kind, one);
      if (problems == 0) ++passed;
      EXPECT_EQ(problems, 1U) << kind.manifest << "\n" << one;
    }
  }
  std::cout << "S09: " << variants << " variants of manifests, " << passed << " accepted\n";
  EXPECT_GT(variants, 200);
}

std::string IdentityProblems(const std::string& manifest, const NamespaceTenancy& tenancy,
                             bool privileged = false) {
  const json::value document = Yaml(manifest);
  Problems problems;
  const std::string kind(ViewAt(document, "kind"));
  CheckIdentity(Field(document, &problems), kind, {"default", tenancy, privileged});
  std::string text;
  if (problems.empty()) return text;
  for (const FieldError& one : problems.ToError().fields)
    text += (text.empty() ? "" : " ") + one.field;
  return text;
}

TEST(Identity, ServiceAccountsAreThoseThatTheNamespaceLists) {
  NamespaceTenancy tenancy;
  const auto job = [](const std::string& pod) {
    return "{kind: Job, spec: {template: {spec: {" + pod + "}}}}";
  };
  EXPECT_EQ(IdentityProblems(job("serviceAccountName: default"), tenancy), "");
  EXPECT_EQ(IdentityProblems(job("serviceAccountName: ''"), tenancy), "");
  EXPECT_EQ(IdentityProblems(job("serviceAccountName: ml"), tenancy, true),
            "spec.template.spec.serviceAccountName")
      << "a level does not give an identity";
  tenancy.service_accounts = {"ml", "train"};
  EXPECT_EQ(IdentityProblems(job("serviceAccountName: ml, serviceAccount: train"), tenancy), "");
  EXPECT_EQ(IdentityProblems(job("serviceAccount: admin"), tenancy),
            "spec.template.spec.serviceAccount");
  EXPECT_EQ(IdentityProblems(job("schedulerName: default-scheduler"), tenancy), "");
  EXPECT_EQ(IdentityProblems(job("nodeName: n, schedulerName: mine"), tenancy, true), "")
      << "level privileged allows them";
}

TEST(Identity, KeysOfMusterAreReserved_ButForThoseThatAreMeantForUsers) {
  const NamespaceTenancy none;
  const auto metadata = [&](const std::string& text) {
    return IdentityProblems("{kind: Job, metadata: {" + text + "}, spec: {}}", none);
  };
  EXPECT_EQ(metadata("labels: {team: a, kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/managed: "
                     "'true'}"),
            "");
  EXPECT_EQ(metadata("annotations: {muster.io/cluster: a, muster.io/placement: p, "
                     "muster.io/datasets: d, muster.io/datasets-required: 'true', "
                     "muster.io/checkpointable: 'true', muster.io/run-time: 1h, "
                     "muster.io/run-time-ms: '1', muster.io/arrival: '0'}"),
            "");
  EXPECT_EQ(metadata("annotations: {muster.io/partitions: 'a,b'}"),
            "metadata.annotations[muster.io/partitions]");
  EXPECT_EQ(IdentityProblems("{kind: BatchScript, metadata: {annotations: "
                             "{muster.io/partitions: 'a,b'}}, spec: {}}",
                             none),
            "");
  EXPECT_EQ(metadata("annotations: {muster.io/clusters: a}"),
            "metadata.annotations[muster.io/clusters]");
  EXPECT_EQ(metadata("annotations: {muster.io/stdin-path: /etc/shadow}"),
            "metadata.annotations[muster.io/stdin-path]")
      << "it is an annotation of pods";
  EXPECT_EQ(metadata("labels: {muster.io/cluster: a}"), "metadata.labels[muster.io/cluster]");
  EXPECT_EQ(metadata("labels: {sub.muster.io/x: a}"), "metadata.labels[sub.muster.io/x]");
  EXPECT_EQ(metadata("labels: {notmuster.io/x: a}"), "");
  EXPECT_EQ(metadata("labels: {kueue.x-k8s.io/managed: 'no'}"),
            "metadata.labels[kueue.x-k8s.io/managed]");
  EXPECT_EQ(IdentityProblems("{kind: Job, spec: {template: {metadata: {annotations: "
                             "{muster.io/stdin-path: in, muster.io/stdout-path: out, "
                             "muster.io/stderr-path: err, muster.io/open-mode: append}}}}}",
                             none),
            "");
}

TEST(Identity, OfARayClusterAndAJobSetMoreThanTemplatesIsLookedAt) {
  const NamespaceTenancy none;
  EXPECT_EQ(IdentityProblems("{kind: RayCluster, spec: {headGroupSpec: {labels: {muster.io/a: b}, "
                             "headService: {metadata: {namespace: kube-system}}}, "
                             "workerGroupSpecs: [{labels: {muster.io/c: d}}]}}",
                             none),
            "spec.headGroupSpec.labels[muster.io/a] "
            "spec.headGroupSpec.headService.metadata.namespace "
            "spec.workerGroupSpecs[0].labels[muster.io/c]");
  EXPECT_EQ(IdentityProblems("{kind: JobSet, spec: {replicatedJobs: [{template: {metadata: "
                             "{namespace: other}}}]}}",
                             none),
            "spec.replicatedJobs[0].template.metadata.namespace");
}

}  // namespace
}  // namespace muster::shapes
