// Propagator: brings configuration objects to members (rules P20 to P24). It is level-triggered: it
// looks at the world, has the engine record which objects should be where (PlanWorks), and carries
// out what is recorded.
//
// Every object that may come to be on a member is durable before it is written there, so after a
// crash the next daemon goes on from the rows alone. A member that does not answer is sent nothing.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "backends/member_objects.h"
#include "schedd/base/bounded_queue.h"
#include "schedd/base/clock.h"
#include "schedd/propagation/progress.h"
#include "schedd/propagation/step/plan.h"
#include "schedd/telemetry/metrics.h"
#include "schedd/world/command.h"

namespace muster::propagation {

struct PropagatorOptions {
  /// Tests put another planner in place of PlanWorks.
  std::function<WorkPlan(const WorldView&, const std::function<bool(const std::string&)>&,
                         WallTime)>
      plan = PlanWorks;
};

class Propagator {
 public:
  /// `view` reads the engine's world, `post` hands the engine commands (false: its inbox is full,
  /// and the command is tried again). All must outlive the thread; answers of `members` may come
  /// later.
  Propagator(std::function<WorldViewPtr()> view, std::function<bool(Command)> post,
             MemberObjects& members, const Clock& clock, Metrics& metrics,
             PropagatorOptions options = {});
  ~Propagator() { Stop(); }

  void Start();
  void Stop();

  /// One round of the thread: waits up to `wait` for an answer, then looks, records and sends what
  /// is due. Public for tests, which do not call Start.
  void Step(std::chrono::nanoseconds wait = std::chrono::nanoseconds(0));

 private:
  // What a member answered to one call.
  struct Answer {
    WorkKey work;
    ObjectCall call;
    std::variant<Result<ObjectOutcome>, Result<bool>> outcome;
  };
  // A member reports that its objects may have changed.
  struct MemberChange {
    std::string cluster;
  };
  // What came of a command to the engine.
  struct RecordOutcome {
    // True for a plan, false for answers.
    bool plan = false;
    std::vector<WorkKey> works;
    Status outcome = Done{};
  };
  // Ends the wait of a thread that is to stop.
  struct Wake {};
  class PendingCall;
  using Event = std::variant<Answer, MemberChange, RecordOutcome, Wake>;
  using BusyKey = std::pair<std::string, ObjectId>;  // cluster, object
  struct Member {
    MemberState state;
    // Under way.
    std::size_t calls = 0;
    // It has reported that its objects may have changed.
    bool changed = false;
    // Such a report is followed up only after this.
    Monotonic listens_at;
  };

  void Handle(Answer answer);
  void Handle(const MemberChange& changed);
  void Handle(const RecordOutcome& noted);
  void LookAtMembers(const WorldView& world);
  void FollowWorks(const WorldView& world);
  void StirChanged();
  bool RecordAnswers();
  bool RecordPlan(const WorldView& world);
  bool Record(RecordWorksCommand command, RecordOutcome noted);
  void SendDue();
  void Send(const WorkKey& work, const ObjectCall& call);
  void Report(const Answer& answer);
  void CountWorks(const WorldView& world);

  const std::function<WorldViewPtr()> view_;
  const std::function<bool(Command)> post_;
  MemberObjects& members_;
  const Clock& clock_;
  Metrics& metrics_;
  const PropagatorOptions options_;
  // Shared with answers that are still to come.
  const std::shared_ptr<BoundedQueue<Event>> events_;

  std::map<WorkKey, WorkProgress> works_;
  RenderedShelf shelf_;
  // Members that are configured, and members with calls under way.
  std::map<std::string, Member> fleet_;
  std::set<BusyKey> busy_;
  bool members_changed_ = false;
  // The rows that FollowWorks saw last.
  std::shared_ptr<const WorkTable> table_;
  ConfigPtr config_;
  // A command to the engine is under way.
  bool recording_ = false;
  // No command before this: the last one failed.
  Monotonic record_at_;
  // Answers wait to be recorded, since gathers_since_.
  bool gathering_ = false;
  Monotonic gathers_since_;
  // The row at which the last command of answers ended.
  WorkKey recorded_last_;
  bool planned_last_ = false;
  bool plan_due_ = true;
  // No plan before this.
  Monotonic plan_at_;
  // When time alone may change the plan; unset: never.
  WallTime again_at_;
  // A plan after this even if nothing has changed.
  Monotonic replan_at_;
  std::shared_ptr<const ObjectTable> planned_objects_;
  std::shared_ptr<const WorkTable> planned_works_;
  ConfigPtr planned_config_;
  std::jthread thread_;
};

}  // namespace muster::propagation
