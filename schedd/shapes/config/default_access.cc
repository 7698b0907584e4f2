// The three roles of a site are cluster-admin, kueue-batch-admin-role and kueue-batch-user-role.
// The last two are aggregated: a part belongs to one of them by a label, as in Kueue, so that a
// site can add rules of its own without editing the defaults. The parts have Kueue's names where
// Kueue has such a part.
//
// A batch user may do nothing with RESOURCE of others but see it: what changes a job, and its logs,
// is granted on RESOURCE/own, which means the jobs that the asker submitted (rule U4). A batch
// administrator may change jobs of others and not read their logs: that is muster-log-reader-role.
#include "schedd/shapes/config/default_access.h"

#include <string>

#include "schedd/model/access.h"
#include "schedd/model/shape_kind.h"
#include "schedd/shapes/config/object_kinds.h"

namespace muster::shapes {
namespace {

using Words = std::vector<std::string>;

// The labels that make a role a part of others.
constexpr char kOfBatchAdmin[] = "rbac.kueue.x-k8s.io/batch-admin";
constexpr char kOfBatchUser[] = "rbac.kueue.x-k8s.io/batch-user";
constexpr char kOfLocalUsers[] = "muster.io/local-users";

const Words kSee = {"get", "list", "watch"};
const Words kEdit = {"create", "delete", "get", "list", "patch", "update", "watch"};
const Words kChange = {"update", "patch", "delete"};
const Words kOnlyGet = {"get"};

json::array WordList(const Words& words) { return json::array(words.begin(), words.end()); }

json::object RuleOf(const Words& groups, const Words& resources, const Words& verbs) {
  return {{"apiGroups", WordList(groups)},
          {"resources", WordList(resources)},
          {"verbs", WordList(verbs)}};
}

json::object PathRule(const Words& paths, const Words& verbs) {
  return {{"nonResourceURLs", WordList(paths)}, {"verbs", WordList(verbs)}};
}

json::object Metadata(const char* name, const Words& part_of) {
  json::object labels{{kBootstrappingLabel, kDefaultsValue}};
  for (const std::string& label : part_of) labels[label] = "true";
  return {{"name", name}, {"labels", std::move(labels)}};
}

// Collects manifests.
class Manifests {
 public:
  void Role(const char* name, const Words& part_of, std::vector<json::object> rules) {
    json::array list;
    for (json::object& rule : rules) list.push_back(std::move(rule));
    made_.push_back(json::object{{"apiVersion", "rbac.authorization.k8s.io/v1"},
                                 {"kind", "ClusterRole"},
                                 {"metadata", Metadata(name, part_of)},
                                 {"rules", std::move(list)}});
  }

  // A role that collects the parts with one of the labels.
  void Aggregated(const char* name, const Words& labels) {
    json::array selectors;
    for (const std::string& label : labels)
      selectors.push_back(json::object{{"matchLabels", json::object{{label, "true"}}}});
    made_.push_back(json::object{
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", "ClusterRole"},
        {"metadata", Metadata(name, {})},
        {"aggregationRule", json::object{{"clusterRoleSelectors", std::move(selectors)}}},
        {"rules", json::array()}});
  }

  void BindGroup(const char* name, const char* role, const char* group) {
    json::array subjects;
    subjects.push_back(
        json::object{{"apiGroup", kAccessGroup}, {"kind", "Group"}, {"name", group}});
    made_.push_back(json::object{
        {"apiVersion", "rbac.authorization.k8s.io/v1"},
        {"kind", "ClusterRoleBinding"},
        {"metadata", Metadata(name, {})},
        {"roleRef",
         json::object{{"apiGroup", kAccessGroup}, {"kind", "ClusterRole"}, {"name", role}}},
        {"subjects", std::move(subjects)}});
  }

  std::vector<json::object> Take() { return std::move(made_); }

