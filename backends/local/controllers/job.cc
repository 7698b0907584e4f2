// StepJob and the controller of batch/v1 Job (rule A6), after the documented behaviour of
// Kubernetes' job controller.
//
// Tally counts the pods of the present epoch in the order in which they were started: live ones,
// successes, failures by podFailurePolicy, indexes that are done or have failed for good, and the
// streak of failures since the last success. Then it decides, in this order: FailJob by policy,
// backoffLimit, maxFailedIndexes, failed indexes, successPolicy, completions,
// activeDeadlineSeconds. Without an end it starts the missing pods, or stops those beyond a smaller
// size of an elastic job.
//
// After failures all new pods wait for the back-off, which doubles with the streak. With
// backoffLimitPerIndex each index has a back-off of its own instead, and the others do not wait.
// Failures that podFailurePolicy ignores count for the back-off, and for nothing else.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "backends/local/controllers/job_failure.h"
#include "backends/local/controllers/job_run.h"
#include "schedd/model/member_labels.h"
#include "schedd/text/lenient.h"

namespace muster::local {
namespace {

// Kubernetes' MaxPodCreateBackoff.
constexpr std::int64_t kLongestBackoffUs = 600 * kMicrosPerSecond;
constexpr std::int32_t kUnbounded = std::numeric_limits<std::int32_t>::max();

// Counts a Job's pods and decides what follows.
class Tally {
 public:
  Tally(const ControllerInput& input, const JobRun& run)
      : input_(input), run_(run), spec_(*run.spec) {
    indexed_ = Text(spec_, "completionMode") == "Indexed";
    has_completions_ = Has(spec_, "completions");
    parallelism_ = static_cast<std::int32_t>(Integer(spec_, "parallelism", 1));
    completions_ = has_completions_ ? static_cast<std::int32_t>(Integer(spec_, "completions", 1))
                   : Has(spec_, "parallelism") ? kUnbounded
                                               : 1;
    per_index_ = MaybeInteger(spec_, "backoffLimitPerIndex");
    backoff_limit_ = Integer(spec_, "backoffLimit", per_index_ ? kUnbounded : 6);
    restarts_count_ =
        Text(ObjectOrEmpty(spec_, {"template", "spec"}), "restartPolicy") == "OnFailure";
    pods_ = PodsOf(*input.pods, run.name, run.epoch);
    for (const PodRecord* pod : pods_) Count(*pod);
    for (const WallTime ended : failure_times_) {
      last_failure_ = std::max(last_failure_, ended);
      streak_ += !last_success_.set() || ended > last_success_;
    }
  }

  JobProgress Step() {
    progress_.running = running_;
    progress_.succeeded = Succeeded();
    progress_.failed = failures_;
    progress_.reclaimable = Reclaimable();
    JudgeEnd();
    if (progress_.end != JobEnd::kActive) {
      StopLive(pods_, &progress_.stop);
    } else {
      StartPods();
    }
    return std::move(progress_);
  }

 private:
  void Count(const PodRecord& pod) {
    const std::int32_t index = pod.identity.index;
    // An elastic job has shrunk below this index: the pod does not count.
    if (indexed_ && index >= completions_) {
      if (pod.live() && !pod.stopping) progress_.stop.push_back(pod.identity.id);
      return;
    }
    if (pod.live()) {
      if (!pod.stopping) active_.insert(index), ++active_count_, surplus_.push_back(&pod);
      if (pod.phase == PodPhase::kRunning) ++running_;
      if (restarts_count_) restarts_ += pod.restarts;
      if (pod.failed_by_itself && first_message_.empty()) first_message_ = pod.failure_message;
      return;
    }
    if (pod.phase == PodPhase::kSucceeded) {
      ++successes_;
      done_.insert(index);
      last_success_ = std::max(last_success_, pod.ended);
      return;
    }
    if (pod.stopping) return;
    CountFailure(pod);
  }

