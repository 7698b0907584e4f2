// R22: a cancel, the admission, the start, the end and a preemption of one job meet in every order.
//
// The store writes and the member acts only when a step says so, so that each step sees the others
// half done. After every step: an ended job stays as it ended, and after an acknowledged cancel no
// attempt starts. At rest: the job has one terminal state, and nothing of it is left.
//
// MUSTER_INTERLEAVING_STEPS (4; the scoreboard asks for 6) bounds the orders that are all tried,
// MUSTER_INTERLEAVINGS (2,000; the scoreboard asks for 100,000) counts longer ones drawn at random.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/support/engine_world.h"
#include "tests/support/usage_check.h"

namespace muster::test {
namespace {

// c: a user cancels the job. p: a job that may preempt it is submitted. w: the store carries one
// write out. o: the members carry one order out. f: its pods finish. t: a second passes.
constexpr char kSteps[] = "cpwoft";
constexpr std::size_t kKinds = sizeof kSteps - 1;
constexpr int kRoundsMax = 600;  // until everything must have ended
constexpr int kRoundsAfter = 4;

std::uint64_t NumberOf(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Life {
 public:
  explicit Life(bool two_steps) : world_(1, {}, {.manual = true}) {
    world_.members.two_steps = two_steps;
    world_.engine->Post(
        ApplyCommand{{"root", "test"},
                     {NamespaceObject("default"), FlavorObject("default"),
                      ClusterQueueObject({.nominal = {{"cpu", 1000}}, .within = "LowerPriority"}),
                      LocalQueueObject("queue", "cq"), MemberObject("east", {{"cpu", 1000}})},
                     false,
                     [](Result<std::vector<AppliedObject>>) {}});
    WriteAll();
    world_.members.CarryAll();
    WriteAll();
    Submit("job", 0);
    // Accepted for good; its admission is decided and not yet written.
    world_.store.DrainOne();
    world_.Settle();
  }

  // "" or what is wrong.
  std::string Play(const std::string& steps) {
    for (const char step : steps) {
      Take(step);
      if (std::string wrong = Look(); !wrong.empty()) return wrong;
    }
    return Rest();
  }

 private:
  void Submit(const std::string& name, std::int32_t priority) {
    SubmitCommand command;
    command.jobs.push_back(MakeSubmission({.name = name, .priority = priority}));
    command.done = [](Result<std::vector<Result<SubmittedJob>>>) {};
    world_.engine->Post(std::move(command));
    world_.Settle();
  }

  void Take(char step) {
    switch (step) {
      case 'c':
        world_.engine->Post(
            JobCommand{{"alice", "test"}, JobVerb::kCancel, kJob, [this](Result<JobPtr> done) {
                         if (!done.ok() || (*done)->state != JobState::kCancelled) return;
                         if (!starts_at_cancel_) starts_at_cancel_ = Starts();
                       }});
        break;
      case 'p':
        if (!std::exchange(preempted_, true)) Submit("urgent", 10);
        break;
      case 'w':
        world_.store.DrainOne();
        break;
      case 'o':
        if (!world_.members.orders.empty()) world_.members.Carry();
        break;
      case 'f':
        Finish(world_.Job(kJob)->uid);
        break;
      default:
        world_.clock.Advance(1000);
    }
    world_.Settle();
  }

  void Finish(const Uid& uid) {
    std::vector<DispatchKey> keys;
    for (const auto& [key, object] : world_.members.objects) {
      if (key.job_uid == uid && object.active()) keys.push_back(key);
    }
    for (const DispatchKey& key : keys) world_.members.End(key, RemotePhase::kSucceeded);
  }

  int Starts() const {
    int starts = 0;
    const JobPtr job = world_.Job(kJob);
    for (const auto& [key, count] : world_.members.starts)
      starts += job != nullptr && key.job_uid == job->uid ? count : 0;
    return starts;
  }

  std::string Look() {
    const JobPtr job = world_.Job(kJob);
    if (job == nullptr) return "the job is gone";
    if (ended_ && job->state != *ended_) {
      return "it was " + std::string(JobStateName(*ended_)) + " and is " +
             std::string(JobStateName(job->state));
    }
    if (IsTerminal(job->state)) ended_ = job->state;
    if (starts_at_cancel_ && Starts() != *starts_at_cancel_)
      return "an attempt has started after an acknowledged cancel";
    if (world_.members.most_active_of_one_job > 1) return "two attempts are active";
    return "";
  }

  void WriteAll() {
    do {
      world_.Settle();
    } while (world_.store.DrainOne());
  }

  bool AllEnded() const {
    bool ended = world_.members.Idle();
    world_.engine->View()->jobs.ForEach(JobId{}, [&](const JobPtr& job) {
      ended = ended && IsTerminal(job->state);
      return ended;
    });
    return ended;
  }

  // Everything goes its way: what is written is written, what runs ends.
  std::string Rest() {
    // What comes after the ends, such as their acknowledgement on the member, takes rounds of its
    // own.
    for (int round = 0, after = 0; round < kRoundsMax && after < kRoundsAfter; ++round) {
      after = AllEnded() ? after + 1 : 0;
      WriteAll();
      world_.members.CarryAll();
      WriteAll();
      if (std::string wrong = Look(); !wrong.empty()) return wrong;
      for (const JobId id : {kJob, JobId{2}}) {
        if (const JobPtr job = world_.Job(id)) Finish(job->uid);
      }
      WriteAll();
      world_.clock.Advance(1000);
    }
    WriteAll();
    if (std::string wrong = Look(); !wrong.empty()) return wrong;
    if (!AllEnded()) return "it does not come to rest";
    if (world_.UsedCpu() != 0) return "quota is left";
    for (const auto& [key, object] : world_.members.objects) {
      if (object.active()) return "pods are left";
    }
    const StoredWorld stored = world_.Stored();
    for (const UsageRow& row : stored.usage) {
      if (row.amount != 0) return "a usage row is left";
    }
    // The object of an ended attempt is kept for its logs.
    for (const DispatchRow& row : stored.dispatches) {
      if (row.state != DispatchState::kTerminal) return "an attempt without an end is left";
    }
    return "";
  }

  static constexpr JobId kJob{1};
  EngineWorld world_;
  bool preempted_ = false;
  std::optional<JobState> ended_;
  std::optional<int> starts_at_cancel_;
};

// Plays one order with members of one step and of two; counts and names what is wrong.
struct Score {
  std::uint64_t played = 0, wrong = 0;
  void Play(const std::string& steps) {
    for (const bool two_steps : {false, true}) {
      ++played;
      const std::string found = Life(two_steps).Play(steps);
      if (found.empty()) continue;
      if (++wrong <= 5)
        ADD_FAILURE() << steps << (two_steps ? ", two steps: " : ", one step: ") << found;
    }
  }
};

TEST(Interleavings, ACancelAnAdmissionAStartAnEndAndAPreemption_LeaveOneEnd_InEveryOrder) {
  Score score;
  const std::uint64_t longest = NumberOf("MUSTER_INTERLEAVING_STEPS", 4),
                      drawn = NumberOf("MUSTER_INTERLEAVINGS", 2000);
  std::uint64_t orders = 1;
  for (std::uint64_t length = 0; length <= longest; ++length, orders *= kKinds) {
    for (std::uint64_t number = 0; number < orders; ++number) {
      std::string steps;
      for (std::uint64_t i = 0, rest = number; i < length; ++i, rest /= kKinds)
        steps.push_back(kSteps[rest % kKinds]);
      score.Play(steps);
    }
  }
  SeededRandom random(22);
  for (std::uint64_t i = 0; i < drawn; ++i) {
    std::string steps;
    for (std::uint64_t length = longest + 1 + random.Next() % 16; length > 0; --length)
      steps.push_back(kSteps[random.Next() % kKinds]);
    score.Play(steps);
  }
  std::printf(
      "R22 figure=%llu wrong of %llu lives (every order of up to %llu steps, %llu drawn) "
      "bar=0\n",
      static_cast<unsigned long long>(score.wrong), static_cast<unsigned long long>(score.played),
      static_cast<unsigned long long>(longest), static_cast<unsigned long long>(drawn));
}

}  // namespace
}  // namespace muster::test
