// DispatchRows: the rows of attempts on members that are not Gone, and whose the object names there
// are. Each change of a row is written with the open transaction. On the engine thread only.
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

  /// Both must outlive it.
  DispatchRows(EngineContext& context, CommitPipeline& commits)
      : context_(context), commits_(commits) {}

  /// By job uid first.
  const Rows& all() const { return rows_; }
  /// Null if there is none. Valid until the next Put.
  const DispatchRow* Find(const DispatchKey& key) const;
  bool HasAny(const Uid& job) const;
  std::vector<DispatchKey> KeysOf(const Uid& job) const;
  /// The row that holds the object name of this one on its member; null: the name is free.
  const DispatchRow* HolderOfName(const DispatchRow& row) const;

  /// Takes the place of the row of its key, and is written. A row that is Gone leaves.
  void Put(const DispatchRow& row);
  /// As the store has them; nothing is written.
  void Reset(std::vector<DispatchRow> rows);

  /// Sends a durable order to the dispatcher, unless its row has moved on since it was decided.
  void SendOrder(const Order& order);

 private:
  EngineContext& context_;
  CommitPipeline& commits_;
  Rows rows_;
  /// By a hash of cluster, kind, namespace and name; looked up only.
  std::unordered_map<std::size_t, DispatchKey> names_;
};

}  // namespace muster
