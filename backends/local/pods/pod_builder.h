// From a wished pod to what its supervisor is told: commands and environment resolved as Kubernetes
// does, volumes laid out below the pod's directory, limits read. Pure: it says which files are to
// be written.
//
// What a pod template may say and what of it has an effect here: ../README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/pod_wish.h"
#include "backends/local/process/cgroup.h"
#include "schedd/base/result.h"
#include "schedd/model/resources.h"

namespace muster::local {

/// A ConfigMap or Secret of the attempt.
struct Dependent {
  std::string kind, name;
  json::object manifest;
};

/// What surrounds the pod.
struct PodContext {
  std::string ns, cluster, pod_uid;
  std::string pod_dir;      // absolute
  std::string marker_key;   // unique on this host; also names the pod's control group
  std::string search_path;  // PATH that containers start with
  std::string home;         // HOME likewise
  std::string hosts_file;   // "" without one
  std::string isolation;    // "mount", "user" or "none"
  const std::vector<Dependent>* dependents = nullptr;
  const ResourceList* allocatable = nullptr;
  std::vector<CgroupMount> cgroups;
  std::int64_t max_processes = 0, log_bytes = 0;
  std::int64_t own_uid = 0, own_gid = 0;
};

struct VolumeFile {
  std::string path;  // below the pod's directory
  std::string data;
  std::uint32_t mode = 0644;
};

struct BuiltPod {
  json::object spec;                     // of the supervisor: spec.json
  std::vector<std::string> directories;  // below the pod's directory
  std::vector<std::string>
      open_directories;  // the same, writable for whatever user the containers have
  std::vector<std::string> host_directories;  // hostPath volumes that ask to be created
  std::vector<VolumeFile> files;
};

/// The environment entry that every process of a pod starts with.
std::string MarkerOf(const std::string& marker_key);

/// Errors (kInvalidArgument): an init container without a command, an unknown reference, a volume
/// kind that needs more than a host; each one sentence.
Result<BuiltPod> BuildPod(const PodWish& wish, const PodContext& context);

/// What of a template can be judged before any pod of it exists.
Status CheckTemplate(const json::object& pod_template);

}  // namespace muster::local
