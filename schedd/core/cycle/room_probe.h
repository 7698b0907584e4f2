// RoomProbe: whether some member has room for one demand while victims come and go, so that a
// search for victims takes those whose room is needed (rule P15). Pure; not thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "schedd/core/member/member_fit.h"
#include "schedd/core/preempt/preemption.h"

namespace muster::core {

class RoomProbe final : public TopologyProbe {
 public:
  /// Gives the part of a holder's admission that counts.
  using ChargedOf = std::function<AdmissionPtr(const Holder&)>;

  /// `room` must already be without the holders that were evicted before; `fit` must outlive the
  /// probe. `member`: the only member that counts; "": any member.
  RoomProbe(MemberRoom room, const MemberFit& fit, ChargedOf charged_of, std::string member = "");

  void Remove(const Holder& holder) override;
  void Restore(const Holder& holder) override;
  bool Fits() override;
  /// Fits with these victims gone.
  bool FitsWithout(std::span<const Victim> victims);

 private:
  ResourceList AmountsOf(const Holder& holder) const;
  bool Look() const;

  MemberRoom room_;
  const MemberFit& fit_;
  const ChargedOf charged_of_;
  const std::string member_;
  const bool machines_;       // some member declares its machines
  std::optional<bool> fits_;  // the last answer; unset: holders have come or gone since
  std::map<JobId, const Holder*> removed_;
};

}  // namespace muster::core
