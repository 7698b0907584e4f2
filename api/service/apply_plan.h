// ApplyPlan: a whole `muster apply`, checked before anything changes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/auth/authorizer.h"
#include "api/service/pod_set_cache.h"
#include "api/service/scheduler_service.h"
#include "api/service/validate.h"

namespace muster::api {

/// What is to be done for a set of documents. `outcomes` has one entry per document, in order;
/// entries of objects are filled in by the engine's answer, entries of jobs are kCreated until the
/// store says otherwise.
struct ApplyPlan {
  std::vector<DocumentOutcome> outcomes;
  std::vector<ObjectChange> changes;
  std::vector<std::size_t> change_documents;  // changes[i] came from this document
  std::vector<Submission> jobs;
  std::vector<std::size_t> job_documents;
  std::vector<ReplaceJobCommand> replacements;  // of jobs that exist and may change so
  std::vector<std::size_t> replacement_documents;
};

/// What planning needs; references must outlive the call.
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
};

/// Validates every document: objects first (against each other), then jobs against the
/// configuration that the objects would make. Jobs whose name is taken are compared with what
/// exists: an equal manifest is kUnchanged (with its record set), one that changes what may change
/// replaces it, another one is refused. Errors name every bad document. Reads the store (blocking).
Result<ApplyPlan> PlanApply(const ApplyContext& context, const std::string& ns,
                            const std::vector<json::value>& documents);

/// An ApplyCommand's error with its `documents[i]` counted over the documents instead of the
/// changes.
Error RenumberDocuments(Error error, const std::vector<std::size_t>& change_documents);

}  // namespace muster::api
