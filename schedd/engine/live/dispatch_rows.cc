// The rows of attempts, and the last check before an order leaves.
//
// Put writes each change with the open transaction. A row that is Gone leaves memory but is written
// too. `names_` finds the row that holds an object name on a member (rule D3): it is keyed by a
// hash, so each hit is compared with the real names (SameName); two rows with equal hashes and
// different names would share one entry, and then the database still refuses a second row of one
// name (rule D2).
//
// An order is decided together with a row and leaves only when that row is durable. In between the
// row may have moved on (the attempt was revoked, its object was deleted), so SendOrder looks at
// the row once more: only Intent permits a create, only Releasing permits a release.
#include "schedd/engine/live/dispatch_rows.h"

#include "schedd/engine/live/remote_objects.h"
#include "schedd/model/admission_lifecycle.h"

namespace muster {
namespace {

// Why an attempt is removed, by the record that the order was decided with.
StopCause CauseOf(const JobPtr& job) {
  if (job == nullptr) return StopCause::kCancelled;
  switch (job->reason) {
    case Reason::kDeadlineExceeded:
    case Reason::kMaximumExecutionTimeExceeded:
      return StopCause::kTimeLimit;
    case Reason::kPreempted:
      return StopCause::kPreempted;
    case Reason::kRequeued:
      return StopCause::kRequeued;
    case Reason::kNodeFailures:
    case Reason::kLost:
      return StopCause::kNodeFailure;
    case Reason::kDeactivated:
      return StateOf(*job).deactivation_cause == ReasonName(Reason::kMaximumExecutionTimeExceeded)
                 ? StopCause::kTimeLimit
                 : StopCause::kCancelled;
    default:
      return StopCause::kCancelled;
  }
}

}  // namespace

const DispatchRow* DispatchRows::Find(const DispatchKey& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

bool DispatchRows::HasAny(const Uid& job) const {
  const auto row = rows_.lower_bound(DispatchKey{job, 0, ""});
  return row != rows_.end() && row->first.job_uid == job;
}

// Keys are ordered by job uid, then attempt, then member, so the rows of a job stand together.
std::vector<DispatchKey> DispatchRows::KeysOf(const Uid& job) const {
  std::vector<DispatchKey> keys;
  for (auto row = rows_.lower_bound(DispatchKey{job, 0, ""});
       row != rows_.end() && row->first.job_uid == job; ++row) {
    keys.push_back(row->first);
  }
  return keys;
}

const DispatchRow* DispatchRows::HolderOfName(const DispatchRow& row) const {
  const auto holder = names_.find(NameHash(row));
  if (holder == names_.end()) return nullptr;
  const DispatchRow& other = rows_.at(holder->second);
  return SameName(other, row) ? &other : nullptr;
}

// The name is taken when the row is new and set free when it is Gone; a name never changes.
void DispatchRows::Put(const DispatchRow& row) {
  if (row.state == DispatchState::kGone) {
    rows_.erase(row.key);
    const auto name = names_.find(NameHash(row));
    if (name != names_.end() && name->second == row.key) names_.erase(name);
  } else if (rows_.insert_or_assign(row.key, row).second) {
    names_[NameHash(row)] = row.key;
  }
  commits_.tx().dispatches[row.key] = row;
}

void DispatchRows::Reset(std::vector<DispatchRow> rows) {
  rows_.clear();
  names_.clear();
  for (DispatchRow& row : rows) {
    if (row.state == DispatchState::kGone) continue;
    names_[NameHash(row)] = row.key;
    rows_[row.key] = std::move(row);
  }
}

// The dispatcher carries orders out in any order and may repeat them; each call on a member is
// idempotent (rule D8) or bound to a uid (rules D11, D15).
void DispatchRows::SendOrder(const Order& order) {
  using dispatch::Action;
  OrderSink& orders = context_.orders;
  const DispatchRow* row = Find(order.key);
  switch (order.action) {
    case Action::kNone:
      break;
    case Action::kEnsure:
    case Action::kEnsureLater:
    case Action::kRelease: {
      // Only Intent permits to create an object, and only Releasing to let it run. A row in another
      // state was revoked since the order was decided.
      const bool release = order.action == Action::kRelease;
      const DispatchState from = release ? DispatchState::kReleasing : DispatchState::kIntent;
      if (row != nullptr && order.job != nullptr && row->state == from &&
          !dispatch::IsDeletedThere(*row))
        orders.Ensure(order.key, order.job, release ? row->remote_uid : "");
      break;
    }
    case Action::kRemove:
    case Action::kRemoveLater:
    case Action::kRemoveKeepLogs: {
      RemovePolicy policy;
      policy.expected_uid = order.remote_uid;
      policy.object = order.object;
      policy.cause = CauseOf(order.job);
      policy.keep_logs =
          order.action == Action::kRemoveKeepLogs ||
          (order.action == Action::kRemoveLater && row != nullptr && dispatch::KeepsLogs(*row));
      orders.Remove(order.key, std::move(policy));
      break;
    }
    case Action::kConfirm:
      // A row that was revoked meanwhile is proven gone by its removal instead.
      if (row != nullptr && dispatch::IsMissed(row->state))
        orders.Confirm(order.key, order.object, order.remote_uid);
      break;
    case Action::kAcknowledge:
      orders.Acknowledge(order.key, order.object, order.remote_uid);
      break;
    case Action::kList:
      orders.List(order.key.cluster);
      break;
  }
}

}  // namespace muster
