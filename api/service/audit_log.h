// AuditLog: notes about requests that change nothing, on their way to the engine.
//
// A flood of refusals must grow neither memory nor the table: equal notes (caller, verb, object,
// code) within limits::kAuditSameMs are one row at once and, if there were more, one row that
// counts the others when that time is over; one caller has a bounded number of different ones (rule
// U34).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/auth/audit_sink.h"
#include "schedd/base/clock.h"
#include "schedd/base/mutex.h"
#include "schedd/world/command.h"

namespace muster::api {

/// Thread-safe.
class AuditLog final : public auth::AuditSink {
 public:
  /// Gives a command to the engine; false: it was not taken.
  using Post = std::function<bool(AuditCommand command)>;

  /// `clock` must outlive it, and `timers` must have ended before it does.
  AuditLog(Post post, const Clock& clock, TimerService& timers);

  void Refused(const auth::Principal& who, std::string_view verb, const auth::ResourceRef& what,
               const Error& error) override;
  void Failed(const auth::Principal& who, std::string_view verb, std::string_view object,
              const Error& error) override;
  Status Read(const auth::Principal& who, auth::Verb verb, const auth::ResourceRef& what) override;
  Status Acts(const auth::Principal& who, std::string_view verb, std::string_view object,
              std::string detail) override;
  /// Posts the rows that count what was not posted at once, and begins anew.
  void Flush();
  /// The last Flush, before the engine stops: nothing is posted any more.
  void Close();

 private:
  struct Noted {
    AuditRow row;
    std::int64_t more = 0;  // equal ones that no row counts yet
  };

  /// False: it was not noted.
  bool Note(AuditRow row, std::size_t per_caller, bool must);
  /// Counts a row that has no entry of its own.
  void CountOver(const AuditRow& row, const std::string& caller) MUSTER_REQUIRES(mutex_);
  void CountMore(Noted* noted) MUSTER_REQUIRES(mutex_);
  void FlushLocked() MUSTER_REQUIRES(mutex_);

  const Post post_;
  const Clock& clock_;
  TimerService& timers_;
  Mutex mutex_;
  Monotonic ends_ MUSTER_GUARDED_BY(mutex_){};  // of the time within which equal notes are one
  bool armed_ MUSTER_GUARDED_BY(mutex_) = false;
  bool closed_ MUSTER_GUARDED_BY(mutex_) = false;
  std::unordered_map<std::string, Noted> notes_ MUSTER_GUARDED_BY(mutex_);
  // How many of notes_ are theirs.
  std::unordered_map<std::string, std::size_t> callers_ MUSTER_GUARDED_BY(mutex_);
  // Of principals that were refused.
  std::unordered_set<std::uint64_t> requests_ MUSTER_GUARDED_BY(mutex_);
};

/// Notes those items of a batch that failed, one note for each code with its first sentence. Those
/// that the engine noted (Error::audited) are left out: its rows have the numbers of their jobs.
void NoteFailedItems(auth::AuditSink& audit, const auth::Principal& who, const std::string& ns,
                     const std::vector<Result<SubmittedJob>>& items);

/// How audit rows name an object: "job/team-a/x", "secret/team-a/y", "clusterqueue/z";
/// "RESOURCE.GROUP" for what is no kind of object. A subresource follows a colon.
std::string AuditObject(const auth::ResourceRef& what);

}  // namespace muster::api
