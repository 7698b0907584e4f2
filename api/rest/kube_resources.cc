// The list of resources, made of the two tables of kinds: shapes::Kinds() for configuration objects
// and kShapeInfos for jobs. A kind that is served in several versions stands in the list once per
// version, the oldest first: discovery prefers the last one.
#include "api/rest/kube_resources.h"

namespace muster::rest {
namespace {

KubeResource ConfigResource(const shapes::KindInfo& info, const char* version) {
  KubeResource resource;
  resource.group = info.group;
  resource.version = version;
  resource.plural = info.plural;
  resource.kind = info.name;
  resource.namespaced = info.namespaced;
  resource.config = &info;
  for (const char* name : info.short_names) {
    if (name != nullptr) resource.short_names.emplace_back(name);
  }
  return resource;
}

KubeResource JobResource(const ShapeInfo& info, std::string_view api_version) {
  KubeResource resource;
  resource.group = info.group();
  resource.version = api_version.substr(api_version.find('/') + 1);
  resource.plural = info.plural;
  resource.kind = info.name;
  resource.shape = info.kind;
  for (const std::string_view name : info.short_names) {
    if (!name.empty()) resource.short_names.push_back(name);
  }
  return resource;
}

std::vector<KubeResource> MakeResources() {
  std::vector<KubeResource> all;
  for (const shapes::KindInfo* info : shapes::Kinds()) {
    for (const char* version : info->versions) {
      if (version != nullptr) all.push_back(ConfigResource(*info, version));
    }
  }
  for (const ShapeInfo& info : kShapeInfos) {
    if (info.plural.empty()) continue;
    all.push_back(JobResource(info, info.api_version));
    if (!info.newer_version.empty()) all.push_back(JobResource(info, info.newer_version));
  }
  return all;
}

}  // namespace

const std::vector<KubeResource>& KubeResources() {
  static const std::vector<KubeResource> all = MakeResources();
  return all;
}

const KubeResource* FindKubeResource(std::string_view group, std::string_view version,
                                     std::string_view plural) {
  for (const KubeResource& resource : KubeResources()) {
    if (resource.group == group && resource.version == version && resource.plural == plural)
      return &resource;
  }
  return nullptr;
}

}  // namespace muster::rest
