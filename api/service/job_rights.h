// What a caller may do to jobs, and which jobs of a list it sees (rules U20, U21, U23).
//
// Pure over the authorizer; thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/auth/authorizer.h"
#include "api/service/list_jobs.h"
#include "schedd/model/config.h"
#include "schedd/model/job_visibility.h"
#include "schedd/text/json.h"

namespace muster::api {

/// Done if `who` may do this to the job: the verb on the job's resource, or on its subresource; or,
/// for a job that `who` submitted, the verb on RESOURCE/own (also instead of RESOURCE/log). Else
/// kPermissionDenied with the sentence about the resource.
Status MayJob(const auth::Authorizer& authorizer, const auth::Principal& who, auth::Verb verb,
              const JobRecord& job, std::string_view subresource = "");

/// The same as a question of its own: a "no" is not noted in the audit trail.
bool JobAllows(const auth::Authorizer& authorizer, const auth::Principal& who, auth::Verb verb,
               const JobRecord& job, std::string_view subresource = "");

/// True if `who` may see the job at all: get. A "no" is not noted.
bool SeesJob(const auth::Authorizer& authorizer, const auth::Principal& who, const JobRecord& job);

/// True if there may be a job in the namespace that `who` sees, of whatever kind; asked before a
/// job is looked up there by `name`.
bool MaySeeIn(const auth::Authorizer& authorizer, const auth::Principal& who, const std::string& ns,
              const std::string& name);

/// The kind and namespace of a job that is to be made.
struct NewJobPlace {
  ShapeKind shape = ShapeKind::kJob;
  std::string ns;
  bool operator==(const NewJobPlace&) const = default;
};
/// Of the body of a submission, a manifest or {"script": ...}, before it is read as a whole;
/// nullopt if it is no kind of job. `ns` is the path's namespace, "" for none.
std::optional<NewJobPlace> NewJobPlaceOf(const std::string& ns, const json::value& body);
/// Whether `who` may create a job there.
Status MayCreateJob(const auth::Authorizer& authorizer, const auth::Principal& who,
                    const NewJobPlace& place);

/// Done if `who` may have the accounting of the job: list of muster.io/accounting in its namespace,
/// or of accounting/own for its own job.
Status MayAccount(const auth::Authorizer& authorizer, const auth::Principal& who,
                  const JobRecord& job);

using VisibilityPtr = std::shared_ptr<const JobVisibility>;
/// Which jobs a list with this filter shows to `who`; null: all that the filter selects.
/// kPermissionDenied if that is none, and for a list of ListRule::kWhole if it is not all.
Result<VisibilityPtr> VisibleJobs(const auth::Authorizer& authorizer, const auth::Principal& who,
                                  const ConfigView& config, const JobFilter& filter);

}  // namespace muster::api
