// Conversions between the service's values and the messages of muster.v1. A job's explanation is in
// convert_explain.h.
//
// Pure functions, thread-safe.
#pragma once

#include <string>

#include "api/service/scheduler_service.h"
#include "muster/v1/clusters.pb.h"
#include "muster/v1/jobs.pb.h"
#include "muster/v1/queues.pb.h"
#include "muster/v1/quota.pb.h"
#include "schedd/text/json.h"
#include "schedd/text/parse_budget.h"

namespace muster::api {

void SetTime(WallTime time, google::protobuf::Timestamp* out);
void ToProto(const JobRecord& job, v1::Job* out);
void ToProto(const Event& event, v1::Event* out);
void ToProto(const Error& error, v1::Problem* out);
void ToProto(const core::ClusterView& cluster, v1::Cluster* out);
void ToProto(const DrainProgress& progress, v1::DrainClusterResponse* out);
void ToProto(const AddedMember& added, v1::AddClusterResponse* out);
void ToProto(const QuotaView& quota, v1::Quota* out);
void ToProto(const DocumentOutcome& outcome, v1::ApplyOutcome* out);
/// From a whole object as ListObjects returns it.
void ToProto(const json::value& object, v1::QueueObject* out);

/// The edit that a request asks for; quota.proto has the rules of its mask. Errors name the field.
Result<QuotaEdit> QuotaEditOf(const v1::SetQuotaRequest& request);

/// One manifest from JSON or YAML text. Errors: malformed text; not exactly one document; more
/// memory than `budget` allows, which belongs to the whole request.
Result<json::value> OneDocument(const std::string& text, ParseBudget* budget);

}  // namespace muster::api
