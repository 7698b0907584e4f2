// From a wished pod to what its supervisor is told: commands and environment resolved as Kubernetes
// does, volumes laid out below the pod's directory, limits read. Pure: it says which files are to
// be written.
//
// What a pod template may say and what of it has an effect here: ../README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/local/pods/pod_context.h"
#include "backends/local/pods/pod_wish.h"
#include "schedd/base/result.h"

namespace muster::local {

/// Something that is made below the pod's directory; -1: the daemon's user or group has it.
struct BuiltDirectory {
  std::string path;
  std::uint32_t mode = 0711;
  std::int64_t uid = -1, gid = -1;
};

struct VolumeFile {
  std::string path;  // below the pod's directory
  std::string data;
  std::uint32_t mode = 0644;
  std::int64_t uid = -1, gid = -1;
};

struct BuiltPod {
  json::object spec;          // of the supervisor: spec.json
  std::uint32_t mode = 0700;  // of the pod's directory, which is the daemon's
  std::vector<BuiltDirectory> directories;  // in order: what is above comes before
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
