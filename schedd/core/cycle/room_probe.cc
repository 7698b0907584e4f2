// RoomProbe (rule P15). Sums are kept up to date holder by holder. Machines are packed anew for
// each answer, because packing is greedy and cannot be undone, and only if some member declares its
// machines. The answer is kept until a holder comes or goes.
#include "schedd/core/cycle/room_probe.h"

#include <utility>

namespace muster::core {
namespace {

// True if some member declares its machines.
bool KnowsAnyMachines(const MemberRoom& room) {
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (room.KnowsMachines(i)) return true;
  }
  return false;
}

}  // namespace

RoomProbe::RoomProbe(MemberRoom room, const MemberFit& fit, ChargedOf charged_of,
                     std::string member)
    : room_(std::move(room)),
      fit_(fit),
      charged_of_(std::move(charged_of)),
      member_(std::move(member)),
      machines_(KnowsAnyMachines(room_)) {}

ResourceList RoomProbe::AmountsOf(const Holder& holder) const {
  if (holder.job->pod_sets == nullptr) return {};
  return RequestsOf(*holder.job->pod_sets, charged_of_(holder).get());
}

// A holder on another member does not help the only member that counts.
void RoomProbe::Remove(const Holder& holder) {
  // room_ is without evicted holders from the beginning.
  if (holder.evicted) return;
  if (!member_.empty() && holder.job->cluster != member_) return;
  room_.Release(holder.job->cluster, AmountsOf(holder));
  removed_.emplace(holder.id, &holder);
  fits_.reset();
}

void RoomProbe::Restore(const Holder& holder) {
  if (removed_.erase(holder.id) == 0) return;
  room_.Take(holder.job->cluster, AmountsOf(holder));
  fits_.reset();
}

bool RoomProbe::Fits() {
  if (!fits_) fits_ = Look();
  return *fits_;
}

// Sums are up to date; machines are released in a copy.
bool RoomProbe::Look() const {
  const auto pick = [this](const MemberRoom& room) {
    return member_.empty() ? fit_.Pick(room, {}, 0) : fit_.PickNamed(room, member_);
  };
  if (!machines_) return pick(room_) != MemberFit::kNone;
  MemberRoom room = room_;
  for (const auto& [id, holder] : removed_) {
    room.ReleasePods(holder->job->cluster, holder->job->pod_sets, charged_of_(*holder));
  }
  return pick(room) != MemberFit::kNone;
}

bool RoomProbe::FitsWithout(std::span<const Victim> victims) {
  for (const Victim& victim : victims) Remove(*victim.holder);
  const bool fits = Fits();
  for (const Victim& victim : victims) Restore(*victim.holder);
  return fits;
}

}  // namespace muster::core
