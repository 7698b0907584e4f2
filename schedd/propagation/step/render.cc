// Applies overrides to the objects of a snapshot, as KubeFleet does: cluster-scoped overrides
// first, then those of the object's namespace, each group by name. ConfigView sorts overrides by
// (namespace, name), so cluster-scoped ones, whose namespace is "", come first without more work.
//
// The Renderer looks up once per snapshot which overrides name which object; For then applies them
// for one member. Only objects that an override touches are parsed and hashed again.
#include "schedd/propagation/step/render.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "schedd/core/member/cluster_selector.h"
#include "schedd/propagation/step/digest.h"
#include "schedd/propagation/step/json_patch.h"
#include "schedd/text/json.h"

namespace muster::propagation {
namespace {

std::string_view KindOf(const ResourceOverride& override) {
  return override.ns.empty() ? "ClusterResourceOverride" : "ResourceOverride";
}

// "name", or "namespace/name" of a ResourceOverride.
std::string NameOf(const ResourceOverride& override) {
  return (override.ns.empty() ? "" : override.ns + "/") + override.name;
}

// True if the override is for all placements or for the placement of this snapshot.
bool IsFor(const ResourceOverride& override, const ResourceSnapshot& snapshot) {
  if (override.placement.empty()) return true;
  const std::string& ns = override.placement_of_cluster ? "" : override.ns;
  return override.placement == snapshot.placement && ns == snapshot.ns;
}

// True if the override names the object. A cluster-scoped override that names a Namespace is for
// all objects in that namespace too.
bool Names(const ResourceOverride& override, const ResourceRef& object) {
  const auto names = [&](const ResourceRef& ref) {
    if (override.ns.empty() && !object.ns.empty())
      return ref.group.empty() && ref.kind == "Namespace" && ref.name == object.ns;
    return override.ns == object.ns && ref.group == object.group && ref.kind == object.kind &&
           ref.name == object.name;
  };
  return std::any_of(override.resources.begin(), override.resources.end(), names);
}

// A rule without a cluster selector is for no member, one with an empty selector for every member.
bool IsFor(const OverrideRule& rule, const MemberCluster& member) {
  if (!rule.clusters) return false;
  if (rule.clusters->empty()) return true;
  LabelMap labels = member.labels;
  labels[core::kMemberNameLabel] = member.name;
  return std::any_of(rule.clusters->begin(), rule.clusters->end(),
                     [&](const LabelSelector& term) { return Matches(term, labels); });
}

std::string_view NameOf(PatchOp op) {
  switch (op) {
    case PatchOp::kAdd:
      return "add";
    case PatchOp::kRemove:
      return "remove";
    case PatchOp::kReplace:
      return "replace";
  }
  return "";
}

// One object while its overrides are applied to it, in order.
class PatchedObject {
 public:
  PatchedObject(const SelectedResource& plain, const MemberCluster& member)
      : plain_(plain), member_(member) {}

  // Applies the rules that match the member. True if there was one.
  bool Apply(const ResourceOverride& override) {
    bool said = false;
    for (std::size_t i = 0; i < override.rules.size() && Goes(); ++i) {
      const OverrideRule& rule = override.rules[i];
      if (!IsFor(rule, member_)) continue;
      said = true;
      if (rule.remove) {
        deleted_ = true;
      } else {
        ApplyPatches(override, i);
      }
    }
    return said;
  }
  bool deleted() const { return deleted_; }
  const std::string& error() const { return error_; }
  // The result. `plain_hash` is the hash of the manifest without overrides.
  RenderedObject Take(const std::string& plain_hash, bool with_manifest) {
    RenderedObject object{plain_.ref, plain_.envelope, "", plain_hash};
    if (document_) {
      object.manifest = WriteJson(*document_);
      object.hash = DigestOf(object.manifest);
      if (!with_manifest) object.manifest.clear();
    } else if (with_manifest) {
      object.manifest = plain_.manifest;
    }
    return object;
  }

 private:
  // False once the object is deleted or an override has failed: nothing further is applied.
  bool Goes() const { return !deleted_ && error_.empty(); }
  // Parses the manifest at the first patch. A patch that fails sets the error, which names the
  // override, the rule and the operation.
  void ApplyPatches(const ResourceOverride& override, std::size_t rule) {
    if (!document_) {
      auto parsed = ParseJson(plain_.manifest);
      if (!parsed.ok()) {
        error_ = MentionOf(plain_.ref) + ": its manifest is no JSON";
        return;
      }
      document_ = std::move(parsed.value());
    }
    for (const JsonPatch& patch : override.rules[rule].patches) {
      const std::string problem = ApplyPatch(patch, member_, &*document_);
      if (problem.empty()) continue;
      error_ = std::string(KindOf(override)) + " " + NameOf(override) + ", rule " +
               std::to_string(rule + 1) + ", " + std::string(NameOf(patch.op)) + " " + patch.path +
               " of " + MentionOf(plain_.ref) + ": " + problem;
      return;
    }
  }

  const SelectedResource& plain_;
  const MemberCluster& member_;
  // nullopt as long as nothing was patched.
  std::optional<json::value> document_;
  bool deleted_ = false;
  std::string error_;
};

}  // namespace

Renderer::Renderer(const ConfigView& config, const ResourceSnapshot& snapshot) {
  std::vector<const ResourceOverride*> overrides;
  for (const auto& [key, override] : config.overrides) {
    if (IsFor(override, snapshot)) overrides.push_back(&override);
  }
  for (const SelectedResource& resource : snapshot.resources) {
    Part& part = parts_.emplace_back();
    part.resource = &resource;
    part.hash = DigestOf(resource.manifest);
    for (const ResourceOverride* override : overrides) {
      if (Names(*override, resource.ref)) part.overrides.push_back(override);
    }
  }
}

// The hash covers the envelope and the hash of each object, in order. One object that fails makes
// the whole result an error: a member never gets a part of a revision.
RenderedSnapshot Renderer::For(const MemberCluster& member, bool with_manifests) const {
  RenderedSnapshot rendered;
  std::vector<const ResourceOverride*> said;
  Digest digest;
  for (const Part& part : parts_) {
    PatchedObject object(*part.resource, member);
    for (const ResourceOverride* override : part.overrides) {
      if (object.Apply(*override)) said.push_back(override);
    }
    if (!object.error().empty()) return {{}, {}, "", object.error()};
    if (object.deleted()) continue;
    rendered.objects.push_back(object.Take(part.hash, with_manifests));
    digest.Add(rendered.objects.back().envelope);
    digest.Add(rendered.objects.back().hash);
  }
  rendered.hash = digest.Hex();
  const auto before = [](const ResourceOverride* a, const ResourceOverride* b) {
    return std::pair(a->ns, a->name) < std::pair(b->ns, b->name);
  };
  std::sort(said.begin(), said.end(), before);
  said.erase(std::unique(said.begin(), said.end()), said.end());
  for (const ResourceOverride* override : said)
    rendered.overrides.push_back(std::string(KindOf(*override)) + "/" + NameOf(*override));
  return rendered;
}

bool Renderer::same_for_all() const {
  return std::all_of(parts_.begin(), parts_.end(),
                     [](const Part& part) { return part.overrides.empty(); });
}

RenderedSnapshot Render(const ConfigView& config, const ResourceSnapshot& snapshot,
                        const MemberCluster& member) {
  return Renderer(config, snapshot).For(member);
}

}  // namespace muster::propagation
