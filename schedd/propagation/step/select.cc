// Collects the configuration objects that one placement selects, by kind and name, labels or whole
// kind. An object is sent in the version in which it was applied here, which may be another than
// the selector's: fields differ between versions of Kueue, and this version is known to be good.
//
// Never sent: members, placements, overrides, budgets and evictions (they are not in kSentKinds),
// reserved namespaces and their content, the root certificates and service account tokens that each
// cluster makes itself, and Secrets that a MemberCluster names as its kubeconfig. An envelope is
// replaced by the objects in it. Whatever cannot be sent as a whole (an object twice, too many
// objects or bytes, an unreadable envelope) is an obstacle; the placement then keeps its last
// revision.
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
#include "schedd/shapes/config/object_kinds.h"
#include "schedd/text/lenient.h"

namespace muster::propagation {
namespace {

constexpr std::string_view kKubeconfigSecret = "muster.io/kubeconfig-secret";
// Every cluster makes its own.
constexpr std::string_view kRootCa = "kube-root-ca.crt";
constexpr std::string_view kTokenType = "kubernetes.io/service-account-token";

// The kind that a selector names; null if placements do not send it: a kind of job.
const shapes::KindInfo* FindSentKind(const ResourceSelector& selector) {
  const shapes::KindInfo* info = shapes::FindKindOf(selector.group, selector.kind);
  return info != nullptr && info->sent ? info : nullptr;
}

bool IsEnvelope(ObjectKind kind) {
  return kind == ObjectKind::kResourceEnvelope || kind == ObjectKind::kClusterResourceEnvelope;
}

// Collects the selection of one placement; one use per object.
class ResourceCollector {
 public:
  ResourceCollector(const WorldView& world, const Placement& placement)
      : world_(world), placement_(placement) {}

  Selection Run();

 private:
  using ObjectName = std::tuple<std::string, std::string, std::string, std::string>;

  void TakeNamespaces(const ResourceSelector& selector);
  void TakeContent(const std::string& ns);
  void TakeSelected(const shapes::KindInfo& kind, const std::string& ns,
                    const ResourceSelector& selector);
  void TakeAll(const shapes::KindInfo& kind, const std::string& ns,
               const ResourceSelector& selector);
  void Take(const StoredObject& object, const json::object& manifest);
  void TakeEnvelope(const StoredObject& object);
  void Add(SelectedResource resource);
  // The manifest of an object. nullopt, and an obstacle, if it is no JSON object.
  std::optional<json::object> Read(const StoredObject& object);
  bool IsLeftOut(const StoredObject& object, const json::object& manifest);
  bool HoldsKubeconfig(const StoredObject& secret);
  // Sets the obstacle; the first one counts.
  void Refuse(std::string why) {
    if (obstacle_.empty()) obstacle_ = std::move(why);
  }

