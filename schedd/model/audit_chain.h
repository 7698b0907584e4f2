// The chain of the audit trail: each row's hash covers the row and the hash of the row before, so
// that a row cannot be changed, removed or put in between without changing every hash after it
// (rule U31). Pure.
#pragma once

#include <string>

#include "schedd/model/audit.h"

namespace muster {

/// The hash that stands before the first row of a chain: 64 zeros.
std::string AuditGenesis();

/// All fields of a row but `prev` and `hash` as one text. Each field is preceded by its length, so
/// two different rows never have the same text.
std::string CanonicalAuditRow(const AuditRow& row);

/// SHA-256 over `prev` (64 hexadecimal digits) and the canonical text: 64 hexadecimal digits.
std::string AuditHash(const std::string& prev, const AuditRow& row);

/// What the chain gives a row: AuditRow::id, prev and hash.
struct AuditLink {
  std::int64_t id = 0;
  std::string prev, hash;
};

/// Where a chain ends: the number and the hash of its last row.
struct AuditHead {
  std::int64_t id = 0;
  std::string hash = AuditGenesis();

  /// The place of `row` behind the head, which moves on to it. The row's own id, prev and hash are
  /// not looked at.
  AuditLink Next(const AuditRow& row);
  /// The same, written into the row.
  void Link(AuditRow* row);
};

/// Follows the rows of a chain in order.
class AuditVerifier {
 public:
  explicit AuditVerifier(const AuditAnchor& anchor) : head_{anchor.last_id, anchor.hash} {}
  /// "" if `row` is older than the chain or follows the row before with a hash that is its own;
  /// otherwise a sentence that says what is wrong with it.
  std::string Check(const AuditRow& row);
  const AuditHead& head() const { return head_; }
  std::int64_t checked() const { return checked_; }

 private:
  AuditHead head_;
  std::int64_t checked_ = 0;
};

/// Cuts the texts of a row to limits::kAuditTextBytes and its groups to limits::kAuditGroups (the
/// last one then says how many more there are), and replaces what is not UTF-8 and control
/// characters by "?": names may come from certificates and headers, and a row must be writable.
void BoundAuditRow(AuditRow* row);

}  // namespace muster
