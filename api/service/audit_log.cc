// notes_ holds what was noted since the last flush, by caller, verb, object, code and impersonator.
// The first of equal notes is posted at once, so that it is in the trail before the answer leaves;
// equal ones after it are only counted, and Flush posts their numbers. A caller without a name is
// told by the address it came from, without the port.
#include "api/service/audit_log.h"

#include <algorithm>
#include <map>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/model/audit_chain.h"
#include "schedd/model/shape_kind.h"
#include "schedd/shapes/config/object_kinds.h"

namespace muster::api {
namespace {

// A caller that read too much may go on in the next minute.
constexpr std::int64_t kReadAgainMs = 5'000;

std::string HostOf(const std::string& source) {
  if (source.starts_with("unix")) return source;
  return source.substr(0, source.rfind(':'));
}

std::string CallerKey(const AuditRow& row) {
  return row.user.empty() ? "?" + HostOf(row.source) : "u" + row.user;
}

// Callers that nobody knows may not use up the room of those who are known.
std::size_t RoomFor(const AuditRow& row) {
  return row.user.empty() ? limits::kAuditDifferent / 4 : std::size_t{limits::kAuditDifferent};
}

AuditRow NewRow(const auth::Principal& who, WallTime now, std::string_view verb, std::string object,
                const Error* error) {
  AuditRow row;
  row.time = now;
  row.user = who.user;
  row.method = who.method;
  row.verb = verb;
  row.object = std::move(object);
  row.groups = who.groups;
  row.impersonator = who.impersonator;
  row.source = who.source;
  row.request_id = who.request_id;
  if (error == nullptr) return row;
  const bool refused =
      error->code == Code::kUnauthenticated || error->code == Code::kPermissionDenied;
  row.result = refused ? kAuditRefused : kAuditFailed;
  row.code = CodeName(error->code);
  row.detail = error->detail;
  return row;
}

bool IsOverload(const Error& error) {
  return error.code == Code::kResourceExhausted || error.code == Code::kUnavailable;
}

}  // namespace

std::string AuditObject(const auth::ResourceRef& what) {
  std::string object;
  for (const ShapeInfo& shape : kShapeInfos) {
    if (shape.plural == what.resource && shape.group() == what.group && !what.resource.empty())
      object = "job";
  }
  if (what.group == "muster.io" && what.resource == "batchscripts") object = "job";
  for (const shapes::KindInfo* kind : shapes::Kinds()) {
    if (kind->plural != what.resource || kind->group != what.group) continue;
    object = kind->name;
    std::transform(object.begin(), object.end(), object.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  }
  if (object.empty()) {
    object = what.resource;
    if (!what.group.empty()) object.append(".").append(what.group);
  }
  if (!what.ns.empty()) object.append("/").append(what.ns);
  if (!what.name.empty()) object.append("/").append(what.name);
  if (!what.subresource.empty()) object.append(":").append(what.subresource);
  return object;
}

void NoteFailedItems(auth::AuditSink& audit, const auth::Principal& who, const std::string& ns,
                     const std::vector<Result<SubmittedJob>>& items) {
  std::map<Code, std::pair<std::size_t, Error>> failures;
  for (const Result<SubmittedJob>& item : items) {
    if (item.ok() || item.error().audited) continue;
    ++failures.try_emplace(item.error().code, 0, item.error()).first->second.first;
  }
  for (auto& [code, failure] : failures) {
    auto& [count, error] = failure;
    error.detail = std::to_string(count) + " of " + std::to_string(items.size()) +
                   " jobs were not taken; the first: " + error.detail;
    audit.Failed(who, "create", "job/" + (ns.empty() ? "default" : ns), error);
  }
}

AuditLog::AuditLog(Post post, const Clock& clock, TimerService& timers)
    : post_(std::move(post)), clock_(clock), timers_(timers) {}

void AuditLog::Refused(const auth::Principal& who, std::string_view verb,
                       const auth::ResourceRef& what, const Error& error) {
  if (IsOverload(error)) return;
  Note(NewRow(who, clock_.WallNow(), verb, AuditObject(what), &error),
       limits::kAuditRefusalsPerCaller, false);
  if (who.request == 0) return;
  // After the note, which may begin a new minute and forget the requests of the one before.
  MutexLock lock(mutex_);
  if (requests_.size() < limits::kAuditDifferent) requests_.insert(who.request);
}

void AuditLog::Failed(const auth::Principal& who, std::string_view verb, std::string_view object,
                      const Error& error) {
  if (IsOverload(error) || error.audited) return;
  if (who.request != 0) {
    MutexLock lock(mutex_);
    if (requests_.erase(who.request) > 0) return;
  }
  Note(NewRow(who, clock_.WallNow(), verb, std::string(object), &error),
       limits::kAuditRefusalsPerCaller, false);
}

Status AuditLog::Read(const auth::Principal& who, auth::Verb verb, const auth::ResourceRef& what) {
  if (Note(NewRow(who, clock_.WallNow(), auth::VerbName(verb), AuditObject(what), nullptr),
           limits::kAuditReadsPerCaller, true))
    return Done{};
  return Overloaded("the audit trail cannot note another read now; try again later", kReadAgainMs);
}

// Each has a row of its own: unlike reads, two equal ones are not the same as one.
Status AuditLog::Acts(const auth::Principal& who, std::string_view verb, std::string_view object,
                      std::string detail) {
  AuditRow row = NewRow(who, clock_.WallNow(), verb, std::string(object), nullptr);
  row.detail = std::move(detail);
  BoundAuditRow(&row);
  AuditCommand command;
  command.rows.push_back(std::move(row));
  MutexLock lock(mutex_);
  if (!closed_ && post_(std::move(command))) return Done{};
  return Overloaded("the audit trail cannot note anything now; try again later", kReadAgainMs);
}

// `must`: a note that is only counted without its object would not do.
bool AuditLog::Note(AuditRow row, std::size_t per_caller, bool must) {
  BoundAuditRow(&row);
  MutexLock lock(mutex_);
  const Monotonic now = clock_.Now();
  if (now >= ends_) {
    FlushLocked();
    ends_ = now + MillisToNanos(limits::kAuditSameMs);
  }
  const std::string caller = CallerKey(row);
  std::string key;
  for (const std::string* part : std::initializer_list<const std::string*>{
           &caller, &row.impersonator, &row.verb, &row.object, &row.code})
    key.append(std::to_string(part->size())).append(":").append(*part);
  if (const auto known = notes_.find(key); known != notes_.end()) {
    CountMore(&known->second);
    return true;
  }
  const auto mine = callers_.find(caller);
  const bool full =
      notes_.size() >= RoomFor(row) || (mine != callers_.end() && mine->second >= per_caller);
  if (full) {
    if (!must) CountOver(row, caller);
    return !must;
  }
  AuditCommand command;
  command.rows.push_back(row);
  const bool posted = !closed_ && post_(std::move(command));
  if (!posted && must) return false;
  ++callers_[caller];
  Noted& noted = notes_[std::move(key)];
  noted.row = std::move(row);
  if (!posted) CountMore(&noted);
  return true;
}

// One entry for the caller, or, if there are too many callers, one for all of them.
void AuditLog::CountOver(const AuditRow& row, const std::string& caller) {
  const bool room = notes_.size() < RoomFor(row);
  auto [over, first] = notes_.try_emplace(room ? "over:" + caller : "over");
  if (first) {
    AuditRow& all = over->second.row;
    if (room) {
      all = row;
      all.detail = "other refusals and failures of this caller, more than have rows of their own";
    } else {
      all.detail = "refusals and failures of further callers, more than have rows of their own";
    }
    all.verb = all.object = "*";
    all.result = kAuditRefused;
    all.code = CodeName(Code::kPermissionDenied);
  }
  CountMore(&over->second);
}

void AuditLog::CountMore(Noted* noted) {
  ++noted->more;
  if (armed_ || closed_) return;
  armed_ = true;
  timers_.At(ends_, [this] { Flush(); });
}

void AuditLog::Flush() {
  MutexLock lock(mutex_);
  armed_ = false;
  FlushLocked();
}

void AuditLog::Close() {
  MutexLock lock(mutex_);
  FlushLocked();
  closed_ = true;
}

// If the engine does not take the rows, everything is kept and goes on counting; memory stays
// bounded by the number of notes.
void AuditLog::FlushLocked() {
  AuditCommand command;
  for (const auto& [key, noted] : notes_) {
    if (noted.more == 0) continue;
    AuditRow& row = command.rows.emplace_back(noted.row);
    row.time = clock_.WallNow();
    row.request_id.clear();
    row.count = noted.more;
  }
  if (!command.rows.empty() && (closed_ || !post_(std::move(command)))) {
    if (!armed_ && !closed_) {
      armed_ = true;
      timers_.At(clock_.Now() + MillisToNanos(limits::kAuditSameMs), [this] { Flush(); });
    }
    return;
  }
  notes_.clear();
  callers_.clear();
  requests_.clear();
}

}  // namespace muster::api
