// Copies of jobs in a member's own queue: Workloads of Kueue (rule P34). Each call is a chain of
// requests that may be repeated at any point. They run on the session's strand.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "backends/k8s/session.h"
#include "backends/member_queues.h"
#include "schedd/base/mutex.h"

namespace muster::k8s {

/// Which version of Workload each member serves, as far as that is known. Thread-safe.
class QueueVersions {
 public:
  /// "v1beta2"; "" if the member serves none; nullopt: not known.
  std::optional<std::string> Of(const std::string& member) const;
  void Note(const std::string& member, std::optional<std::string> version);

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::string> versions_ MUSTER_GUARDED_BY(mutex_);
};
using QueueVersionsPtr = std::shared_ptr<QueueVersions>;

// MemberQueues::EnsureCopy, RemoveCopy and ListCopies.
void EnsureCopyOn(const SessionPtr& session, const QueueVersionsPtr& versions, CopyOrder order,
                  Callback<Done> done);
void RemoveCopyOn(const SessionPtr& session, const QueueVersionsPtr& versions, CopyRemoval removal,
                  Callback<Done> done);
void ListCopiesOn(const SessionPtr& session, const QueueVersionsPtr& versions,
                  Callback<std::vector<MemberCopy>> done);

}  // namespace muster::k8s
