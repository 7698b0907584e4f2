// DispatchRows: the rows of attempts on members, but for those that are Gone, and which row holds
// which object name on which member. Each change of a row is written with the open transaction. On
// the engine thread only.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "schedd/engine/commit/commit_pipeline.h"
#include "schedd/model/dispatch.h"

namespace muster {

class DispatchRows {
 public:
  using Rows = std::map<DispatchKey, DispatchRow>;

  /// `context` and `commits` must outlive this.
  DispatchRows(EngineContext& context, CommitPipeline& commits)
      : context_(context), commits_(commits) {}

  /// In key order: job uid, attempt, member.
  const Rows& all() const { return rows_; }
  /// Null if there is none. Valid until the next Put.
  const DispatchRow* Find(const DispatchKey& key) const;
  /// True if an attempt of the job may still have something on a member.
  bool HasAny(const Uid& job) const;
  std::vector<DispatchKey> KeysOf(const Uid& job) const;
  /// The row that holds the object name of `row` on its member (perhaps of another job); null if
  /// the name is free.
  const DispatchRow* HolderOfName(const DispatchRow& row) const;

  /// Replaces the row of its key, and writes it. A row that is Gone leaves memory.
  void Put(const DispatchRow& row);
  /// Takes the rows as the store has them; nothing is written.
  void Reset(std::vector<DispatchRow> rows);

  /// Sends a durable order to the dispatcher, unless its row has moved on since it was decided.
  void SendOrder(const Order& order);

 private:
  EngineContext& context_;
  CommitPipeline& commits_;
  Rows rows_;
  /// By NameHash of cluster, kind, namespace and name; never iterated.
  std::unordered_map<std::size_t, DispatchKey> names_;
};

}  // namespace muster
