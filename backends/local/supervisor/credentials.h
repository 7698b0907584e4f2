// The user of a container on this host, and acting as that user: every path that a job names is
// looked up and opened with the rights of the user that the job runs as, never with the
// supervisor's.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "backends/local/supervisor/pod_spec_file.h"

namespace muster::local {

struct Credentials {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  // supplementary
  /// False: the container has the supervisor's own user, and nothing changes.
  bool differ = false;
};

Credentials CredentialsOf(const ContainerSpec& container);

/// The calling process has the user's rights while the object lives. For single-threaded processes
/// only (the supervisor and its children between fork and exec). Going back cannot fail, because
/// the real user stays.
class ScopedUser {
 public:
  explicit ScopedUser(const Credentials& user);
  ~ScopedUser();
  ScopedUser(const ScopedUser&) = delete;
  ScopedUser& operator=(const ScopedUser&) = delete;
  /// "", or why the rights could not be taken; then nothing must be done as the user.
  const std::string& problem() const { return problem_; }

 private:
  bool changed_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
  std::string problem_;
};

/// Makes the calling process the user for good. A user other than root has no capabilities, and
/// set-user-ID programs give it no more rights, because a volume may lie over /etc in its view. "",
/// or why it failed.
std::string BecomeUser(const Credentials& user);

}  // namespace muster::local
