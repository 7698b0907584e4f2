#include "clients/cli/kinds.h"

#include <strings.h>

#include <cstring>

#include "clients/cli/durations.h"
#include "clients/cli/queue_quotas.h"
#include "clients/lib/endpoint.h"
#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

using client::PathText;

KindColumn At(const char* header, const char* path, bool wide = false) {
  return {header, wide, [path](const json::value& object) { return PathText(object, path); }};
}

KindColumn AgeAt(const char* path) {
  return {"AGE", false, [path](const json::value& object) { return Age(PathText(object, path)); }};
}

/// "cpu=2,memory=4Gi" of an object of texts.
std::string Pairs(const json::object& object) {
  std::string out;
  for (const json::key_value_pair& entry : object) {
    if (!out.empty()) out += ',';
    out += std::string(entry.key()) + "=" + client::MemberText(object, entry.key());
  }
  return out;
}

KindColumn PairsAt(const char* header, const char* path, bool wide = false) {
  return {header, wide, [path](const json::value& object) {
            return Pairs(ObjectOrEmpty(object, JsonPath::Dotted(path)));
          }};
}

/// "2x cpu=4,memory=8Gi; 1x cpu=1" over the pod sets of a job view.
std::string Requests(const json::value& job) {
  std::string out;
  for (const json::value& set : ArrayOrEmpty(job, "podSets")) {
    if (!out.empty()) out += "; ";
    out += PathText(set, "count") + "x " + Pairs(ObjectOrEmpty(set, "requests"));
  }
  return out;
}

/// What Kueue takes where the manifest says nothing.
std::string Strategy(const json::value& queue) {
  const std::string strategy = PathText(queue, "spec.queueingStrategy");
  return strategy.empty() ? "BestEffortFIFO" : strategy;
}

std::string DisplayName(const json::value& job) {
  const std::string display = PathText(job, "displayName");
  return display.empty() ? PathText(job, "name") : display;
}

/// A member of a condition; "" without it.
std::string ConditionOf(const json::value& object, std::string_view type,
                        std::string_view member = "status") {
  const json::array* conditions = FindArray(object, {"status", "conditions"});
  if (conditions == nullptr) return "";
  for (const json::value& condition : *conditions) {
    if (PathText(condition, "type") == type) return PathText(condition, member);
  }
  return "";
}

/// A member of the condition Active, which queues and checks have.
KindColumn OfActive(const char* header, const char* member, bool wide) {
  return {header, wide,
          [member](const json::value& object) { return ConditionOf(object, "Active", member); }};
}

/// "budget=Ready,images=Pending" of a workload.
std::string Checks(const json::value& workload) {
  std::string out;
  for (const json::value& check : ArrayOrEmpty(workload, {"status", "admissionChecks"})) {
    if (!out.empty()) out += ',';
    out += PathText(check, "name") + "=" + PathText(check, "state");
  }
  return out;
}

/// "cloud/zone > rack" of a topology, from the widest level to the narrowest.
std::string Levels(const json::value& topology) {
  std::string out;
  for (const json::value& level : ArrayOrEmpty(topology, {"spec", "levels"})) {
    if (!out.empty()) out += " > ";
    out += PathText(level, "nodeLabel");
  }
  return out;
}

std::string Cohort(const json::value& object) {
  const std::string name = PathText(object, "spec.cohortName");
  return name.empty() ? PathText(object, "spec.cohort") : name;
}

std::string Parent(const json::value& object) {
  const std::string name = PathText(object, "spec.parentName");
  return name.empty() ? PathText(object, "spec.parent") : name;
}

std::string ClusterState(const json::value& object) {
  if (ConditionOf(object, "Healthy") == "False") return "Unreachable";
  if (PathText(object, "status.draining") == "true") return "Draining";
  return PathText(object, "status.cordoned") == "true" ? "Cordoned" : "Ready";
}

// Why a member is not ready; what it tells of itself otherwise is `cluster describe`'s.
std::string ClusterTrouble(const json::value& object) {
  return ConditionOf(object, "Healthy") == "False" ? ConditionOf(object, "Healthy", "message") : "";
}

KindColumn Name() { return At("NAME", "metadata.name"); }
KindColumn Created() { return AgeAt("metadata.creationTimestamp"); }

constexpr char kKueue[] = "/apis/kueue.x-k8s.io/v1beta1";
constexpr char kPlacement[] = "/apis/placement.kubernetes-fleet.io/v1beta1";

