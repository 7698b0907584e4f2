// What the use cases of SchedulerService take and give: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/auth/authorizer.h"
#include "backends/member_probe.h"
#include "schedd/model/event.h"
#include "schedd/model/queues.h"
#include "schedd/text/json.h"
#include "schedd/world/command.h"

namespace muster::api {

/// What a request on a Kubernetes path asks for, beyond the object: PUT asks update, PATCH patch,
/// and a path that ends in /status asks for that subresource.
struct PathAsk {
  auth::Verb verb = auth::Verb::kGet;
  std::string_view subresource = {};
};

/// Which part of a log is asked for. The right is asked each time; a row of the audit trail says
/// that the log is read, and further pieces of what one request reads need none.
enum class LogAsk : std::uint8_t { kFirst, kMore };

/// One page of the events that a caller may see.
struct EventPage {
  std::vector<Event> events;
  std::int64_t through = 0;  // the number up to which the page is complete
  bool more = false;         // the store has events after `through`
};

struct SubmitRequest {
  /// The path's namespace; "" = `default`. A manifest that names another one is refused.
  std::string ns;
  json::value body;             // a manifest, or {"script": ...}
  std::string idempotency_key;  // "" = none
};

/// When and where a job would start that was not submitted (`sbatch --test-only`).
struct SubmissionEstimate {
  JobId id;                       // the number that the next job gets
  std::optional<WallTime> start;  // at the latest; unset: there is no bound
  std::string text;               // in words
  std::string queue, node_list;   // node_list "" if it is not known
  std::int64_t cpus = 0;          // of all nodes
};

/// What one document of `muster apply` did, or with dry_run would do.
struct DocumentOutcome {
  std::string kind, ns, name;
  ApplyOutcome outcome = ApplyOutcome::kUnchanged;
  JobPtr job;                              // set for job shapes
  std::vector<std::string> warnings = {};  // accepted, but probably mistakes
};

struct QuotaKey {
  std::string cluster_queue, flavor, resource;
};
struct QuotaView {
  QuotaKey key;
  Quota quota;
  std::int64_t used = 0, reserved = 0, borrowed = 0, available = 0;
  std::string etag;  // resourceVersion of its ClusterQueue
};
/// An unset amount stays as it is; `clear_*` removes a limit.
struct QuotaEdit {
  QuotaKey key;
  std::optional<std::int64_t> nominal, borrowing_limit, lending_limit;
  bool clear_borrowing_limit = false, clear_lending_limit = false;
  std::string etag;  // "" = any
  bool dry_run = false;
};
struct QuotaEditResult {
  QuotaView quota;
  EditEffect effect;  // filled for dry_run
};

/// A piece of the order of a ClusterQueue. Jobs that the caller may not see are left out; they keep
/// their positions.
struct QueueLine {
  struct Place {
    std::size_t position = 0;  // from 1
    JobPtr job;
  };
  std::vector<Place> places;
  std::size_t waiting = 0;  // jobs in the order, seen or not
};

/// A member cluster to be added.
struct NewMember {
  MemberDeclaration declaration;
  LabelMap labels;
  bool force = false;  // add it even if it cannot be reached or lacks permissions
};
struct AddedMember {
  std::string name;
  MemberReport report;
};
/// Configuration objects that placements brought to a removed member stay there, as KubeFleet's do.
struct RemovedMember {
  std::size_t objects = 0;
  std::size_t placements = 0;  // placements that brought them
};

/// What a verb on a job may say besides (JobCommand).
struct VerbOptions {
  bool by_admin = false;                   // hold: only an operator releases it
  bool hold = false, special_exit = false;  // requeue: it comes back held, and is marked
};

}  // namespace muster::api
