// Who a container is on this host, and doing things as that user: whatever a job names is looked up
// and opened with the rights of the user that the job runs as, never with the supervisor's.
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
  /// False: the container is the supervisor's own user, and nothing is to be changed.
  bool differ = false;
};

Credentials CredentialsOf(const ContainerSpec& container);

/// The calling process has the user's rights while one of these lives. Single-threaded processes
/// only (the child between fork and exec). Taking them back cannot fail: the real user stays.
class ActAs {
 public:
  explicit ActAs(const Credentials& user);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;
  /// "" or why the rights could not be taken; then nothing may be done.
  const std::string& problem() const { return problem_; }

 private:
  bool changed_ = false;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
  std::string problem_;
};

/// The calling process becomes the user for good, and no set-user-ID program gives it more: a
/// volume may lie over /etc in its view. "" or why not.
std::string BecomeUser(const Credentials& user);

}  // namespace muster::local
