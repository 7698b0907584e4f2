// PlanApply: checks a whole `muster apply` before anything changes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/auth/authorizer.h"
#include "api/service/pod_set_cache.h"
#include "api/service/scheduler_service.h"
#include "api/service/validate.h"
#include "schedd/base/clock.h"

namespace muster::api {

/// The commands that a set of documents needs. `outcomes` has one entry per document, in order. The
/// engine's answer completes the entries of objects; entries of new jobs stay kCreated unless the
/// engine refuses them. The vectors `*_documents` hold, for each command, the index of its
/// document.
struct ApplyPlan {
  std::vector<DocumentOutcome> outcomes;
  std::vector<ObjectChange> changes;
  std::vector<std::size_t> change_documents;
  std::vector<Submission> jobs;
  std::vector<std::size_t> job_documents;
  std::vector<ReplaceJobCommand> replacements;  // of existing jobs
  std::vector<std::size_t> replacement_documents;
};

/// What PlanApply reads. The references must outlive the call.
struct ApplyContext {
  const ConfigView& config;
  const ObjectTable& objects;
  const AdmissionSettings& settings;
  Store& store;
  Random& random;
  PodSetCache& pod_sets;
  const auth::Principal& who;
  const auth::Authorizer& authorizer;
  const WorldView& view;
  WallTime now;
};

/// Validates every document. Configuration objects come first and are judged against the
/// configuration that all of them make together, then jobs against that configuration. A job whose
/// name is taken is compared with the existing job: an equal manifest is kUnchanged (with its
/// record set), a manifest that differs only in what may change becomes a replacement, any other is
/// refused. Errors name every bad document. Reads the store (blocking).
Result<ApplyPlan> PlanApply(const ApplyContext& context, const std::string& ns,
                            const std::vector<json::value>& documents);

/// Translates the indices in an ApplyCommand's error. The engine counts changes, the user counts
/// documents: `documents[i]` of change i becomes `documents[change_documents[i]]`.
Error RenumberDocuments(Error error, const std::vector<std::size_t>& change_documents);

}  // namespace muster::api
