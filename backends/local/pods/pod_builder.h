// BuildPod: from the pod that a controller wants to the orders for its supervisor: commands and
// environment resolved as in Kubernetes, volumes laid out below the pod's directory, limits read.
// Pure: it says which files are to be written. ../README.md says which settings of a template have
// an effect.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/local/pods/pod_context.h"
#include "backends/local/pods/pod_users.h"
#include "backends/local/pods/pod_wish.h"
#include "schedd/base/result.h"

namespace muster::local {

/// A directory to be made below the pod's; -1: the daemon's user or group owns it.
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
  json::object spec;                        // spec.json, for the supervisor
  std::uint32_t mode = 0700;                // of the pod's directory, which the daemon owns
  std::vector<BuiltDirectory> directories;  // parents before children
  std::vector<std::int64_t> users;          // of its containers, other than the daemon's
  std::vector<VolumeFile> files;
  std::optional<PodUser> batch_user;  // of a batch script's pod: who runs the script
};

/// The environment entry that every process of a pod starts with; leftovers are found by it.
std::string MarkerOf(const std::string& marker_key);

/// Errors (kInvalidArgument, each one sentence): an init container without a command, an unknown
/// reference, a kind of volume that a host cannot provide. kUnavailable: the host's accounts cannot
/// be looked up now.
Result<BuiltPod> BuildPod(const PodWish& wish, const PodContext& context);

/// The checks of a template that are possible before a pod of it exists.
Status CheckTemplate(const json::object& pod_template);

}  // namespace muster::local