std::vector<KindColumn> JobColumns() {
  return {At("ID", "id"),
          {"NAME", false, DisplayName},
          At("KIND", "kind"),
          At("QUEUE", "queue"),
          At("STATE", "state"),
          At("REASON", "reason"),
          At("CLUSTER", "cluster"),
          AgeAt("submitTime"),
          At("USER", "user", true),
          At("CLUSTERQUEUE", "clusterQueue", true),
          At("PRIORITY", "priority", true),
          {"PODS", true, Requests},
          At("ATTEMPT", "attempt", true),
          At("EXIT", "exitCode", true),
          At("MESSAGE", "message", true)};
}

/// Kueue's own columns; beside them what explains why one waits.
std::vector<KindColumn> WorkloadColumns() {
  return {Name(),
          At("QUEUE", "spec.queueName"),
          At("RESERVED IN", "status.admission.clusterQueue"),
          {"ADMITTED", false, [](const json::value& o) { return ConditionOf(o, "Admitted"); }},
          {"FINISHED", false, [](const json::value& o) { return ConditionOf(o, "Finished"); }},
          Created(),
          At("PRIORITY", "spec.priority", true),
          At("ACTIVE", "spec.active", true),
          {"CHECKS", true, Checks},
          At("CLUSTER", "status.clusterName", true)};
}

std::string PlacementTypeOf(const json::value& placement) {
  const std::string type = PathText(placement, "spec.policy.placementType");
  return type.empty() ? "PickAll" : type;
}

std::string Selected(const json::value& placement) {
  const json::array* selected = FindArray(placement, {"status", "selectedResources"});
  return selected == nullptr ? "" : std::to_string(selected->size());
}

/// "east,west"; slots that nobody could fill have no name.
std::string PickedClusters(const json::value& placement) {
  std::string out;
  for (const json::value& status : ArrayOrEmpty(placement, {"status", "placementStatuses"})) {
    const std::string name = PathText(status, "clusterName");
    if (!name.empty()) out += (out.empty() ? "" : ",") + name;
  }
  return out;
}

/// A member of one of the conditions; the type of each begins with the kind.
KindColumn OfPlacement(const char* header, const std::string& word, const char* member = "status",
                       bool wide = false) {
  return {header, wide, [type = "ResourcePlacement" + word, member](const json::value& object) {
            return ConditionOf(object, type, member) +
                   ConditionOf(object, "Cluster" + type, member);
          }};
}

/// With -o wide all that kubectl prints of placements too.

std::vector<KindColumn> PlacementColumns() {
  return {Name(),
          {"TYPE", false, PlacementTypeOf},
          {"SELECTED", false, Selected},
          {"CLUSTERS", false, PickedClusters},
          At("GEN", "metadata.generation", true),
          OfPlacement("SCHEDULED", "Scheduled"),
          OfPlacement("SCHEDULED-GEN", "Scheduled", "observedGeneration", true),
          OfPlacement("APPLIED", "Applied"),
          OfPlacement("DIFF-REPORTED", "DiffReported", "status", true),
          OfPlacement("AVAILABLE", "Available"),
          OfPlacement("AVAILABLE-GEN", "Available", "observedGeneration", true),
          Created()};
}

/// "key=value:NoSchedule,key:NoExecute" of a member.
std::string Taints(const json::value& member) {
  std::string out;
  for (const json::value& taint : ArrayOrEmpty(member, {"spec", "taints"})) {
    const std::string value = PathText(taint, "value");
    out += (out.empty() ? "" : ",") + PathText(taint, "key") + (value.empty() ? "" : "=" + value) +
           ":" + PathText(taint, "effect");
  }
  return out;
}

/// "k8s.io/k8s-version=v1.34.1,..." of a member.
std::string Properties(const json::value& member) {
  std::string out;
  for (const json::key_value_pair& property : ObjectOrEmpty(member, {"status", "properties"})) {
    out += (out.empty() ? "" : ",") + std::string(property.key()) + "=" +
           PathText(property.value(), "value");
  }
  return out;
}

std::vector<KindColumn> ClusterColumns() {
  return {Name(),
          {"STATE", false, ClusterState},
          PairsAt("ALLOCATABLE", "status.resourceUsage.allocatable"),
          PairsAt("FREE", "status.resourceUsage.available"),
          Created(),
          {"MESSAGE", false, ClusterTrouble},
          PairsAt("LABELS", "metadata.labels", true),
          {"TAINTS", true, Taints},
          {"PROPERTIES", true, Properties},
          {"FACTS AGE", true,
           [](const json::value& o) { return Age(PathText(o, "status.observedAt")); }}};
}

