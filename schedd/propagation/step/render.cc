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

std::string NameOf(const ResourceOverride& override) {
  return (override.ns.empty() ? "" : override.ns + "/") + override.name;
}

bool IsFor(const ResourceOverride& override, const ResourceSnapshot& snapshot) {
  if (override.placement.empty()) return true;
  const std::string& ns = override.placement_of_cluster ? "" : override.ns;
  return override.placement == snapshot.placement && ns == snapshot.ns;
}

bool Names(const ResourceOverride& override, const ResourceRef& object) {
  const auto names = [&](const ResourceRef& ref) {
    if (override.ns.empty() && !object.ns.empty())
      return ref.group.empty() && ref.kind == "Namespace" && ref.name == object.ns;
    return override.ns == object.ns && ref.group == object.group && ref.kind == object.kind &&
           ref.name == object.name;
  };
  return std::any_of(override.resources.begin(), override.resources.end(), names);
}

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

// One object on its way through its overrides.
class Patched {
 public:
  Patched(const SelectedResource& plain, const MemberCluster& member)
      : plain_(plain), member_(member) {}

  // True if it said something.
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
  // `plain_hash` is that of the manifest as it was.
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
  bool Goes() const { return !deleted_ && error_.empty(); }
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
  std::optional<json::value> document_;  // nullopt: nothing was patched
  bool deleted_ = false;
  std::string error_;
};

}  // namespace

Renderer::Renderer(const ConfigView& config, const ResourceSnapshot& snapshot) {
  std::vector<const ResourceOverride*> overrides;
  for (const auto& [key, override] : config.overrides) {  // those of the cluster come first
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

Rendered Renderer::For(const MemberCluster& member, bool with_manifests) const {
  Rendered rendered;
  std::vector<const ResourceOverride*> said;
  Digest digest;
  for (const Part& part : parts_) {
    Patched object(*part.resource, member);
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

Rendered Render(const ConfigView& config, const ResourceSnapshot& snapshot,
                const MemberCluster& member) {
  return Renderer(config, snapshot).For(member);
}

}  // namespace muster::propagation