  // Counts a failed pod by the action of the first rule that matches: Ignore, FailIndex, FailJob,
  // Count.
  void CountFailure(const PodRecord& pod) {
    const int rule = MatchFailureRule(spec_, pod);
    std::string action = "Count";
    if (rule >= 0) {
      const json::array& rules = ArrayOrEmpty(spec_, {"podFailurePolicy", "rules"});
      action = Text(ObjectOrEmpty(rules[static_cast<std::size_t>(rule)]), "action");
    }
    failure_times_.push_back(pod.ended);
    IndexTries& tries = index_tries_[pod.identity.index];
    tries = {tries.failed + 1, pod.ended};
    if (action == "Ignore") return;
    ++failures_;
    ++index_failures_[pod.identity.index];
    first_message_ = first_message_.empty() ? pod.message : first_message_;
    if (action == "FailIndex") failed_indexes_.insert(pod.identity.index);
    if (per_index_ && index_failures_[pod.identity.index] > *per_index_)
      failed_indexes_.insert(pod.identity.index);
    if (action == "FailJob" && policy_message_.empty()) {
      policy_failure_ = pod.ended;
      policy_message_ = "pod " + pod.identity.name + " failed (" + pod.message +
                        "), which matches FailJob rule at index " + std::to_string(rule);
    }
  }

  // Of a Job that runs several pods at once: the pods that no completion is left for. An index that
  // has failed for good counts as done (rule A10).
  std::int32_t Reclaimable() const {
    if (parallelism_ <= 1 || !has_completions_) return 0;
    std::set<std::int32_t> indexes(done_);
    indexes.insert(failed_indexes_.begin(), failed_indexes_.end());
    const std::int32_t done = indexed_ ? static_cast<std::int32_t>(indexes.size()) : successes_;
    return std::max(0, PodsAtOnce(spec_) - std::max(0, completions_ - done));
  }

  std::int32_t Succeeded() const {
    return indexed_ ? static_cast<std::int32_t>(done_.size()) : successes_;
  }

  void End(JobEnd end, const std::string& reason, const std::string& message) {
    progress_.end = end;
    progress_.end_reason = reason;
    progress_.message = message;
  }

  void Fail(const std::string& reason, const std::string& message) {
    End(JobEnd::kFailed, reason, message + (first_message_.empty() ? "" : ": " + first_message_));
    // Restarts in place leave no failed pod.
    progress_.failed_at = last_failure_.set() ? last_failure_ : input_.now;
  }

  // Sets the end, if there is one; otherwise the time of the deadline.
  void JudgeEnd() {
    if (!policy_message_.empty()) {
      End(JobEnd::kFailed, "PodFailurePolicy", policy_message_);
      progress_.failed_at = policy_failure_;
      return;
    }
    // As in Kubernetes, failed pods must exceed the limit, and restarts in place must reach it.
    if (failures_ > backoff_limit_ ||
        (restarts_ > 0 && restarts_ >= std::max<std::int64_t>(1, backoff_limit_))) {
      return Fail("BackoffLimitExceeded",
                  "the job reached its backoffLimit of " + std::to_string(backoff_limit_));
    }
    const std::optional<std::int64_t> max_failed = MaybeInteger(spec_, "maxFailedIndexes");
    if (max_failed && static_cast<std::int64_t>(failed_indexes_.size()) > *max_failed) {
      return Fail("MaxFailedIndexesExceeded", "more indexes failed than maxFailedIndexes allows");
    }
    // Kubernetes looks for failed indexes first: a Job that has run all its indexes and in which
    // one failed has failed, also if it meets its successPolicy by then.
    if (!failed_indexes_.empty() &&
        static_cast<std::int64_t>(done_.size() + failed_indexes_.size()) >= completions_) {
      return Fail("FailedIndexes", std::to_string(failed_indexes_.size()) + " indexes failed");
    }
    if (MeetsSuccessPolicy()) return End(JobEnd::kComplete, "SuccessPolicy", "");
    if (Complete()) return End(JobEnd::kComplete, "CompletionsReached", "");
    const std::int64_t deadline_s = Integer(spec_, "activeDeadlineSeconds", 0);
    if (deadline_s <= 0 || !run_.started.set()) return;
    const WallTime deadline = run_.started.PlusSeconds(deadline_s);
    if (input_.now >= deadline) {
      Fail("DeadlineExceeded", "the job was active longer than its activeDeadlineSeconds");
      progress_.failed_at = deadline;
      return;
    }
    progress_.wake_at = Earlier(progress_.wake_at, deadline);
  }