/// One figure of each quota of a ClusterQueue.
KindColumn OfQuotas(const char* header, std::string QueueQuota::*member, bool zeros) {
  return {header, true,
          [member, zeros](const json::value& o) { return QuotaTexts(o, member, zeros); }};
}

void AddQueues(std::vector<Kind>& out) {
  out.push_back({"clusterqueues",
                 "clusterqueue",
                 "cq",
                 kKueue,
                 false,
                 {Name(),
                  {"COHORT", false, Cohort},
                  At("PENDING WORKLOADS", "status.pendingWorkloads"),
                  At("ADMITTED WORKLOADS", "status.admittedWorkloads"),
                  {"STRATEGY", true, Strategy},
                  OfQuotas("NOMINAL", &QueueQuota::nominal, true),
                  OfQuotas("USED", &QueueQuota::used, true),
                  OfQuotas("BORROWED", &QueueQuota::borrowed, false),
                  At("RESERVING", "status.reservingWorkloads", true),
                  At("SHARE", "status.fairSharing.weightedShare", true),
                  OfActive("ACTIVE", "status", true),
                  OfActive("REASON", "reason", true),
                  Created()}});
  out.push_back(
      {"localqueues",
       "localqueue",
       "lq",
       kKueue,
       true,
       {Name(), At("CLUSTERQUEUE", "spec.clusterQueue"),
        At("PENDING WORKLOADS", "status.pendingWorkloads"),
        At("ADMITTED WORKLOADS", "status.admittedWorkloads"),
        At("RESERVING", "status.reservingWorkloads", true), OfActive("ACTIVE", "status", true),
        OfActive("REASON", "reason", true), Created()}});
  out.push_back({"resourceflavors",
                 "resourceflavor",
                 "rf",
                 kKueue,
                 false,
                 {Name(), At("TOPOLOGY", "spec.topologyName", true),
                  PairsAt("NODE LABELS", "spec.nodeLabels", true), Created()}});
}

void AddAdmission(std::vector<Kind>& out) {
  out.push_back({"cohorts",
                 "cohort",
                 "",
                 kKueue,
                 false,
                 {Name(),
                  {"PARENT", false, Parent},
                  At("SHARE", "status.fairSharing.weightedShare", true),
                  Created()}});
  out.push_back({"workloadpriorityclasses",
                 "workloadpriorityclass",
                 "",
                 kKueue,
                 false,
                 {Name(), At("VALUE", "value"), Created()}});
  out.push_back(
      {"admissionchecks",
       "admissioncheck",
       "",
       kKueue,
       false,
       {Name(), At("CONTROLLER", "spec.controllerName"), OfActive("ACTIVE", "status", false),
        OfActive("REASON", "reason", true), OfActive("MESSAGE", "message", true), Created()}});
  out.push_back({"topologies",
                 "topology",
                 "",
                 kKueue,
                 false,
                 {Name(), {"LEVELS", false, Levels}, Created()}});
  out.push_back({"limitranges", "limitrange", "limits", "/api/v1", true, {Name(), Created()}});
  out.push_back({"runtimeclasses",
                 "runtimeclass",
                 "",
                 "/apis/node.k8s.io/v1",
                 false,
                 {Name(), At("HANDLER", "handler"), Created()}});
}

/// Evictions and disruption budgets of placements.
void AddLeaving(std::vector<Kind>& out) {
  const auto evictions = [] {
    return std::vector<KindColumn>{
        Name(),
        At("PLACEMENT", "spec.placementName"),
        At("CLUSTER", "spec.clusterName"),
        {"VALID", false, [](const json::value& o) { return ConditionOf(o, "Valid"); }},
        {"EXECUTED", false, [](const json::value& o) { return ConditionOf(o, "Executed"); }},
        Created()};
  };
  const auto budgets = [] {
    return std::vector<KindColumn>{Name(), At("MAX UNAVAILABLE", "spec.maxUnavailable"),
                                   At("MIN AVAILABLE", "spec.minAvailable"), Created()};
  };
  out.push_back({"clusterresourceplacementevictions", "clusterresourceplacementeviction", "crpe",
                 kPlacement, false, evictions()});
  out.push_back({"resourceplacementevictions", "resourceplacementeviction", "", kPlacement, true,
                 evictions()});
  out.push_back({"clusterresourceplacementdisruptionbudgets",
                 "clusterresourceplacementdisruptionbudget", "crpdb", kPlacement, false,
                 budgets()});
  out.push_back({"resourceplacementdisruptionbudgets", "resourceplacementdisruptionbudget", "",
                 kPlacement, true, budgets()});
}

