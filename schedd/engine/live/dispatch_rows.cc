#include "schedd/engine/live/dispatch_rows.h"

#include "schedd/engine/live/remote_objects.h"

namespace muster {

const DispatchRow* DispatchRows::Find(const DispatchKey& key) const {
  const auto found = rows_.find(key);
  return found == rows_.end() ? nullptr : &found->second;
}

bool DispatchRows::HasAny(const Uid& job) const {
  const auto row = rows_.lower_bound(DispatchKey{job, 0, ""});
  return row != rows_.end() && row->first.job_uid == job;
}

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
      // Only Intent permits to make anything, and only Releasing to let it run: a row in another
      // state was revoked since.
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
      policy.keep_logs =
          order.action == Action::kRemoveKeepLogs ||
          (order.action == Action::kRemoveLater && row != nullptr && dispatch::KeepsLogs(*row));
      orders.Remove(order.key, std::move(policy));
      break;
    }
    case Action::kConfirm:
      // A row that was revoked since is proven gone by its removal.
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
