// Propagator: brings configuration objects to members (rules P20 to P24). Level-triggered:
// it looks at the world, records what is to be (PlanWorks), and carries out what is on record.
//
// Everything that may come to be on a member is durable before it is written there, so whoever
// starts after a crash goes on from the rows alone. A member that does not answer is left alone.
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
  /// PlanWorks, but in tests.
  std::function<WorkPlan(const WorldView&, const std::function<bool(const std::string&)>&,
                         WallTime)>
      plan = PlanWorks;
};

class Propagator {
 public:
  /// `view` is the engine's, `post` hands it commands (false: full, tried again). All outlive the
  /// thread; answers of `members` may come later than that.
  Propagator(std::function<WorldViewPtr()> view, std::function<bool(Command)> post,
             MemberObjects& members, const Clock& clock, Metrics& metrics,
             PropagatorOptions options = {});
  ~Propagator() { Stop(); }

  void Start();
  void Stop();

  /// One round of the thread: waits up to `wait` for an answer, then looks, records and sends what
  /// is due. For tests without Start.
  void Step(std::chrono::nanoseconds wait = std::chrono::nanoseconds(0));

 private:
  struct Answer {
    WorkKey work;
    ObjectCall call;
    std::variant<Result<ObjectOutcome>, Result<bool>> outcome;
  };
  struct Changed {
    std::string cluster;
  };
  struct Noted {
    bool plan = false;  // what was recorded: a plan, or else answers
    std::vector<WorkKey> works;
    Status outcome = Done{};
  };
  struct Wake {};
  class Asked;
  using Event = std::variant<Answer, Changed, Noted, Wake>;
  using BusyKey = std::pair<std::string, ObjectId>;  // cluster, object
  struct Member {
    MemberState state;
    std::size_t calls = 0;  // under way
    bool changed = false;   // its objects may have changed
    Monotonic listens_at;   // such news count again from then on
  };

  void Handle(Answer answer);
  void Handle(const Changed& changed);
  void Handle(const Noted& noted);
  void LookAtMembers(const WorldView& world);
  void FollowWorks(const WorldView& world);
  void StirChanged();
  bool RecordAnswers();
  bool RecordPlan(const WorldView& world);
  bool Record(RecordWorksCommand command, Noted noted);
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
  const std::shared_ptr<BoundedQueue<Event>> events_;  // shared with answers still to come

  std::map<WorkKey, WorkProgress> works_;
  RenderedShelf shelf_;
  std::map<std::string, Member> fleet_;  // configured ones, and those with calls under way
  std::set<BusyKey> busy_;
  bool members_changed_ = false;
  std::shared_ptr<const WorkTable> table_;  // that was followed last
  ConfigPtr config_;
  bool recording_ = false;  // a command is under way
  Monotonic record_at_;     // not before: the last one failed
  bool gathering_ = false;  // answers wait to be recorded
  Monotonic gathers_since_;
  WorkKey recorded_last_;  // whose turn it was
  bool planned_last_ = false;
  bool plan_due_ = true;
  Monotonic plan_at_;  // not before
  WallTime again_at_;
  Monotonic replan_at_;  // even if nothing has changed
  std::shared_ptr<const ObjectTable> planned_objects_;
  std::shared_ptr<const WorkTable> planned_works_;
  ConfigPtr planned_config_;
  std::jthread thread_;
};

}  // namespace muster::propagation
