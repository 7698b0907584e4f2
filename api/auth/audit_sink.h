// AuditSink: where requests that change nothing are noted for the audit trail: refusals, failures
// of requests that would have changed something, and reads of what is confidential. Changes
// themselves are noted by the engine, in their transaction.
//
// Overload (kResourceExhausted) and a daemon that is not ready (kUnavailable) are no refusals of
// the caller: they are counted by metrics and are not noted (rule U34).
#pragma once

#include <string>
#include <string_view>

#include "api/auth/authorizer.h"
#include "api/auth/principal.h"
#include "api/net/peer.h"
#include "schedd/base/result.h"

namespace muster::auth {

/// Thread-safe. Nothing here waits for the database.
class AuditSink {
 public:
  virtual ~AuditSink() = default;
  /// The authorizer said no: `error` is kPermissionDenied.
  virtual void Refused(const Principal& who, std::string_view verb, const ResourceRef& what,
                       const Error& error) = 0;
  /// A request ended with `error`: its caller is not known (then `who` is UnknownCaller), or it
  /// would have changed `object` ("job/team-a/x", or the path). A second note about the same
  /// request_id is left out, so that whoever sees the end of a request need not know whether the
  /// authorizer was asked.
  virtual void Failed(const Principal& who, std::string_view verb, std::string_view object,
                      const Error& error) = 0;
  /// Before `what` is read. kResourceExhausted: it cannot be noted now, and must not be read.
  virtual Status Read(const Principal& who, Verb verb, const ResourceRef& what) = 0;
  /// Before something is done to `object` that changes nothing of the world: a signal or a message
  /// to a job. kResourceExhausted: it cannot be noted now, and must not be done.
  virtual Status Acts(const Principal& who, std::string_view verb, std::string_view object,
                      std::string detail) {
    (void)who, (void)verb, (void)object, (void)detail;
    return Done{};
  }
};

/// Notes nothing: for servers without an audit trail, which are tests.
class NoAudit final : public AuditSink {
 public:
  void Refused(const Principal&, std::string_view, const ResourceRef&, const Error&) override {}
  void Failed(const Principal&, std::string_view, std::string_view, const Error&) override {}
  Status Read(const Principal&, Verb, const ResourceRef&) override { return Done{}; }
};

/// One for the whole process.
inline AuditSink& NoAuditSink() {
  static NoAudit none;
  return none;
}

/// A caller of whom only the connection is known; `peer` may be null.
Principal UnknownCaller(const net::Peer* peer);

}  // namespace muster::auth