  // Whether all completions are reached. A Job without completions is complete when one pod has
  // succeeded and none runs any more.
  bool Complete() const {
    if (indexed_) return static_cast<std::int64_t>(done_.size()) >= completions_;
    return completions_ == kUnbounded ? successes_ > 0 && active_count_ == 0
                                      : successes_ >= completions_;
  }

  // Whether one rule of successPolicy is met; only Indexed Jobs have it.
  bool MeetsSuccessPolicy() const {
    for (const json::value& entry : ArrayOrEmpty(spec_, {"successPolicy", "rules"})) {
      const json::object& rule = ObjectOrEmpty(entry);
      const std::string text = Text(rule, "succeededIndexes");
      std::int64_t needed = 0, met = 0;
      if (text.empty()) {
        met = static_cast<std::int64_t>(done_.size());
      } else {
        const std::vector<std::int32_t> wanted = ParseIndexes(text);
        needed = static_cast<std::int64_t>(wanted.size());
        met = std::count_if(wanted.begin(), wanted.end(),
                            [&](std::int32_t i) { return done_.contains(i); });
      }
      needed = Integer(rule, "succeededCount", needed);
      if (needed > 0 && met >= needed) return true;
    }
    return false;
  }

  // Wishes for the missing pods, the lowest indexes first.
  void StartPods() {
    // The first success of a work queue says that the queue is empty: the pods that run finish
    // their work, and none is started any more (Kubernetes documentation, Jobs, "Parallel
    // execution").
    const std::int32_t open =
        completions_ == kUnbounded
            ? (successes_ > 0 ? active_count_ : parallelism_)
            : completions_ - Succeeded() - static_cast<std::int32_t>(failed_indexes_.size());
    const std::int32_t wanted = std::min(parallelism_, std::max(0, open));
    progress_.expected = Succeeded() + wanted;
    std::int32_t missing = wanted - active_count_;
    if (missing <= 0) return StopSurplus(-missing);
    if (!per_index_ && Waits(last_failure_, streak_)) return;
    for (std::int32_t index = 0; missing > 0 && index < completions_; ++index) {
      if (indexed_ && (done_.contains(index) || active_.contains(index) ||
                       failed_indexes_.contains(index) || IndexWaits(index))) {
        continue;
      }
      Wish(indexed_ ? index : -1);
      --missing;
    }
  }

  // Whether the back-off after so many failures in a row still runs.
  bool Waits(WallTime last_failure, std::int32_t failures) {
    if (failures == 0) return false;
    const WallTime due =
        last_failure.Plus(BackoffUs(input_.backoff_us, failures - 1, kLongestBackoffUs));
    if (input_.now >= due) return false;
    progress_.wake_at = Earlier(progress_.wake_at, due);
    return true;
  }

  // With backoffLimitPerIndex each index waits for its own failures (KEP-3850).
  bool IndexWaits(std::int32_t index) {
    const auto tries = index_tries_.find(index);
    return per_index_ && tries != index_tries_.end() &&
           Waits(tries->second.last, tries->second.failed);
  }

  // Stops pods in Kubernetes' order: those that do not run yet first, then the newest.
  void StopSurplus(std::int32_t pods) {
    std::stable_sort(surplus_.begin(), surplus_.end(), [](const PodRecord* a, const PodRecord* b) {
      return (a->phase == PodPhase::kRunning) < (b->phase == PodPhase::kRunning);
    });
    const auto waiting = std::find_if(surplus_.begin(), surplus_.end(), [](const PodRecord* pod) {
      return pod->phase == PodPhase::kRunning;
    });
    std::reverse(surplus_.begin(), waiting);
    std::reverse(waiting, surplus_.end());
    for (std::int32_t i = 0; i < pods; ++i)
      progress_.stop.push_back(surplus_[static_cast<std::size_t>(i)]->identity.id);
  }

