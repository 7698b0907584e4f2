// ResourceRef: the name of a Kubernetes object of any kind. A plain value.
#pragma once

#include <compare>
#include <string>

namespace muster {

struct ResourceRef {
  std::string group, version, kind;
  std::string ns;  // "": cluster-scoped
  std::string name;
  auto operator<=>(const ResourceRef&) const = default;
};

/// "ClusterQueue gpu" or "LocalQueue ml/train".
inline std::string MentionOf(const ResourceRef& ref) {
  return ref.kind + " " + (ref.ns.empty() ? "" : ref.ns + "/") + ref.name;
}

}  // namespace muster
