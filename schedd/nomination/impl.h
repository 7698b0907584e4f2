// Nominator::Impl: one thread owns all state; callbacks only push into its queue.
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

/// What is under way about one copy, and what went wrong with it.
struct CopyCalls {
  int under_way = 0;
  std::uint64_t settled = 0;  // when the last one ended; only a list begun later tells of it
  bool told = true;           // such a list is not needed
  int failures = 0;           // in a row
  Monotonic again{};          // not before
};

struct MemberLane {
  MemberQueueState state;
  bool listing = false;
  std::uint64_t list_began = 0;
  Monotonic next_list{};
  std::map<std::string, CopyCalls> calls;  // by CopyId
  std::size_t under_way = 0;               // calls but lists
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
  /// Runs `work` in the next Step.
  /// A callback that does so, if this is still there.
  template <class T>
  Callback<T> OnThread(std::function<void(Impl&, Result<T>)> work);

  const View view;
  const Post post;
  const Manifests manifests;
  MemberQueues& members;
  const Clock& clock;
  const NominatorOptions options;

  /// What members and the engine have answered, to be done on this thread; never more than was
  /// asked.
  BoundedQueue<std::function<void()>> arrived{limits::kInboxCommands};

  // The thread's own.
  std::map<std::string, MemberLane> lanes;  // members that can be asked for lists
  std::set<std::string> watched;            // of them: their copies matter now
  std::set<JobId> busy;                     // a command for it is under way
  std::uint64_t ticks = 0;
  WorldViewPtr seen;
  bool dirty = true;
  Monotonic next_look{};
  std::jthread thread;
};

}  // namespace muster::nomination
