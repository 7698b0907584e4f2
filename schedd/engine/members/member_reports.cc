// Reports become steps of attempts; lists are compared with the rows: an object without a row is an
// orphan, a row without an object is missing.
#include "schedd/engine/members/member_reports.h"

#include "schedd/engine/context/object_names.h"

namespace muster {
namespace {

// A member that has not said what it has by then is not waited for.
constexpr std::int64_t kListsWithinNs = 10 * kNanosPerSecond;

}  // namespace

void MemberReports::Reset(std::set<std::string> unlisted) {
  reports_.clear();
  held_ends_.Clear();
  unlisted_ = std::move(unlisted);
  lists_due_ = context_.clock.Now() + kListsWithinNs;
}

bool MemberReports::TakeSome() {
  bool taken = false;
  while (!reports_.empty() && commits_.Room() > 0) {
    const Command report = std::move(reports_.front());
    reports_.pop_front();
    std::visit(
        [this](const auto& one) {
      if constexpr (requires { Handle(one); }) Handle(one);
        },
        report);
    taken = true;
  }
  return taken;
}

bool MemberReports::AwaitsLists() {
  if (unlisted_.empty()) return false;
  std::erase_if(unlisted_, [this](const std::string& name) { return !members_.Answers(name); });
  if (context_.clock.Now() >= lists_due_) unlisted_.clear();
  return !unlisted_.empty();
}

void MemberReports::Handle(const ObservedCommand& command) {
  attempts_.Step(command.observation.key, dispatch::Observed{command.observation},
                 &command.observation);
  held_ends_.See(command.observation, rows_.all());
}

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
  // One that is there is told of by its member again.
  if (!command.outcome->there) attempts_.Step(command.key, dispatch::ProvenGone{note}, nullptr);
}

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

// One object of a list. `unsure`: attempts whose objects the member could not tell apart.
void MemberReports::TakeListed(const Observation& seen, const std::set<DispatchKey>& unsure,
                               std::set<DispatchKey>* accounted) {
  const DispatchRow* row = rows_.Find(seen.key);
  if (row == nullptr) return orphans_.Note(seen, nullptr);
  // A copy under our labels says nothing of our own object.
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