 private:
  std::vector<json::object> made_;
};

// What everybody needs who may speak to the server at all: Kubernetes' system:discovery and
// system:basic-user, with Muster's own paths.
void AddEverybody(Manifests& out) {
  out.Role("system:discovery", {},
           {PathRule({"/", "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi",
                      "/openapi/*", "/openapi.yaml", "/readyz", "/ui", "/ui/*", "/v1/status",
                      "/version", "/version/"},
                     kOnlyGet)});
  out.BindGroup("system:discovery", "system:discovery", kAuthenticatedGroup);
  out.Role("system:basic-user", {},
           {RuleOf({"authorization.k8s.io"},
                   {"selfsubjectaccessreviews", "selfsubjectrulesreviews"}, {"create"}),
            RuleOf({"authentication.k8s.io"}, {"selfsubjectreviews"}, {"create"})});
  out.BindGroup("system:basic-user", "system:basic-user", kAuthenticatedGroup);
  // For oneself alone: what a token may say is rule U7.
  out.Role("muster-token-creator", {},
           {RuleOf({kMusterGroup}, {"accesstokens"}, {"create"}),
            RuleOf({kMusterGroup}, {"accesstokens/own"}, {"get", "list", "delete"})});
  out.BindGroup("muster-token-creator", "muster-token-creator", kAuthenticatedGroup);
  out.Role("muster-metrics-reader", {kOfLocalUsers}, {PathRule({"/metrics"}, kOnlyGet)});
}

// Kueue's parts about queues. Changes of a ClusterQueue are in no role: a site grants them by name
// (examples/access).
void AddQueueParts(Manifests& out) {
  const Words kueue = {kKueueGroup};
  const auto see = [&](const char* name, const char* plural, const Words& part_of) {
    const std::string resource = plural;
    out.Role(name, part_of,
             {RuleOf(kueue, {resource}, kSee), RuleOf(kueue, {resource + "/status"}, kOnlyGet)});
  };
  const auto edit = [&](const char* name, const char* plural, const Words& part_of) {
    const std::string resource = plural;
    out.Role(name, part_of,
             {RuleOf(kueue, {resource}, kEdit), RuleOf(kueue, {resource + "/status"}, kOnlyGet)});
  };
  edit("kueue-clusterqueue-editor-role", "clusterqueues", {});
  see("kueue-clusterqueue-viewer-role", "clusterqueues", {kOfBatchAdmin, kOfLocalUsers});
  edit("kueue-localqueue-editor-role", "localqueues", {kOfBatchAdmin});
  see("kueue-localqueue-viewer-role", "localqueues", {kOfBatchUser});
  see("kueue-cohort-viewer-role", "cohorts", {kOfBatchAdmin, kOfLocalUsers});
  see("kueue-resourceflavor-viewer-role", "resourceflavors", {kOfBatchAdmin, kOfBatchUser});
  see("kueue-workloadpriorityclass-viewer-role", "workloadpriorityclasses",
      {kOfBatchAdmin, kOfBatchUser});
  see("kueue-workload-viewer-role", "workloads", {kOfBatchUser});
  out.Role("kueue-pending-workloads-cq-viewer-role", {kOfBatchAdmin},
           {RuleOf({"visibility.kueue.x-k8s.io"}, {"clusterqueues/pendingworkloads"}, kOnlyGet)});
  out.Role("kueue-pending-workloads-lq-viewer-role", {kOfBatchAdmin, kOfBatchUser},
           {RuleOf({"visibility.kueue.x-k8s.io"}, {"localqueues/pendingworkloads"}, kOnlyGet)});
}

// Of each kind of job: all verbs for batch administrators; for batch users, to submit and see, and
// to change what is their own.
void AddJobParts(Manifests& out) {
  std::vector<json::object> submit;
  for (const ShapeInfo& info : kShapeInfos) {
    const bool script = info.kind == ShapeKind::kBatchScript;
    const std::string group(info.group());
    const std::string plural = script ? "batchscripts" : std::string(info.plural);
    const std::string singular(plural, 0, plural.size() - 1);
    const std::string name = (script ? "muster-" : "kueue-") + singular + "-editor-role";
    const Words groups = {group};
    out.Role(name.c_str(), {kOfBatchAdmin},
             {RuleOf(groups, {plural}, kEdit), RuleOf(groups, {plural + "/status"}, kOnlyGet),
              RuleOf(groups, {plural + "/own"}, kOnlyGet)});
    submit.push_back(RuleOf(groups, {plural}, {"create", "get", "list", "watch"}));
    submit.push_back(RuleOf(groups, {plural + "/status"}, kOnlyGet));
    Words own = kChange;
    own.emplace_back("get");
    submit.push_back(RuleOf(groups, {plural + "/own"}, own));
  }
  out.Role("muster-job-submitter-role", {kOfBatchUser}, std::move(submit));
  out.Role("muster-log-reader-role", {}, {RuleOf({"*"}, {"*/log"}, kOnlyGet)});
}

// What goes with jobs: events, accounting, simulations, and ConfigMaps for what jobs mount. Secrets
// are in no role but cluster-admin.
void AddToolParts(Manifests& out) {
  out.Role(
      "muster-batch-tools-role", {kOfBatchAdmin, kOfBatchUser},
      {RuleOf({kMusterGroup}, {"events"}, kSee), RuleOf({kMusterGroup}, {"accounting"}, {"list"}),
       RuleOf({kMusterGroup}, {"simulations"}, {"create"}),
       RuleOf({""}, {"configmaps"}, {"create", "get"})});
  // What `sinfo` and `muster get` show of the fleet. Its objects belong to no namespace, so a site
  // binds it to a group in the whole cluster.
  out.Role("muster-fleet-viewer-role", {kOfLocalUsers},
           {RuleOf({kClusterGroup}, {"memberclusters"}, kSee),
            RuleOf({kKueueGroup}, {"topologies", "admissionchecks"}, kSee),
            RuleOf({""}, {"namespaces"}, kSee)});
}

}  // namespace

std::vector<json::object> DefaultAccess(bool local_only) {
  Manifests out;
  out.Role("cluster-admin", {}, {RuleOf({"*"}, {"*"}, {"*"}), PathRule({"*"}, {"*"})});
  out.BindGroup("cluster-admin", "cluster-admin", kMastersGroup);
  AddEverybody(out);
  AddQueueParts(out);
  AddJobParts(out);
  AddToolParts(out);
  out.Aggregated("kueue-batch-admin-role", {kOfBatchAdmin});
  out.Aggregated("kueue-batch-user-role", {kOfBatchUser});
  out.Aggregated("muster-local-user-role", {kOfBatchUser, kOfLocalUsers});
  if (local_only) out.BindGroup(kLocalUsers, "muster-local-user-role", kAuthenticatedGroup);
  return out.Take();
}

}  // namespace muster::shapes
