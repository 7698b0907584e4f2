// Faults of a database while a store uses it: end or block the writer's session, take its lead,
// remove the standby that its commits wait for.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace muster::test {

/// Ends the writer's session of this database and waits until its server process is gone.
void EndWriter(const std::string& url);
/// Cancels the running statement of the writer's session (pg_cancel_backend).
void CancelWriter(const std::string& url);
/// Returns when the writer's session waits for the given event or type of event ("Lock";
/// "SyncRep" for a synchronous standby); throws after a minute.
void AwaitWriter(const std::string& url, const std::string& wait_event_or_type);

/// Locks a table against writers until Release or destruction.
class LockedTable {
 public:
  LockedTable(const std::string& url, const std::string& table);
  ~LockedTable();
  void Release();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// While it lives, every commit with synchronous_commit = on waits for a synchronous standby that
/// does not exist. It affects the whole server. Made when a commit does wait; throws otherwise.
class AbsentStandby {
 public:
  explicit AbsentStandby(std::string url);
  ~AbsentStandby();
  void Return();

 private:
  const std::string url_;
  bool absent_ = true;
};

/// Another daemon that takes the lead while the writer's transaction holds the leader row: from the
/// constructor on it waits for that row. When it has the row, it inserts jobs with the ids `taken`,
/// copies of job `like` with uids of their own.
class Overtaker {
 public:
  Overtaker(const std::string& url, std::int64_t like, std::vector<std::int64_t> taken);
  ~Overtaker();
  /// Returns when it has committed.
  void Await();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::test