  // Adds a pod for an index, or without one (-1).
  void Wish(std::int32_t index) {
    PodWish wish;
    const std::int32_t ordinal =
        static_cast<std::int32_t>(pods_.size() + progress_.start.size()) + 1000 * run_.epoch;
    const std::string base = index < 0 ? run_.name : run_.name + "-" + std::to_string(index);
    wish.identity = {"",           base + "-" + NameSuffix(run_.name, index, ordinal),
                     run_.pod_set, run_.name,
                     index,        run_.epoch};
    wish.identity.id = UniqueId(*input_.pods, wish.identity.name);
    wish.pod_template = ObjectOrEmpty(spec_, "template");
    wish.labels = {{"batch.kubernetes.io/job-name", run_.name}, {"job-name", run_.name}};
    if (index >= 0) {
      wish.host_name = base;
      const std::string text = std::to_string(index);
      wish.environment.emplace_back("JOB_COMPLETION_INDEX", text);
      wish.labels["batch.kubernetes.io/job-completion-index"] = text;
      wish.annotations["batch.kubernetes.io/job-completion-index"] = text;
    }
    if (run_.decorate) run_.decorate(&wish);
    progress_.start.push_back(std::move(wish));
  }

  // The pods of an index that have failed, also those whose failure is ignored.
  struct IndexTries {
    std::int32_t failed = 0;
    WallTime last;
  };

  const ControllerInput& input_;
  const JobRun& run_;
  const json::object& spec_;
  std::vector<const PodRecord*> pods_;
  // Live pods that were not asked to stop.
  std::vector<const PodRecord*> surplus_;
  bool indexed_ = false, has_completions_ = false;
  // Restarts in place are failures of the Job only with restartPolicy OnFailure.
  bool restarts_count_ = false;
  std::int32_t parallelism_ = 1, completions_ = 1;
  std::optional<std::int64_t> per_index_;
  std::int64_t backoff_limit_ = 6;
  std::set<std::int32_t> active_, done_, failed_indexes_;
  std::map<std::int32_t, std::int32_t> index_failures_;
  std::map<std::int32_t, IndexTries> index_tries_;
  std::vector<WallTime> failure_times_;
  std::int32_t active_count_ = 0, running_ = 0, successes_ = 0, failures_ = 0, restarts_ = 0,
               streak_ = 0;
  WallTime last_failure_, last_success_, policy_failure_;
  std::string policy_message_, first_message_;
  JobProgress progress_;
};

// The pod set's name by the label of the template, which is "main" for a workload of one pod set.
std::string PodSetOfJob(const json::object& spec) {
  const json::object& labels = ObjectOrEmpty(spec, {"template", "metadata", "labels"});
  const std::string name = Text(labels, kPodSetLabel);
  return name.empty() ? "main" : name;
}

ControllerOutput StepJobObject(const ControllerInput& input) {
  JobRun run;
  run.spec = &ObjectOrEmpty(*input.object, "spec");
  run.name = input.name;
  run.pod_set = PodSetOfJob(*run.spec);
  run.started = input.started;
  run.decorate = [&input](PodWish* wish) {
    if (!input.ports.empty()) AddRendezvous(input.ports[0], wish);
  };
  JobProgress progress = StepJob(input, run);
  ControllerOutput output;
  output.start = std::move(progress.start);
  output.stop = std::move(progress.stop);
  output.wake_at = progress.wake_at;
  output.message = progress.message;
  if (progress.end == JobEnd::kComplete) {
    output.phase = RemotePhase::kSucceeded;
  } else if (progress.end == JobEnd::kFailed) {
    output.phase = RemotePhase::kFailed;
    output.reason = ReasonOfJobEnd(progress.end_reason);
  } else {
    output.phase = progress.ready() ? RemotePhase::kRunning : RemotePhase::kPending;
    if (progress.reclaimable > 0) output.reclaimable = {{run.pod_set, progress.reclaimable}};
  }
  return output;
}

}  // namespace

std::int32_t PodsAtOnce(const json::object& job_spec) {
  const std::int64_t parallelism = Integer(job_spec, "parallelism", 1);
  return static_cast<std::int32_t>(
      std::min(parallelism, Integer(job_spec, "completions", parallelism)));
}

JobProgress StepJob(const ControllerInput& input, const JobRun& run) {
  return Tally(input, run).Step();
}

const Controller kJobController = {"batch/v1", "Job", StepJobObject,
                                   [](const json::object&) { return 1; },
                                   [](const json::object& object) {
  return std::vector<const json::object*>{&ObjectOrEmpty(object, {"spec", "template"})};
                                   }};

}  // namespace muster::local
