// The resources a fake member serves.
#pragma once

#include <string>
#include <vector>

namespace muster::fake {

struct Resource {
  std::string group, version, plural, kind;
  bool namespaced = true;
  bool built_in = false;  // items of its lists carry no kind
  bool status = false;    // status is a subresource
  bool scale = false;     // so is scale
  /// Fields besides name and namespace that a field selector may name.
  std::vector<std::string> selectable = {};
  /// Configuration: the owners of its fields are kept for server-side apply (FieldOwners), and
  /// defaults are filled in at every write.
  bool owned = false;

  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
  /// As error messages name it: "jobs.batch".
  std::string qualified() const { return group.empty() ? plural : plural + "." + group; }
  std::string qualified_kind() const { return group.empty() ? kind : kind + "." + group; }
  /// The members that every stored object begins with.
  std::string prefix() const {
    return R"({"kind":")" + kind + R"(","apiVersion":")" + api_version() + R"(",)";
  }
};

/// Core kinds, Jobs, the job kinds of JobSet, Kubeflow, KubeRay and LeaderWorkerSet, and kinds of
/// configuration: Kueue's, Deployments, LimitRanges.
std::vector<Resource> DefaultResources();

}  // namespace muster::fake
