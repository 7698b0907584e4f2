// What namespaces and queues allow (rules U71 to U73): which level counts, what a refusal says, and
// the cap on priorities at submissions and edits.
#include "api/service/tenancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedd/text/yaml.h"

namespace muster::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kPrivileged = PodSecurityLevel::kPrivileged;
constexpr auto kBaseline = PodSecurityLevel::kBaseline;
constexpr auto kRestricted = PodSecurityLevel::kRestricted;

// Allows `update` of namespaces to one user.
class NamespaceAdmin final : public auth::Authorizer {
 public:
  bool Allows(const auth::Principal& who, auth::Verb verb,
              const auth::ResourceRef& what) const override {
    return who.user == "admin" && verb == auth::Verb::kUpdate && what.group.empty() &&
           what.resource == "namespaces" && what.name == "team";
  }
  bool AllowsPath(const auth::Principal&, auth::Verb, std::string_view) const override {
    return false;
  }
};

auth::Principal CallerNamed(const std::string& user) {
  auth::Principal who;
  who.user = user;
  return who;
}

ConfigView World(NamespaceTenancy tenancy, std::optional<PodSecurityLevel> of_queue = {}) {
  ConfigView config;
  config.namespaces["team"] = {"team", {}, "", std::move(tenancy)};
  ClusterQueue queue;
  queue.name = "cq";
  queue.pod_security = of_queue;
  config.cluster_queues["cq"] = queue;
  config.priority_classes["low"] = {"low", 10, ""};
  config.priority_classes["high"] = {"high", 1000, ""};
  return config;
}

shapes::ParsedJob JobWith(const std::string& pod) {
  auto documents = ParseYaml(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: team}, spec: {template: "
      "{spec: {" +
      pod + ", restartPolicy: Never, containers: [{name: c, image: i}]}}}}");
  MUSTER_CHECK(documents.ok());
  auto job = shapes::ParseJob(std::move((*documents)[0]));
  MUSTER_CHECK(job.ok());
  return std::move(job).value();
}

NamespaceTenancy Enforcing(PodSecurityLevel level, int minor = PodSecurityPolicy::kLatest) {
  NamespaceTenancy tenancy;
  tenancy.enforce = PodSecurityPolicy{level, minor};
  return tenancy;
}

TEST(Tenancy, TheStricterOfNamespaceAndQueueCounts_AndBaselineWhereNeitherSpeaks) {
  constexpr char kPlain[] = "hostNetwork: false", kHost[] = "hostNetwork: true";
  // Version 1.7 knows no seccomp profiles in fields; the latest baseline does.
  constexpr char kUnconfined[] =
      "securityContext: {runAsNonRoot: true, seccompProfile: {type: Unconfined}}";
  struct Case {
    const char* name;
    ConfigView config;
    const char* pod;
    const char* refusal;  // "" if there is none
  };
  for (const Case& one : std::vector<Case>{
           {"neither speaks, a plain pod", World({}), kPlain, ""},
           {"neither speaks, a pod of the host", World({}), kHost, "baseline:latest"},
           {"neither exists", ConfigView(), kHost, "baseline:latest"},
           {"a privileged queue", World({}, kPrivileged), kHost, ""},
           {"a privileged namespace", World(Enforcing(kPrivileged)), kHost, ""},
           {"a stricter queue", World(Enforcing(kPrivileged), kBaseline), kHost, "baseline:latest"},
           {"a stricter namespace", World(Enforcing(kRestricted), kPrivileged), kPlain,
            "restricted:latest"},
           {"of two versions the namespace's", World(Enforcing(kRestricted, 7), kBaseline), kPlain,
            "restricted:v1.7"},
           {"of two versions the queue's", World(Enforcing(kRestricted, 7), kBaseline), kUnconfined,
            "baseline:latest"}}) {
    const Status judged = CheckManifestTenancy(one.config, "team", "cq", JobWith(one.pod));
    EXPECT_EQ(judged.ok(), *one.refusal == '\0') << one.name;
    const std::string refusal = judged.ok() ? "" : judged.error().detail;
    const std::string level = "violates PodSecurity \"" + std::string(one.refusal) + "\"";
    EXPECT_THAT(refusal, HasSubstr(judged.ok() ? "" : level)) << one.name;
  }
}

