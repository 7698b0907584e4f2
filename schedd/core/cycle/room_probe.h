// RoomProbe: whether some member would have the room for one demand while victims come and go, so
// that a search for victims takes them where the room is needed (rule P15). Pure;
// not thread-safe.
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
  /// The part of a holder's admission that counts.
  using ChargedOf = std::function<AdmissionPtr(const Holder&)>;

  /// `room` without those that are on their way out; `fit` must outlive it. `member` is the only
  /// one that may do; "": any.
  RoomProbe(MemberRoom room, const MemberFit& fit, ChargedOf charged_of, std::string member = "");

  void Remove(const Holder& holder) override;
  void Restore(const Holder& holder) override;
  bool Fits() override;
  /// Fits with these gone.
  bool FitsWithout(std::span<const Victim> victims);

 private:
  ResourceList AmountsOf(const Holder& holder) const;
  bool Look() const;

  MemberRoom room_;
  const MemberFit& fit_;
  const ChargedOf charged_of_;
  const std::string member_;
  const bool machines_;       // those of some member are told
  std::optional<bool> fits_;  // unset: something has changed since it was looked at
  std::map<JobId, const Holder*> removed_;
};

}  // namespace muster::core
