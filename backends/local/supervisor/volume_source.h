// What is mounted for a container: found with the rights of the container's user, and never outside
// the volume that it names a part of.
#pragma once

#include <string>

#include "backends/local/supervisor/credentials.h"
#include "backends/local/supervisor/pod_spec_file.h"

namespace muster::local {

/// An open descriptor (O_PATH) of a file or directory; closed with the object.
class VolumeSource {
 public:
  VolumeSource() = default;
  ~VolumeSource();
  VolumeSource(const VolumeSource&) = delete;
  VolumeSource& operator=(const VolumeSource&) = delete;

  /// Opens what `mount` names; "" or a sentence that says why it cannot be mounted. A pod's own
  /// volume is opened as what it is; a path of the host is looked up as `user`, made if it is to
  /// be, and a part of either (subPath) is followed as `user` and must stay below it, whatever
  /// links lie in the way.
  std::string Open(const MountSpec& mount, const Credentials& user);
  /// A path by which this process can mount it, whatever is renamed meanwhile.
  std::string path() const;
  bool is_directory() const;

 private:
  int fd_ = -1;
};

/// Opens `path` below the directory `root` (O_PATH); -1 with errno: EXDEV or ELOOP if it would
/// leave it. Kernels without openat2 follow no link at all.
int OpenBeneath(int root, const std::string& path);

}  // namespace muster::local
