#include "api/service/member_reads.h"

#include "schedd/base/limits_member_reads.h"

namespace muster::api {
namespace {

constexpr std::int64_t kStallNs = limits::kMemberStallMs * kNanosPerMilli;
constexpr std::int64_t kRestNs = limits::kMemberRestMs * kNanosPerMilli;

}  // namespace

Status MemberReads::Enter(const std::string& cluster, Monotonic now) {
  const MutexLock lock(mutex_);
  Member& member = members_[cluster];
  const bool waits = !member.under_way.empty();
  const bool stalled = waits && now - *member.under_way.begin() >= kStallNs;
  if (stalled || (member.silent && (waits || now < member.rests_until)))
    return Unavailable("member cluster " + cluster + " does not answer");
  member.under_way.insert(now);
  return Done{};
}

void MemberReads::Leave(const std::string& cluster, Monotonic begun, bool answered,
                        Monotonic now) {
  const MutexLock lock(mutex_);
  const auto found = members_.find(cluster);
  if (found == members_.end()) return;
  Member& member = found->second;
  if (const auto one = member.under_way.find(begun); one != member.under_way.end())
    member.under_way.erase(one);
  if (answered) {
    member.silent = false;
  } else if (now - begun >= kStallNs) {
    member.silent = true;
    member.rests_until = now + kRestNs;
  }
  if (member.under_way.empty() && !member.silent) members_.erase(found);
}

}  // namespace muster::api
