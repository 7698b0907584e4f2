// MissingRights: what a member's user turned out not to be permitted, and how the member is asked
// about that. An API server refuses an object and lacking credentials by the same 403 with the same
// fields; only a question about the permission itself tells them apart.
//
// Used on the strand of the client alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/permissions.h"
#include "schedd/base/clock.h"

namespace muster::k8s {

/// What a member says about a permission of its user.
enum class RightAnswer : std::uint8_t {
  kGranted,
  kMissing,
  kNotTold,     // it refuses the question, so it cannot be asked
  kUnanswered,  // nothing is known; ask again
};
/// Asks the member; `then` is called on the strand.
void AskRight(ApiClient& client, const Permission& right, std::function<void(RightAnswer)> then);

class MissingRights {
 public:
  bool empty() const { return missing_.empty(); }
  bool Contains(const Permission& right) const;
  /// At most limits::kMissingRights are kept: one is enough to keep jobs away.
  void Note(const Permission& right);
  /// "Muster's user lacks permissions there: create of jobs.batch in namespace n".
  std::string Sentence() const { return Sentence(missing_); }
  static std::string Sentence(const std::vector<Permission>& rights);

  /// Asks about each of them once `every_ns` have passed since it did so last. `granted` is called
  /// when one is missing no more; it must keep this object alive.
  void AskAgain(ApiClient& client, Monotonic now, std::int64_t every_ns,
                const std::function<void()>& granted);

 private:
  std::vector<Permission> missing_;
  Monotonic asked_;
};

}  // namespace muster::k8s
