// Nominator::Impl: one thread owns all state; callbacks only push work into its queue.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <thread>

#include "schedd/base/bounded_queue.h"
#include "schedd/base/limits.h"
#include "schedd/nomination/nominator.h"
#include "schedd/nomination/step/plan.h"

namespace muster::nomination {

/// The calls about one copy that are under way, and the failures of the last ones.
struct CopyCalls {
  int under_way = 0;
  /// The tick at which the last call ended; only a list that began later shows its effect.
  std::uint64_t settled = 0;
  /// False while no such list has come.
  bool told = true;
  /// In a row.
  int failures = 0;
  /// No further call before this.
  Monotonic again{};
};

/// What is known of one member, and what is under way at it.
struct MemberLane {
  MemberQueueState state;
  bool listing = false;
  std::uint64_t list_began = 0;
  Monotonic next_list{};
  /// By CopyId.
  std::map<std::string, CopyCalls> calls;
  /// Calls other than lists.
  std::size_t under_way = 0;
};

struct Nominator::Impl : std::enable_shared_from_this<Impl> {
  Impl(View view_in, Post post_in, Manifests manifests_in, MemberQueues& members_in,
       const Clock& clock_in, NominatorOptions options_in);

  void Run(const std::stop_token& stop);
  void Step();
  void TakeArrived(std::chrono::nanoseconds wait);
  void SyncMembers(const WorldView& world);
  void StartLists(const WorldView& world);
  void TakeList(const std::string& cluster, Result<std::vector<MemberCopy>> listed);
  void RefreshUnsure();
  void CarryOut(const WorldView& world, NominationPlan plan);
  template <class Cmd>
  void Send(JobId job, Cmd command, const char* what);
  void MakeCopies(const WorldView& world, const std::vector<CopyWish>& wishes);
  Result<CopyOrder> OrderOf(const WorldView& world, const CopyWish& wish,
                            const std::string& manifest) const;
  void RemoveCopies(const std::vector<CopyRemoval>& removals);
  void EndCall(const std::string& cluster, const std::string& name, bool ensured,
               const Result<Done>& outcome);
  void Fail(MemberLane* lane, const std::string& name, bool ensured, const Error& error);
  /// A callback that runs `work` in the next Step, if this object still exists.
  template <class T>
  Callback<T> OnThread(std::function<void(Impl&, Result<T>)> work);

  const View view;
  const Post post;
  const Manifests manifests;
  MemberQueues& members;
  const Clock& clock;
  const NominatorOptions options;

  /// Answers of members and of the engine, handled on this thread. Bounded by the calls and
  /// commands under way.
  BoundedQueue<std::function<void()>> arrived{limits::kInboxCommands};

  // All members below belong to the thread.
  /// Members whose copies can be listed.
  std::map<std::string, MemberLane> lanes;
  /// Those of them whose copies matter now.
  std::set<std::string> watched;
  /// Jobs with a command under way.
  std::set<JobId> busy;
  /// Orders ends of calls and beginnings of lists.
  std::uint64_t ticks = 0;
  /// The world that was planned on last.
  WorldViewPtr seen;
  /// An answer has come since then.
  bool dirty = true;
  Monotonic next_look{};
  std::jthread thread;
};

}  // namespace muster::nomination
