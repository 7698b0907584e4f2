// AuditRow: one line of the audit trail: who asked for what, how it was known who asked, and what
// came of it. audit_chain.h chains the rows by hashes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedd/base/time.h"

namespace muster {

/// The results of a row. "allowed": what was asked for may be done, and is done in the transaction
/// of this row; but of a submission, only the database finds out which names are taken, and a row
/// "failed" with the same request id follows for the jobs that were not made. "refused": the caller
/// is not known or may not do it. "failed": the caller may, but the request was wrong or came at a
/// wrong time.
inline constexpr char kAuditAllowed[] = "allowed";
inline constexpr char kAuditRefused[] = "refused";
inline constexpr char kAuditFailed[] = "failed";

/// A plain value. Texts have at most limits::kAuditTextBytes bytes (BoundAuditRow).
struct AuditRow {
  WallTime time = {};
  std::string user = {};
  /// How the name was established (auth::Principal::method); "" if it was not.
  std::string method = {};
  /// "create", "delete", "cancel", "get", ...
  std::string verb = {};
  /// "KIND/NAMESPACE/NAME", "KIND/NAME", or the path of a request that named no object.
  std::string object = {};
  std::string detail = {};
  std::vector<std::string> groups = {};
  /// The user that acted as `user`; "" if nobody did.
  std::string impersonator = {};
  std::string source = {}, request_id = {};
  std::string result = kAuditAllowed;
  /// The name of the error's code (CodeName); "OK" if there was none.
  std::string code = "OK";
  /// The resource versions of the object before and after; 0: none, or not one object.
  std::int64_t old_version = 0, new_version = 0;
  /// How many equal requests the row stands for.
  std::int64_t count = 1;

  // --- given by the store

  /// 1, 2, 3, ... without gaps in what one database has written since the chain began.
  std::int64_t id = 0;
  /// 64 hexadecimal digits: the hash of the row before, and of this row. Both are "" in rows that
  /// are older than the chain.
  std::string prev = {}, hash = {};
};

/// The last row that is not there any more: the rows after it begin with its hash. The first anchor
/// stands before the first chained row; each removal by retention makes another.
struct AuditAnchor {
  std::int64_t last_id = 0;
  std::string hash = {};
};

}  // namespace muster
