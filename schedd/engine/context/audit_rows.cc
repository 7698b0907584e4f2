// All rows of the engine begin here, so that no field of the actor is forgotten in one of them.
#include "schedd/engine/context/audit_rows.h"

#include <utility>

namespace muster {

AuditRow AuditRowOf(const Actor& actor, WallTime time, const char* verb, std::string object,
                    std::string detail) {
  AuditRow row;
  row.time = time;
  row.user = actor.user;
  row.method = actor.user.empty() && actor.method.empty() ? "internal" : actor.method;
  row.verb = verb;
  row.object = std::move(object);
  row.detail = std::move(detail);
  row.groups = actor.groups;
  row.impersonator = actor.impersonator;
  row.source = actor.source;
  row.request_id = actor.request_id;
  return row;
}

}  // namespace muster
