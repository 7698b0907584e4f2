#include "schedd/propagation/step/select.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/core/member/placement_ask.h"
#include "schedd/propagation/step/digest.h"
#include "schedd/propagation/step/manifest.h"
#include "schedd/propagation/step/waves.h"
#include "schedd/text/lenient.h"

namespace muster::propagation {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io";
constexpr std::string_view kFleetPlacement = "placement.kubernetes-fleet.io";
constexpr std::string_view kKubeconfigSecret = "muster.io/kubeconfig-secret";
constexpr std::string_view kRootCa = "kube-root-ca.crt";  // every cluster makes its own
constexpr std::string_view kTokenType = "kubernetes.io/service-account-token";

// A kind of configuration objects that a placement may select.
struct SentKind {
  ObjectKind kind;
  std::string_view group, name;
  bool namespaced;
};
constexpr SentKind kSentKinds[] = {
    {ObjectKind::kNamespace, "", "Namespace", false},
    {ObjectKind::kResourceFlavor, kKueue, "ResourceFlavor", false},
    {ObjectKind::kClusterQueue, kKueue, "ClusterQueue", false},
    {ObjectKind::kCohort, kKueue, "Cohort", false},
    {ObjectKind::kWorkloadPriorityClass, kKueue, "WorkloadPriorityClass", false},
    {ObjectKind::kTopology, kKueue, "Topology", false},
    {ObjectKind::kAdmissionCheck, kKueue, "AdmissionCheck", false},
    {ObjectKind::kRuntimeClass, "node.k8s.io", "RuntimeClass", false},
    {ObjectKind::kClusterResourceEnvelope, kFleetPlacement, "ClusterResourceEnvelope", false},
    {ObjectKind::kLocalQueue, kKueue, "LocalQueue", true},
    {ObjectKind::kConfigMap, "", "ConfigMap", true},
    {ObjectKind::kSecret, "", "Secret", true},
    {ObjectKind::kLimitRange, "", "LimitRange", true},
    {ObjectKind::kResourceEnvelope, kFleetPlacement, "ResourceEnvelope", true},
};

const SentKind* FindKind(const ResourceSelector& selector) {
  for (const SentKind& known : kSentKinds) {
    if (selector.kind == known.name && selector.group == known.group) return &known;
  }
  return nullptr;
}

bool IsEnvelope(ObjectKind kind) {
  return kind == ObjectKind::kResourceEnvelope || kind == ObjectKind::kClusterResourceEnvelope;
}

// What one placement selects, gathered.
class Gathering {
 public:
  Gathering(const WorldView& world, const Placement& placement)
      : world_(world), placement_(placement) {}

  Selection Run();

 private:
  using ObjectName = std::tuple<std::string, std::string, std::string, std::string>;

  void TakeNamespaces(const ResourceSelector& selector);
  void TakeContent(const std::string& ns);
  void TakeSelected(const SentKind& kind, const std::string& ns, const ResourceSelector& selector);
  void TakeAll(const SentKind& kind, const std::string& ns, const ResourceSelector& selector);
  void Take(const StoredObject& object, const json::object& manifest);
  void TakeEnvelope(const StoredObject& object);
  void Add(SelectedResource resource);
  // The manifest of an object; nullopt and an obstacle if it is none.
  std::optional<json::object> Read(const StoredObject& object);
  bool IsLeftOut(const StoredObject& object, const json::object& manifest);
  bool HoldsKubeconfig(const StoredObject& secret);
  void Refuse(std::string why) {
    if (obstacle_.empty()) obstacle_ = std::move(why);
  }

