// Attempt: the steps of its batch script. The agent beside the script appends to steps/steps.jsonl;
// this reads on when the directory changes, at most kStepReadEveryMs apart, and reports what is
// new. The watch is taken away until the next read is due, so that a job that writes all the time
// costs no more.
//
// Nothing of it is stored here: after a restart the file is read from its beginning, and all steps
// are reported again.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/local/attempt.h"
#include "schedd/base/limits_slurm_world.h"
#include "schedd/model/step_end.h"
#include "schedd/telemetry/log.h"

namespace muster::local {

// Makes ATTEMPT/steps, which belongs to the user of the script. False (trouble_) if it cannot be
// made. What is in it is the user's.
bool Attempt::MakeStepsDirectory(const PodUser& owner) {
  const std::string path = dir_ + "/steps";
  const uid_t uid = owner.foreign() ? static_cast<uid_t>(owner.uid) : ::geteuid();
  const gid_t gid = owner.gid < 0 ? static_cast<gid_t>(-1) : static_cast<gid_t>(owner.gid);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    trouble_ = "cannot make the directory of the job's steps: " + std::string(std::strerror(errno));
    return false;
  }
  struct stat info {};
  // The attempt's directory is the daemon's, so nobody else can have put anything in this place.
  const bool known = ::lstat(path.c_str(), &info) == 0 && info.st_uid == uid;
  if (!known && ::lchown(path.c_str(), uid, gid) != 0) {
    trouble_ = "cannot give the job's user the directory of its steps: " +
               std::string(std::strerror(errno));
    return false;
  }
  WatchSteps();
  return true;
}

// Sets the watch, if the directory is there. Without one, steps are read when a pod changes.
void Attempt::WatchSteps() {
  if (!batch_ || steps_watch_ >= 0 || state_.outcome.ended.set()) return;
  const std::string path = dir_ + "/steps";
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return;
  if (!step_file_) step_file_.emplace(path, info.st_uid);
  const std::weak_ptr<Attempt> self = weak_from_this();
  const Result<int> watch = world_.loop->WatchWrites(path, [self] {
    const std::shared_ptr<Attempt> attempt = self.lock();
    if (!attempt) return;
    attempt->world_.loop->Unwatch(std::exchange(attempt->steps_watch_, -1));
    attempt->steps_changed_ = true;
    attempt->Advance();
  });
  if (watch.ok()) steps_watch_ = *watch;
}

// Reads on if the file has changed and enough time has passed, else at that time.
void Attempt::ReadSteps() {
  const bool watched = steps_watch_ >= 0;
  if (!batch_ || (watched && !steps_changed_) || state_.outcome.ended.set()) return;
  const WallTime now = world_.options.clock->WallNow();
  // A clock that was set back must not stop the reading.
  const bool early = read_steps_at_.set() && now < read_steps_at_ &&
                     read_steps_at_.us - now.us <= MillisToMicros(limits::kStepReadEveryMs);
  if (early) return WakeAt(read_steps_at_);
  read_steps_at_ = now.Plus(MillisToMicros(limits::kStepReadEveryMs));
  steps_changed_ = false;
  // First the watch, so that nothing is written in between unseen.
  WatchSteps();
  if (!step_file_) return;
  bool more = false;
  ReportSteps(step_file_->ReadOn(&more));
  if (!more) return;
  steps_changed_ = true;
  WakeAt(read_steps_at_);
}

// Reports these steps, each once with its last state, in parts.
void Attempt::ReportSteps(std::vector<StepRecord> steps) {
  if (steps.empty()) return;
  if (step_file_ && step_file_->skipped() > 0 && !std::exchange(steps_complained_, true)) {
    Log(LogLevel::kWarning, "local", "step_lines_skipped",
        {{"job", state_.job.value}, {"cluster", state_.key.cluster}});
  }
  std::map<std::int32_t, StepRecord> latest;
  for (StepRecord& step : steps) {
    step.job = state_.job;
    step.attempt = state_.key.attempt;
    if (step.state == StepState::kRunning) {
      open_steps_[step.step] = step;
    } else {
      open_steps_.erase(step.step);
    }
    latest[step.step] = std::move(step);
  }
  if (state_.job.value == 0) return;
  Observation part;
  for (auto& [number, step] : latest) {
    part.steps.push_back(std::move(step));
    if (part.steps.size() < limits::kStepsPerReport && number != latest.rbegin()->first) continue;
    Observation now = Observe();
    now.steps = std::exchange(part.steps, {});
    world_.report(now);
  }
}

// The attempt ends: reads what is left, and ends what has not. Called before the end is reported.
void Attempt::EndSteps(WallTime ended) {
  if (!batch_) return;
  world_.loop->Unwatch(std::exchange(steps_watch_, -1));
  bool more = step_file_.has_value();
  while (more) ReportSteps(step_file_->ReadOn(&more));
  std::vector<StepRecord> unfinished;
  std::map<std::int32_t, StepRecord> open = std::exchange(open_steps_, {});
  for (auto& [number, step] : open) {
    step.state = kUnendedStepState;
    step.exit_signal = kUnendedStepSignal;
    // The agent has stamped the step's begin by the host's clock.
    step.end_time = ended.Plus(CalendarAheadUs(*world_.options.clock));
    unfinished.push_back(std::move(step));
  }
  ReportSteps(std::move(unfinished));
}

void Attempt::ReportStepsAgain() {
  if (!batch_) return;
  WatchSteps();
  struct stat info {};
  const std::string path = dir_ + "/steps";
  if (!step_file_ && ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    step_file_.emplace(path, info.st_uid);
  if (!step_file_) return;
  step_file_->Rewind();
  open_steps_.clear();
  if (!std::exchange(reporting_again_, true)) ReportStepsOn();
}

// One piece of the file at a time, because all attempts share the thread and the file may be large.
void Attempt::ReportStepsOn() {
  bool more = false;
  ReportSteps(step_file_->ReadOn(&more));
  const std::weak_ptr<Attempt> self = weak_from_this();
  if (more && world_.loop->PostAlways([self] {
        if (const std::shared_ptr<Attempt> attempt = self.lock()) attempt->ReportStepsOn();
      }))
    return;
  reporting_again_ = false;
  if (state_.outcome.ended.set()) EndSteps(state_.outcome.ended);
}

}  // namespace muster::local
