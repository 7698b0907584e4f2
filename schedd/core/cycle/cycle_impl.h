// Cycle: the state of one Decide and its steps. Each group of functions is in the source file that
// the comment above the group names. Only for the files of Decide.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "schedd/core/cycle/cycle.h"
#include "schedd/core/cycle/cycle_entry.h"
#include "schedd/core/cycle/cycle_topology.h"
#include "schedd/core/cycle/room_probe.h"

namespace muster::core {

class Cycle {
 public:
  Cycle(const Snapshot& snapshot, const CycleInput& input);
  Plan Run();

 private:
  // cycle.cc: rounds.
  bool Advance();
  bool SkipToHead(CycleQueue* queue);
  bool Round();
  bool MustBeFirstRound() const;
  void ProcessAll();
  void ProcessFairly();
  void GiveBackReserved();
  void Close(bool more_work);
  CycleClass& ClassOf(CycleQueue* queue, const JobPtr& job);
  bool MayAsk(const JobRecord& job) const;
  CycleQueue* QueueOf(const std::string& cluster_queue);

  // cycle_verdicts.cc: entries that are not admitted, and evictions.
  void Wait(CycleQueue* queue, UnadmittedWorkload verdict);
  UnadmittedWorkload Verdict(const CycleEntry& entry, Reason reason, std::string message,
                             RequeueReason requeue) const;
  bool RemembersRoom(const CycleQueue& queue) const;
  void AddWhatLacksRoom(const CycleQueue& queue, UnadmittedWorkload* verdict) const;
  void TraceScan(CycleEntry* entry) const;
  void Skip(CycleEntry* entry, Reason reason, const char* message);
  void Evict(Eviction eviction);

  // cycle_nominate.cc: the assignment and the victims of each head.
  void NominateHead(CycleQueue* queue);
  void NominateSecondPass(const JobPtr& job);
  bool Closed(CycleQueue* queue, const CycleClass* of, const JobPtr& job, bool second_pass);
  CycleEntry MakeEntry(CycleQueue* queue, CycleClass* of, const JobPtr& job) const;
  LastAssignmentPtr ResumeFrom(const CycleQueue& queue, const JobPtr& job) const;
  void Assign(CycleEntry* entry);
  void Search(CycleEntry* entry, AssignRequest* request, const Holders& holders);
  bool Try(CycleEntry* entry, const AssignRequest& request, VictimSearch* search,
           std::span<const std::int32_t> counts);
  std::vector<TopologyAsk> AsksOf(CycleEntry* entry, const AssignRequest& request);
  void PlacePreempting(CycleEntry* entry, const AssignRequest& request);
  void TakeOver(CycleEntry* entry);
  HolderPtr ReplacedSlice(const CycleEntry& entry) const;
  const Holders& HoldersBefore() const;
  const Holders& HoldersNow();

  // cycle_process.cc: one entry against what the earlier ones took.
  void Process(CycleEntry* entry);
  struct Fit {
    bool quota = false, machines = false;
    bool both() const { return quota && machines; }
  };
  Fit Fits(const CycleEntry& entry);
  bool MachinesFit(const CycleEntry& entry, const std::vector<const Holder*>& own);
  template <class Visit>
  void ForEachPreempted(const Visit& visit) const;
  const Holders& HoldersLeft();
  void Add(NodeIndex queue, const Charge& charge);
  bool WaitsForGate(const CycleEntry& entry);
  bool Overlaps(const CycleEntry& entry) const;
  void Refresh(CycleEntry* entry, Fit* fit);
  void RecomputeWithoutVictims(CycleEntry* entry);
  void Recompute(CycleEntry* entry, const Holders& holders);
  bool VariantIsDone(CycleEntry* entry, HolderPtr* less_favorable) const;
  void Take(const CycleEntry& entry);
  void KeepFromOthers(const CycleEntry& entry, std::span<const Charge> charges);
  void Reserve(const CycleEntry& entry);
  void Preempt(CycleEntry* entry, const std::string& why);
  void Migrate(CycleEntry* entry, const HolderPtr& sibling);
  bool MayMigrate(const CycleEntry& entry) const;
  bool ReplaceNodeFailed(CycleEntry* entry);
  void Admit(CycleEntry* entry);

  // cycle_room.cc: room on member clusters.
  bool Place(CycleEntry* entry, core::PlannedAdmission* admit);
  bool GrowInPlace(CycleEntry* entry, std::string* cluster);
  const CycleFit& FitOf(const CycleEntry& entry);
  PlacementAsk AskOf(const CycleEntry& entry) const;
  PlacementDemand MemberDemandOf(const JobRecord& job, const Admission* admission,
                                 const PlacementAsk* ask);
  std::string MachinesOn(const CycleEntry& entry) const;
  const MemberOrder* MembersFor(const JobRecord& job);
  MemberRoom RoomLeft();
  ResourceList AmountsOf(const Holder& holder) const;
  void Leave(const Holder& holder, MemberRoom* room) const;
  void LeaveMachines(const Holder& holder, MemberRoom* room) const;
  using FindVictims = std::function<std::vector<Victim>(TopologyProbe*)>;
  void MoveVictims(CycleEntry* entry, const FindVictims& find);
  bool RoomAfter(CycleEntry* entry);
  bool RoomToMove(CycleEntry* entry, const Holder& sibling);
  bool Yields(const CycleEntry& entry);