std::string SizeAt(const json::value& object, const char* path) {
  const json::value* value = FindValue(object, JsonPath::Dotted(path));
  if (value == nullptr) return "";
  if (const json::array* list = value->if_array()) return std::to_string(list->size());
  const json::object* members = value->if_object();
  return members == nullptr ? "" : std::to_string(members->size());
}

KindColumn Count(const char* header, const char* path) {
  return {header, false, [path](const json::value& object) { return SizeAt(object, path); }};
}

/// What is changed of configuration objects on their way to members, and what is carried as it is.
void AddPropagation(std::vector<Kind>& out) {
  const auto overrides = [](const char* resources) {
    return std::vector<KindColumn>{Name(), At("PLACEMENT", "spec.placement.name"),
                                   Count("RESOURCES", resources),
                                   Count("RULES", "spec.policy.overrideRules"), Created()};
  };
  const auto envelopes = [] {
    return std::vector<KindColumn>{Name(), Count("MANIFESTS", "data"), Created()};
  };
  out.push_back({"clusterresourceoverrides", "clusterresourceoverride", "cro", kPlacement, false,
                 overrides("spec.clusterResourceSelectors")});
  out.push_back({"resourceoverrides", "resourceoverride", "ro", kPlacement, true,
                 overrides("spec.resourceSelectors")});
  out.push_back(
      {"clusterresourceenvelopes", "clusterresourceenvelope", "", kPlacement, false, envelopes()});
  out.push_back({"resourceenvelopes", "resourceenvelope", "", kPlacement, true, envelopes()});
}

std::vector<Kind> BuildKinds() {
  std::vector<Kind> out;
  out.push_back({"jobs", "job", "", "", true, JobColumns()});
  out.push_back({"workloads", "workload", "wl", kKueue, true, WorkloadColumns()});
  AddQueues(out);
  AddAdmission(out);
  out.push_back({"memberclusters", "membercluster", "mc",
                 "/apis/cluster.kubernetes-fleet.io/v1beta1", false, ClusterColumns()});
  out.push_back({"clusterresourceplacements", "clusterresourceplacement", "crp", kPlacement, false,
                 PlacementColumns()});
  out.push_back(
      {"resourceplacements", "resourceplacement", "rp", kPlacement, true, PlacementColumns()});
  AddLeaving(out);
  AddPropagation(out);
  out.push_back({"namespaces", "namespace", "ns", "/api/v1", false, {Name(), Created()}});
  out.push_back({"configmaps", "configmap", "cm", "/api/v1", true, {Name(), Created()}});
  out.push_back(
      {"secrets", "secret", "", "/api/v1", true, {Name(), At("TYPE", "type"), Created()}});
  return out;
}

bool SameWord(std::string_view a, const char* b) {
  return *b != '\0' && a.size() == std::strlen(b) && ::strncasecmp(a.data(), b, a.size()) == 0;
}

}  // namespace

const std::vector<Kind>& AllKinds() {
  static const std::vector<Kind> kinds = BuildKinds();
  return kinds;
}

const Kind* FindKind(std::string_view name) {
  for (const Kind& kind : AllKinds()) {
    if (SameWord(name, kind.plural) || SameWord(name, kind.singular) ||
        SameWord(name, kind.short_name))
      return &kind;
  }
  return nullptr;
}

std::string KindList() {
  std::string out;
  for (const Kind& kind : AllKinds()) {
    out += (out.empty() ? "" : ", ") + std::string(kind.plural);
    if (*kind.short_name != '\0') out += " (" + std::string(kind.short_name) + ")";
  }
  return out;
}

std::string ObjectPath(const Kind& kind, const std::string& ns, const std::string& name) {
  std::string out = kind.base;
  if (kind.namespaced && !ns.empty()) out += "/namespaces/" + client::PercentEncode(ns);
  out += std::string("/") + kind.plural;
  if (!name.empty()) out += "/" + client::PercentEncode(name);
  return out;
}

}  // namespace muster::cli
