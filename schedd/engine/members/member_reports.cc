// Reports of members about attempts. Each report becomes one step of the state machine of its row
// (Attempts::Step), after the steps of batch scripts that it tells of have become rows (rule B53).
// Reports wait in `reports_`, in the order of their arrival, and TakeSome takes as many as the open
// transaction has room for, because each may write rows. The order matters: an answer to a removal
// means something else before an observation than after it.
//
// A complete list is compared with the rows (rule D18): each object in it becomes an observation of
// its row; an object without a row, or one that is not its row's, goes to Orphans; a live row
// without an object is missing, which makes the state machine ask for the object by name and uid
// before anything is lost.
#include "schedd/engine/members/member_reports.h"

#include <algorithm>

#include "schedd/engine/context/object_names.h"

namespace muster {
namespace {

// After a recovery decisions wait this long for a member's list and no longer.
constexpr std::int64_t kListsWithinNs = 10 * kNanosPerSecond;

}  // namespace

void MemberReports::Reset(std::set<std::string> unlisted) {
  reports_.clear();
  held_ends_.Clear();
  unlisted_ = std::move(unlisted);
  lists_due_ = context_.clock.Now() + kListsWithinNs;
}

// Overloads below; each takes one kind of report. The steps that a report tells of come first: the
// same report may end the attempt, which closes those that are open.
bool MemberReports::TakeSome() {
  bool taken = false;
  while (!reports_.empty() && commits_.Room() > 0) {
    const std::size_t step_room = commits_.StepRoom();
    if (!TakeSteps(&reports_.front())) return taken || step_room > 0;
    const Command report = std::move(reports_.front());
    reports_.pop_front();
    std::visit(
        [this]<class T>(const T& one) {
      if constexpr (kIsReport<T>) Handle(one);
        },
        report);
    taken = true;
  }
  return taken;
}

// False if there are more than the open transaction has room for: then the report waits with the
// rest of them for the next one.
bool MemberReports::TakeSteps(Command* report) {
  if (auto* const observed = std::get_if<ObservedCommand>(report))
    return attempts_.TakeSteps(&observed->observation);
  if (auto* const listed = std::get_if<ListedCommand>(report)) {
    return std::all_of(listed->observations.begin(), listed->observations.end(),
                       [this](Observation& seen) { return attempts_.TakeSteps(&seen); });
  }
  return true;
}

// Members that do not answer are not waited for, and after kListsWithinNs none is.
bool MemberReports::AwaitsLists() {
  if (unlisted_.empty()) return false;
  std::erase_if(unlisted_, [this](const std::string& name) { return !members_.Answers(name); });
  if (context_.clock.Now() >= lists_due_) unlisted_.clear();
  return !unlisted_.empty();
}

// The row takes the observation first: HeldEnds looks at the state after it.
void MemberReports::Handle(const ObservedCommand& command) {
  attempts_.Step(command.observation.key, dispatch::Observed{command.observation},
                 &command.observation);
  held_ends_.See(command.observation, rows_.all());
}

// A failed Ensure may also be that of a resize, for which StandInQueue decides on another try.
void MemberReports::Handle(const EnsuredCommand& command) {
  if (command.outcome.ok()) {
    attempts_.Step(
        command.key,
        dispatch::EnsureSucceeded{command.outcome->remote_uid, command.outcome->incarnation,
                                  command.outcome->suspended},
        nullptr);
  } else {
    attempts_.Step(
        command.key,
        dispatch::EnsureFailed{command.outcome.error().code, command.outcome.error().detail},
        nullptr);
    stand_ins_.NoteResized(command);
  }
}

void MemberReports::Handle(const RemovedCommand& command) {
  if (command.outcome.ok()) {
    attempts_.Step(command.key, dispatch::RemoveSucceeded{}, nullptr);
  } else {
    attempts_.Step(
        command.key,
        dispatch::RemoveFailed{command.outcome.error().code, command.outcome.error().detail},
        nullptr);
  }
}

// The answer counts only for the object that was asked for. An object that is there needs nothing
// unless it is still to be released: its member reports it again. `note` tells what the member had
// to mend or remove.
void MemberReports::Handle(const ConfirmedCommand& command) {
  const DispatchRow* row = rows_.Find(command.key);
  if (row == nullptr || row->remote_uid != command.uid) return;
  if (!command.outcome.ok()) {
    attempts_.Step(command.key, dispatch::ConfirmFailed{command.outcome.error().detail}, nullptr);
    return;
  }
  const std::string note = command.outcome->note;
  const JobPtr found = jobs_.Find(row->job);
  const std::string job = found == nullptr ? "" : ObjectName(*found);
  if (!note.empty() && !job.empty()) {
    commits_.AddEvent(command.outcome->there ? "MemberObjectMended" : "MemberLeftoversRemoved",
                      row->job, job, "", note);
  }
  if (!command.outcome->there) {
    attempts_.Step(command.key, dispatch::ProvenGone{note}, nullptr);
  } else if (row->state == DispatchState::kReleasing) {
    // The member did not find it when it was to be released, and has it: it is released once more.
    attempts_.Step(command.key,
                   dispatch::EnsureFailed{Code::kUnavailable, "its object was not found at first"},
                   nullptr);
  }
}

// `accounted`: the attempts that the list has, or of which it cannot say that they are missing. A
// row in Lost is confirmed too, because its name is free only when its object is proven gone.
void MemberReports::Handle(const ListedCommand& command) {
  unlisted_.erase(command.cluster);
  const std::set<DispatchKey> unsure(command.unsure.begin(), command.unsure.end());
  std::set<DispatchKey> accounted = unsure;
  std::set<std::string> uids;
  for (const Observation& seen : command.observations) {
    uids.insert(seen.remote_uid);
    TakeListed(seen, unsure, &accounted);
  }
  held_ends_.TakeList(command.cluster, accounted);
  orphans_.ForgetAbsent(command.cluster, uids);
  std::vector<DispatchKey> missing;
  for (const auto& [key, row] : rows_.all()) {
    const bool may_be_missing = IsLive(row.state) || row.state == DispatchState::kLost;
    if (key.cluster == command.cluster && may_be_missing && !accounted.contains(key))
      missing.push_back(key);
  }
  for (const DispatchKey& key : missing) attempts_.Step(key, dispatch::MissingFromList{}, nullptr);
}

// One object of a list. An ended attempt that runs again is fenced before the step, which would
// only acknowledge it. `unsure`: attempts whose Ensure was under way while the list was taken, so
// that another object under their labels may be theirs.
void MemberReports::TakeListed(const Observation& seen, const std::set<DispatchKey>& unsure,
                               std::set<DispatchKey>* accounted) {
  const DispatchRow* row = rows_.Find(seen.key);
  if (row == nullptr) return orphans_.Note(seen, nullptr);
  // A copy that somebody made under our labels does not account for our own object (rule D13).
  if (dispatch::IsOurs(*row, seen)) {
    accounted->insert(seen.key);
    orphans_.NoteOwn(seen);
  }
  if (row->state == DispatchState::kTerminal) orphans_.FenceResurrected(*row, seen);
  const dispatch::Effect effect = attempts_.Step(seen.key, dispatch::Observed{seen}, &seen);
  held_ends_.See(seen, rows_.all());
  row = rows_.Find(seen.key);
  if (effect == dispatch::Effect::kForeign && row != nullptr && !unsure.contains(seen.key))
    orphans_.Note(seen, row);
}

}  // namespace muster
