// VolumeSource: the file or directory that is mounted for a container, found with the rights of the
// container's user and never outside its volume.
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

  /// Opens the source of `mount`; "" or a sentence that says why it cannot be mounted. A pod's own
  /// volume is opened as it is; a path of the host is looked up, and created if the mount says so,
  /// as `user`; a subPath is followed as `user` and must stay below the volume, whatever links are
  /// on the way.
  std::string Open(const MountSpec& mount, const Credentials& user);
  /// A path by which this process, while it stands in /proc/self/fd, can mount the source, even if
  /// it is renamed or another volume covers it.
  std::string path() const;
  bool is_directory() const;

 private:
  int fd_ = -1;
};

/// Opens `path` below the directory `root` (O_PATH); -1 with errno: EXDEV or ELOOP if it would
/// leave the directory. On kernels without openat2 no link is followed at all.
int OpenBeneath(int root, const std::string& path);

}  // namespace muster::local