  const WorldView& world_;
  const Placement& placement_;
  // The namespace of which other selectors select objects (NamespaceWithResourceSelectors); "":
  // none.
  std::string inside_;
  std::map<ObjectName, SelectedResource> taken_;
  std::set<std::pair<std::string, std::string>> envelopes_;
  // Secrets that hold kubeconfigs, "namespace/name"; nullopt: not looked up yet.
  std::optional<std::set<std::string>> kubeconfigs_;
  std::string obstacle_;
};

std::optional<json::object> ResourceCollector::Read(const StoredObject& object) {
  auto parsed = ParseJson(object.manifest);
  if (parsed.ok() && parsed.value().is_object()) return std::move(parsed.value().get_object());
  Refuse("the object " + (object.ns.empty() ? "" : object.ns + "/") + object.name +
         " as it is stored is no JSON object");
  return std::nullopt;
}

// The Secrets are looked up once, from the annotation of all MemberClusters.
bool ResourceCollector::HoldsKubeconfig(const StoredObject& secret) {
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

// Objects that every cluster makes itself, and Secrets that would give one member access to
// another.
bool ResourceCollector::IsLeftOut(const StoredObject& object, const json::object& manifest) {
  if (object.kind == ObjectKind::kConfigMap) return object.name == kRootCa;
  if (object.kind != ObjectKind::kSecret) return false;
  if (ViewAt(manifest, "type") == kTokenType) return true;
  return HoldsKubeconfig(object);
}

// Two selectors may select the same object. The same object from an envelope and as itself, or from
// two envelopes, is an obstacle: their manifests may differ.
void ResourceCollector::Add(SelectedResource resource) {
  const ResourceRef& ref = resource.ref;
  ObjectName name{ref.group, ref.kind, ref.ns, ref.name};
  const auto [entry, fresh] = taken_.try_emplace(std::move(name), std::move(resource));
  if (fresh) return;
  const std::string& other = entry->second.envelope;
  if (other.empty() && resource.envelope.empty()) return;
  const auto where = [](const std::string& envelope) {
    return envelope.empty() ? std::string("as itself") : "in " + envelope;
  };
  Refuse(MentionOf(entry->second.ref) + " is selected twice: " + where(other) + " and " +
         where(resource.envelope));
}

// Takes the objects of an envelope, into the namespace of the envelope.
void ResourceCollector::TakeEnvelope(const StoredObject& object) {
  if (!envelopes_.emplace(object.ns, object.name).second) return;
  const auto found = world_.config->envelopes.find({object.ns, object.name});
  const std::string kind = object.ns.empty() ? "ClusterResourceEnvelope" : "ResourceEnvelope";
  // Another version of Muster wrote it. Members must not lose the objects that it holds.
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

void ResourceCollector::Take(const StoredObject& object, const json::object& manifest) {
  if (IsLeftOut(object, manifest)) return;
  if (IsEnvelope(object.kind)) return TakeEnvelope(object);
  ResourceRef ref = RefOf(manifest, object.ns, object.name);
  std::string text = ManifestToSend(manifest, ref);
  Add({std::move(ref), "", std::move(text)});
}

void ResourceCollector::TakeAll(const shapes::KindInfo& kind, const std::string& ns,
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

void ResourceCollector::TakeSelected(const shapes::KindInfo& kind, const std::string& ns,
                                     const ResourceSelector& selector) {
  if (selector.name.empty()) return TakeAll(kind, ns, selector);
  const auto found = world_.objects->find({kind.kind, ns, selector.name});
  if (found == world_.objects->end()) return;
  if (const auto manifest = Read(*found->second)) Take(*found->second, *manifest);
}

void ResourceCollector::TakeContent(const std::string& ns) {
  for (const shapes::KindInfo* kind : shapes::Kinds()) {
    if (kind->sent && kind->namespaced) TakeAll(*kind, ns, {});
  }
}

void ResourceCollector::TakeNamespaces(const ResourceSelector& selector) {
  const ObjectTable& objects = *world_.objects;
  const auto& known = world_.config->namespaces;
  for (auto it = objects.lower_bound({ObjectKind::kNamespace, "", selector.name});
       it != objects.end(); ++it) {
    const auto& [kind, none, name] = it->first;
    if (kind != ObjectKind::kNamespace || (!selector.name.empty() && selector.name != name)) break;
    if (IsReservedNamespace(name)) continue;
    // There may be thousands of namespaces and of placements: the labels that ConfigView has parsed
    // already rule most of them out.
    const auto labelled = known.find(name);
    if (labelled != known.end() && !core::SelectsNamespace(selector, labelled->second)) continue;
    const auto manifest = Read(*it->second);
    if (!manifest || !core::SelectsNamespace(selector, {name, LabelsOf(*manifest), ""})) continue;
    Take(*it->second, *manifest);
    if (selector.scope == SelectionScope::kNamespaceWithResources) TakeContent(name);
  }
}

// The objects in the order of their waves, their hash, and the obstacle if there is one.
Selection ResourceCollector::Run() {
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
    const shapes::KindInfo* kind = FindSentKind(selector);
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
    // The manifest has kind and name.
    digest.Add(resource.manifest);
  }
  selection.hash = digest.Hex();
  return selection;
}

}  // namespace

Selection SelectResources(const WorldView& world, const Placement& placement) {
  return ResourceCollector(world, placement).Run();
}

bool SelectsObjects(const Placement& placement) {
  const auto& selectors = placement.selectors;
  return std::any_of(selectors.begin(), selectors.end(), [](const ResourceSelector& selector) {
    return FindSentKind(selector) != nullptr;
  });
}

}  // namespace muster::propagation
