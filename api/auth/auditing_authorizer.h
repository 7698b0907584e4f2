// AuditingAuthorizer: another authorizer whose answers to Authorize are noted in the audit trail.
#pragma once

#include "api/auth/audit_sink.h"
#include "api/auth/authorizer.h"

namespace muster::auth {

/// Notes every refusal of Authorize and AuthorizePath, and every permitted read of Secrets, of logs
/// of others and of the audit trail; such a read is refused with kResourceExhausted if it cannot be
/// noted. Allows and AllowsPath, by which lists are filtered and reviews are answered, note
/// nothing.
class AuditingAuthorizer final : public Authorizer {
 public:
  /// Both must outlive it.
  AuditingAuthorizer(const Authorizer& inner, AuditSink& sink) : inner_(inner), sink_(sink) {}

  bool Allows(const Principal& who, Verb verb, const ResourceRef& what) const override;
  bool AllowsPath(const Principal& who, Verb verb, std::string_view path) const override;
  Status Authorize(const Principal& who, Verb verb, const ResourceRef& what) const override;
  Status AuthorizePath(const Principal& who, Verb verb, std::string_view path) const override;

 private:
  const Authorizer& inner_;
  AuditSink& sink_;
};

/// True for reads that have a row of their own: get, list and watch of Secrets, of `log` (of a job
/// of others: one's own are asked for as `own`) and of muster.io/audit.
bool IsAuditedRead(Verb verb, const ResourceRef& what);

}  // namespace muster::auth
