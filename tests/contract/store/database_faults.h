// What tests do to a database under a store's feet: end or hold its writer, take its lead, take
// away the standby that its commits wait for.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace muster::test {

/// Ends the writer's session of this database and waits until its server process is gone.
void EndWriter(const std::string& url);
/// Cancels what the writer's session does (an administrator's pg_cancel_backend).
void CancelWriter(const std::string& url);
/// Returns when the writer's session waits for a lock, or, for "SyncRep", for a synchronous standby;
/// throws after a minute.
void AwaitWriter(const std::string& url, const std::string& wait_event_or_type);

/// A table that nobody else can write to, until Release or the end.
class LockedTable {
 public:
  LockedTable(const std::string& url, const std::string& table);
  ~LockedTable();
  void Release();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// While it lives, every commit that asks for it waits for a synchronous standby that never comes.
/// Of the whole server.
class AbsentStandby {
 public:
  explicit AbsentStandby(std::string url);
  ~AbsentStandby();
  void Return();

 private:
  const std::string url_;
  bool absent_ = true;
};

/// Another daemon that takes the lead in the database while the writer's transaction holds the
/// leader's row: it is next in line from the constructor on. When it has the row, it gives the
/// numbers `taken` to jobs of its own, which look like job `like`.
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