  // cycle_make_room.cc: evictions for room on a member alone.
  bool MakeRoom(CycleEntry* entry);
  void KeepRoom(const MemberFit& fit, std::size_t member);
  void TakeRoom(const MemberFit& fit, std::size_t member);
  const CycleFit* NotedFit(const CycleEntry& entry, const RoomShortage& noted);
  bool PreemptForRoom(CycleEntry* entry, const RoomShortage& noted, const CycleFit& known,
                      const MemberRoom& left);
  std::vector<Victim> VictimsFor(const CycleEntry& entry, const Charges& wants,
                                 const CycleFit& known, const MemberRoom& left);
  // The holders that run on one member and are not evicted.
  struct MemberHolders {
    Holders holders;
    std::vector<HolderPtr> all;                  // the same holders as a list
    std::map<std::int64_t, ResourceList> freed;  // by priority: held at this priority and below
  };
  bool ReclaimsRoom(const CycleEntry& entry) const;
  Holders Evictable(const CycleEntry& entry, const MemberHolders& on) const;
  std::int64_t HighestVictim(const CycleEntry& entry) const;
  bool HasCandidates(const CycleEntry& entry, std::int64_t highest) const;
  static bool MachinesAfter(const MemberHolders& on, std::int64_t highest, RoomProbe* probe);
  const MemberHolders* StandingOn(const std::string& member);
  Usage UsageLeft();

  static void ForgetRoom(CycleQueue* queue, const JobRecord& job);
  void RefuseRoom(CycleEntry* entry, PlacementChoice refusal);
  static void NoteRoom(const CycleEntry& entry, PlacementChoice refusal);
  void WaitForRoom(CycleEntry* entry);

  const Snapshot& snapshot_;
  const CycleInput& input_;
  const ConfigView& config_;
  const AdmissionSettings& settings_;
  Usage usage_;
  CycleTopology topology_;
  MemberRoom room_;
  CycleCache own_cache_;  // used if the caller gave none, or if plans may not outlive this cycle
  CycleCache::Contents& known_;
  std::deque<CycleQueue> queues_;
  std::deque<CycleClass> second_pass_classes_;
  std::vector<CycleQueue*> active_;
  std::string key_, class_key_;  // buffers

  // The plan so far. An unset optional was not needed yet.
  Plan plan_;
  std::vector<HolderPtr> admitted_;  // by all rounds of this plan
  std::size_t admitted_before_ = 0;  // the number of those that earlier rounds admitted
  std::optional<Holders> overlay_;   // the snapshot's holders and the first of admitted_
  std::size_t overlaid_ = 0;         // the number of admitted_ in overlay_
  std::set<JobId> evicted_;          // evicted by this plan
  bool pods_not_ready_ = false;
  // The holders of one member that were evicted before this plan, and what they free.
  struct LeavingHolders {
    ResourceList amounts;
    std::vector<HolderPtr> holders;
  };
  std::optional<std::map<std::string, LeavingHolders>> leaving_;  // by member
  std::optional<std::map<std::string, MemberHolders>> standing_;  // by member
  std::size_t standing_without_ = 0;    // the number of preempted_ that standing_ is without
  std::optional<PlacedCounts> placed_;  // the snapshot's and this plan's
  // The order of members for the job order_of_, after order_after_ admissions.
  std::optional<MemberOrder> order_;
  JobId order_of_;
  std::size_t order_after_ = 0;

  // The current round.
  std::int64_t number_ = 0;  // the number of the single-head cycle that the round stands for
  std::vector<CycleEntry> entries_;
  Usage nominated_on_;                               // the usage at the start of the round
  std::vector<std::pair<NodeIndex, Charge>> taken_;  // charges of this round's admissions
  bool reserved_ = false;  // quota or machines are kept for entries that are not admitted
  std::vector<TopologyCharges> reserved_machines_;
  std::optional<MemberRoom> unreserved_;    // room_ without what is kept; unset: nothing is kept
  std::vector<HolderPtr> preempted_;        // the victims chosen so far
  std::unordered_set<JobId> is_preempted_;  // the same; never iterated
  std::optional<Holders> left_;             // HoldersNow without the victims
  std::size_t left_admitted_ = 0, left_preempted_ = 0;  // the parts of the two lists in left_
  std::optional<Usage> without_victims_;                // usage_ without them; unset: no victims
  bool progress_ = false;       // something changed: another round may decide otherwise
  bool scans_pending_ = false;  // some head has flavors left to try
  bool stopped_ = false;        // nothing more may be admitted (rule A23, step l)
};

}  // namespace muster::core