TEST(Tenancy, ARefusalNamesTheLevelAndEveryField) {
  const ConfigView config = World({});
  EXPECT_TRUE(CheckManifestTenancy(config, "team", "cq", JobWith("hostNetwork: false")).ok());
  const Status refused = CheckManifestTenancy(
      config, "team", "cq",
      JobWith("hostNetwork: true, volumes: [{name: v, hostPath: {path: /etc}}]"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_THAT(refused.error().detail, HasSubstr("violates PodSecurity \"baseline:latest\""));
  ASSERT_EQ(refused.error().fields.size(), 2U);
  EXPECT_EQ(refused.error().fields[0].field, "spec.template.spec.hostNetwork");
  EXPECT_EQ(refused.error().fields[1].field, "spec.template.spec.volumes[0].hostPath");
  EXPECT_TRUE(
      CheckManifestTenancy(World({}, kPrivileged), "team", "cq", JobWith("hostNetwork: true"))
          .ok());
  const Status account =
      CheckManifestTenancy(World({}, kPrivileged), "team", "cq", JobWith("serviceAccountName: a"));
  ASSERT_FALSE(account.ok());
  EXPECT_EQ(account.error().code, Code::kPermissionDenied);
}

TEST(Tenancy, LevelWarnRefusesNothing_AndSaysWhatItWould) {
  NamespaceTenancy tenancy;
  tenancy.warn = PodSecurityPolicy{kRestricted};
  const ConfigView config = World(tenancy);
  const shapes::ParsedJob job = JobWith("hostIPC: false");
  EXPECT_TRUE(CheckManifestTenancy(config, "team", "cq", job).ok());
  EXPECT_THAT(PodSecurityWarnings(config, "", job.manifest),
              testing::Contains(HasSubstr("would violate PodSecurity \"restricted:latest\": "
                                          "spec.template.spec.containers[0].securityContext."
                                          "runAsNonRoot must be true")));
  EXPECT_THAT(PodSecurityWarnings(World({}), "team", job.manifest), ElementsAre());
  EXPECT_THAT(PodSecurityWarnings(config, "other", job.manifest), ElementsAre());
}

Status Submitted(const ConfigView& config, std::int64_t value, std::int64_t boost,
                 const std::string& user, bool boost_counts = true) {
  AdmissionSettings settings;
  settings.priority_boost = boost_counts;
  return CheckPriorityCap(config, settings, "team", {value, boost, "class"}, CallerNamed(user),
                          NamespaceAdmin());
}

TEST(PriorityCap, ClassAndBoostTogetherAreHeldToTheLowerCap) {
  NamespaceTenancy tenancy;
  EXPECT_TRUE(Submitted(World(tenancy), 1'000'000, 5, "alice").ok()) << "no cap";
  tenancy.max_priority_class = "low";
  EXPECT_TRUE(Submitted(World(tenancy), 10, 0, "alice").ok());
  const Status above = Submitted(World(tenancy), 11, 0, "alice");
  ASSERT_FALSE(above.ok());
  EXPECT_EQ(above.error().code, Code::kPermissionDenied);
  EXPECT_EQ(above.error().fields[0].field, "class");
  EXPECT_THAT(above.error().detail, HasSubstr("allows at most 10"));
  const Status boosted = Submitted(World(tenancy), 10, 1, "alice");
  ASSERT_FALSE(boosted.ok());
  EXPECT_EQ(boosted.error().fields[0].field, "metadata.annotations[kueue.x-k8s.io/priority-boost]");
  EXPECT_TRUE(Submitted(World(tenancy), 12, -2, "alice").ok());
  EXPECT_FALSE(Submitted(World(tenancy), 12, -2, "alice", false).ok())
      << "a boost that does not count lowers nothing";
  tenancy.max_priority = 5;
  EXPECT_FALSE(Submitted(World(tenancy), 6, 0, "alice").ok());
  EXPECT_TRUE(Submitted(World(tenancy), 5, 0, "alice").ok());
  EXPECT_TRUE(Submitted(World(tenancy), 1000, 0, "admin").ok()) << "may update the namespace";
  tenancy.max_priority.reset();
  tenancy.max_priority_class = "missing";
  EXPECT_TRUE(Submitted(World(tenancy), 0, 0, "alice").ok());
  EXPECT_FALSE(Submitted(World(tenancy), 1, 0, "alice").ok());
}

TEST(PriorityCap, EditsMayNotRaiseAPriorityAboveIt) {
  NamespaceTenancy tenancy;
  tenancy.max_priority = 100;
  AdmissionSettings settings;
  settings.priority_boost = true;
  WorldView view;
  view.config = std::make_shared<const ConfigView>(World(tenancy));
  view.settings = std::make_shared<const AdmissionSettings>(settings);
  JobRecord job;
  job.ns = "team";
  job.priority = 50;
  const auto edit = [&](std::optional<std::string> name, std::optional<std::int32_t> boost,
                        const char* user = "alice") {
    ChangeJobCommand command;
    command.priority_class = std::move(name);
    command.priority_boost = boost;
    return CheckPriorityEdit(view, job, CallerNamed(user), NamespaceAdmin(), &command).ok();
  };
  EXPECT_TRUE(edit({}, {}));
  EXPECT_TRUE(edit("low", {}));
  EXPECT_FALSE(edit("high", {}));
  EXPECT_TRUE(edit("high", {}, "admin"));
  EXPECT_TRUE(edit({}, 50));
  EXPECT_FALSE(edit({}, 51));
  EXPECT_FALSE(edit("low", 91));
  job.priority = 1000;  // from before the cap
  EXPECT_TRUE(edit({}, -1)) << "lower than before, if still above the cap";
  EXPECT_FALSE(edit({}, 1));
}

// Two edits that are judged by the same priority could exceed the cap together.
TEST(PriorityCap, AnEditUnderACapIsBoundToTheVersionThatItWasJudgedBy) {
  NamespaceTenancy capped;
  capped.max_priority = 100;
  JobRecord job;
  job.ns = "team";
  job.resource_version = 7;
  const auto version = [&](NamespaceTenancy tenancy, std::int64_t asked, bool changes) {
    WorldView view;
    view.config = std::make_shared<const ConfigView>(World(std::move(tenancy)));
    view.settings = std::make_shared<const AdmissionSettings>();
    ChangeJobCommand command;
    command.expected_resource_version = asked;
    if (changes) command.priority_class = "low";
    MUSTER_CHECK(
        CheckPriorityEdit(view, job, CallerNamed("alice"), NamespaceAdmin(), &command).ok());
    return command.expected_resource_version;
  };
  EXPECT_EQ(version(capped, 0, true), 7);
  EXPECT_EQ(version(capped, 5, true), 5) << "the one that the request names";
  EXPECT_EQ(version(capped, 0, false), 0);
  EXPECT_EQ(version({}, 0, true), 0);
}

}  // namespace
}  // namespace muster::api