  const WorldView& world_;
  const Placement& placement_;
  std::string inside_;  // the namespace that other selectors look into; "": none
  std::map<ObjectName, SelectedResource> taken_;
  std::set<std::pair<std::string, std::string>> envelopes_;
  std::optional<std::set<std::string>> kubeconfigs_;  // "namespace/name"; nullopt: not looked up
  std::string obstacle_;
};

std::optional<json::object> Gathering::Read(const StoredObject& object) {
  auto parsed = ParseJson(object.manifest);
  if (parsed.ok() && parsed.value().is_object()) return std::move(parsed.value().get_object());
  Refuse("the object " + (object.ns.empty() ? "" : object.ns + "/") + object.name +
         " as it is stored is no JSON object");
  return std::nullopt;
}

bool Gathering::HoldsKubeconfig(const StoredObject& secret) {
  if (!kubeconfigs_) {
    kubeconfigs_.emplace();
    const ObjectTable& objects = *world_.objects;
    for (auto it = objects.lower_bound({ObjectKind::kMemberCluster, "", ""});
         it != objects.end() && std::get<0>(it->first) == ObjectKind::kMemberCluster; ++it) {
      const auto member = Read(*it->second);
      if (!member) continue;
      const LabelMap annotations = AnnotationsOf(*member);
      const auto named = annotations.find(std::string(kKubeconfigSecret));
      if (named != annotations.end()) kubeconfigs_->insert(named->second);
    }
  }
  return kubeconfigs_->contains(secret.ns + "/" + secret.name);
}

// What every cluster makes itself, and what would hand the members to each other.
bool Gathering::IsLeftOut(const StoredObject& object, const json::object& manifest) {
  if (object.kind == ObjectKind::kConfigMap) return object.name == kRootCa;
  if (object.kind != ObjectKind::kSecret) return false;
  if (ViewAt(manifest, "type") == kTokenType) return true;
  return HoldsKubeconfig(object);
}

void Gathering::Add(SelectedResource resource) {
  const ResourceRef& ref = resource.ref;
  ObjectName name{ref.group, ref.kind, ref.ns, ref.name};
  const auto [entry, fresh] = taken_.try_emplace(std::move(name), std::move(resource));
  if (fresh) return;
  const std::string& other = entry->second.envelope;
  if (other.empty() && resource.envelope.empty()) return;  // two selectors, one object
  const auto where = [](const std::string& envelope) {
    return envelope.empty() ? std::string("as itself") : "in " + envelope;
  };
  Refuse(MentionOf(entry->second.ref) + " is selected twice: " + where(other) + " and " +
         where(resource.envelope));
}

void Gathering::TakeEnvelope(const StoredObject& object) {
  if (!envelopes_.emplace(object.ns, object.name).second) return;
  const auto found = world_.config->envelopes.find({object.ns, object.name});
  const std::string kind = object.ns.empty() ? "ClusterResourceEnvelope" : "ResourceEnvelope";
  // Another version of Muster wrote it: what it holds is not to be taken away.
  if (found == world_.config->envelopes.end())
    return Refuse(kind + " " + object.name + " as it is stored cannot be read");
  for (const ResourceEnvelope::Item& item : found->second.items) {
    const auto manifest = ParseJson(item.manifest);
    if (!manifest.ok() || !manifest.value().is_object()) {
      Refuse(kind + " " + object.name + ": the entry " + item.key + " is no JSON object");
      continue;
    }
    ResourceRef ref = item.ref;
    ref.ns = object.ns;
    std::string text = ManifestToSend(manifest.value().get_object(), ref);
    Add({std::move(ref), kind + "/" + object.name, std::move(text)});
  }
}

void Gathering::Take(const StoredObject& object, const json::object& manifest) {
  if (IsLeftOut(object, manifest)) return;
  if (IsEnvelope(object.kind)) return TakeEnvelope(object);
  ResourceRef ref = RefOf(manifest, object.ns, object.name);
  std::string text = ManifestToSend(manifest, ref);
  Add({std::move(ref), "", std::move(text)});
}

void Gathering::TakeAll(const SentKind& kind, const std::string& ns,
                        const ResourceSelector& selector) {
  const ObjectTable& objects = *world_.objects;
  for (auto it = objects.lower_bound({kind.kind, ns, ""}); it != objects.end(); ++it) {
    const auto& [its_kind, its_ns, name] = it->first;
    if (its_kind != kind.kind || its_ns != ns) break;
    const auto manifest = Read(*it->second);
    if (!manifest) continue;
    if (selector.labels && !Matches(*selector.labels, LabelsOf(*manifest))) continue;
    Take(*it->second, *manifest);
  }
}

void Gathering::TakeSelected(const SentKind& kind, const std::string& ns,
                             const ResourceSelector& selector) {
  if (selector.name.empty()) return TakeAll(kind, ns, selector);
  const auto found = world_.objects->find({kind.kind, ns, selector.name});
  if (found == world_.objects->end()) return;
  if (const auto manifest = Read(*found->second)) Take(*found->second, *manifest);
}

void Gathering::TakeContent(const std::string& ns) {
  for (const SentKind& kind : kSentKinds) {
    if (kind.namespaced) TakeAll(kind, ns, {});
  }
}

void Gathering::TakeNamespaces(const ResourceSelector& selector) {
  const ObjectTable& objects = *world_.objects;
  const auto& known = world_.config->namespaces;
  for (auto it = objects.lower_bound({ObjectKind::kNamespace, "", selector.name});
       it != objects.end(); ++it) {
    const auto& [kind, none, name] = it->first;
    if (kind != ObjectKind::kNamespace || (!selector.name.empty() && selector.name != name)) break;
    if (IsReservedNamespace(name)) continue;
    // There may be thousands of them and of placements: only those that are taken are parsed.
    const auto labelled = known.find(name);
    if (labelled != known.end() && !core::SelectsNamespace(selector, labelled->second)) continue;
    const auto manifest = Read(*it->second);
    if (!manifest || !core::SelectsNamespace(selector, {name, LabelsOf(*manifest), ""})) continue;
    Take(*it->second, *manifest);
    if (selector.scope == SelectionScope::kNamespaceWithResources) TakeContent(name);
  }
}

Selection Gathering::Run() {
  if (world_.objects == nullptr) return {};
  const bool of_cluster = placement_.ns.empty();
  if (!of_cluster && IsReservedNamespace(placement_.ns)) {
    return {
        {}, "", "namespace " + placement_.ns + " is reserved: nothing in it is sent to members"};
  }
  for (const ResourceSelector& selector : placement_.selectors) {
    const bool inside = selector.scope == SelectionScope::kNamespaceWithResourceSelectors;
    if (of_cluster && inside && !IsReservedNamespace(selector.name)) inside_ = selector.name;
  }
  for (const ResourceSelector& selector : placement_.selectors) {
    const SentKind* kind = FindKind(selector);
    if (kind == nullptr) continue;  // jobs
    if (of_cluster && kind->kind == ObjectKind::kNamespace) {
      TakeNamespaces(selector);
    } else if (of_cluster && !kind->namespaced) {
      TakeSelected(*kind, "", selector);
    } else if (of_cluster && !inside_.empty()) {
      TakeSelected(*kind, inside_, selector);
    } else if (!of_cluster && kind->namespaced) {
      TakeSelected(*kind, placement_.ns, selector);
    }
  }
  Selection selection;
  std::size_t bytes = 0;
  for (auto& [name, resource] : taken_) {
    bytes += resource.manifest.size();
    selection.resources.push_back(std::move(resource));
  }
  if (selection.resources.size() > limits::kSelectedResources) {
    Refuse("it selects " + std::to_string(selection.resources.size()) +
           " objects, which is more than " + std::to_string(limits::kSelectedResources));
  } else if (bytes > limits::kSnapshotBytes) {
    Refuse("what it selects has " + std::to_string(bytes) + " bytes, which is more than " +
           std::to_string(limits::kSnapshotBytes));
  }
  selection.obstacle = obstacle_;
  std::sort(selection.resources.begin(), selection.resources.end(),
            [](const auto& a, const auto& b) { return AppliedBefore(a.ref, b.ref); });
  if (selection.resources.empty()) return selection;
  Digest digest;
  for (const SelectedResource& resource : selection.resources) {
    digest.Add(resource.envelope);
    digest.Add(resource.manifest);  // has kind and name
  }
  selection.hash = digest.Hex();
  return selection;
}

}  // namespace

Selection SelectResources(const WorldView& world, const Placement& placement) {
  return Gathering(world, placement).Run();
}

bool SelectsObjects(const Placement& placement) {
  const auto& selectors = placement.selectors;
  return std::any_of(selectors.begin(), selectors.end(), [](const ResourceSelector& selector) {
    return FindKind(selector) != nullptr;
  });
}

}  // namespace muster::propagation
