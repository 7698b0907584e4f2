// Values to messages, field by field: a job with the fields of the job view (rule C1), amounts as
// Kubernetes quantities, times as Timestamp and absent if unset. A new field of the job view needs
// a line here; a unit test compares the JSON of the message with the view.
//
// QuotaEditOf reads a SetQuota request by the rules of field masks. With a mask, the fields in it
// are set, and a limit that is in the mask and absent in the request is removed. Without a mask the
// fields that the request carries are set and nothing is removed.
#include "api/grpc/convert.h"

#include <utility>

#include "api/service/job_view.h"
#include "api/service/member_facts.h"
#include "api/service/views.h"
#include "schedd/base/quantity.h"
#include "schedd/base/quantity_text.h"
#include "schedd/text/documents.h"
#include "schedd/text/lenient.h"

namespace muster::api {
namespace {

// Pod sets with their requests and, once quota is reserved, their flavors.
void PodSetsToProto(const JobRecord& job, v1::Job* out) {
  if (job.pod_sets == nullptr) return;
  for (const PodSet& pod_set : *job.pod_sets) {
    v1::JobPodSet* item = out->add_pod_sets();
    item->set_name(pod_set.name);
    item->set_count(pod_set.count);
    for (const ResourceAmount& request : pod_set.requests) {
      (*item->mutable_requests())[request.resource] =
          FormatQuantity(request.resource, request.amount);
    }
    // The flavors of the pod set of the same name.
    if (job.admission == nullptr) continue;
    for (const PodSetAssignment& assignment : job.admission->pod_sets) {
      if (assignment.name != pod_set.name) continue;
      for (const auto& [resource, flavor] : assignment.flavors) {
        (*item->mutable_flavors())[resource] = flavor;
      }
    }
  }
}

// Parses a quantity of `resource`. Errors name the field, also for fractions of a resource that is
// counted in whole units.
Result<std::optional<std::int64_t>> Amount(const char* field, const std::string& resource,
                                           const std::string& text) {
  const Result<std::int64_t> amount = ParseQuantity(resource, text);
  if (!amount.ok()) return InvalidField(std::string("quota.") + field, amount.error().detail);
  if (!IsWholeAmount(resource, text))
    return InvalidField(std::string("quota.") + field, kWholeAmountRule);
  return std::optional<std::int64_t>(*amount);
}

// The fields of a quota that a request sets or removes.
struct EditedFields {
  bool nominal = false, borrowing = false, lending = false;
};

// By the mask if there is one, else by what the request carries.
Result<EditedFields> FieldsOf(const v1::SetQuotaRequest& request) {
  EditedFields fields;
  if (request.update_mask().paths_size() == 0) {
    fields.nominal = !request.quota().nominal_quota().empty();
    fields.borrowing = request.quota().has_borrowing_limit();
    fields.lending = request.quota().has_lending_limit();
    return fields;
  }
  for (const std::string& path : request.update_mask().paths()) {
    if (path == "nominal_quota") {
      fields.nominal = true;
    } else if (path == "borrowing_limit") {
      fields.borrowing = true;
    } else if (path == "lending_limit") {
      fields.lending = true;
    } else {
      return InvalidField("update_mask", "\"" + path +
                                             "\" cannot be set; only nominal_quota, "
                                             "borrowing_limit and lending_limit can");
    }
  }
  return fields;
}

}  // namespace

// Timestamp wants nanoseconds from 0 on, also before 1970, so a negative rest is borrowed from the
// seconds.
void SetTime(WallTime time, google::protobuf::Timestamp* out) {
  std::int64_t seconds = time.us / kMicrosPerSecond;
  std::int64_t micros = time.us % kMicrosPerSecond;
  if (micros < 0) {
    micros += kMicrosPerSecond;
    --seconds;
  }
  out->set_seconds(seconds);
  out->set_nanos(static_cast<std::int32_t>(micros * 1000));
}

// Every member of the job view; `state` and `reason` are their names.
void ToProto(const JobRecord& job, v1::Job* out) {
  out->set_id(job.id.value);
  out->set_uid(job.uid.ToString());
  out->set_name(job.name);
  out->set_namespace_(job.ns);
  out->set_kind(std::string(ShapeKindName(job.shape)));
  out->set_api_version(std::string(ApiVersionOf(job.shape)));
  out->set_display_name(job.display_name);
  out->set_user(job.user);
  out->set_queue(job.local_queue);
  out->set_cluster_queue(job.cluster_queue);
  out->set_priority(job.priority);
  out->set_priority_class(job.priority_class);
  out->set_state(std::string(JobStateName(job.state)));
  out->set_reason(std::string(ReasonName(job.reason)));
  out->set_message(job.message);
  out->set_cluster(job.cluster);
  out->set_attempt(job.attempt);
  if (job.submit_time.set()) SetTime(job.submit_time, out->mutable_submit_time());
  if (job.admit_time.set()) SetTime(job.admit_time, out->mutable_admit_time());
  if (job.start_time.set()) SetTime(job.start_time, out->mutable_start_time());
  if (job.end_time.set()) SetTime(job.end_time, out->mutable_end_time());
  if (const WallTime again_at = api::RequeueAt(job); again_at.set())
    SetTime(again_at, out->mutable_requeue_at());
  if (job.exit_code) out->set_exit_code(*job.exit_code);
  out->set_time_limit_seconds(job.time_limit_s);
  PodSetsToProto(job, out);
  if (job.conditions == nullptr) return;
  for (const Condition& condition : *job.conditions) {
    v1::Condition* item = out->add_conditions();
    item->set_type(condition.type);
    item->set_status(condition.status ? "True" : "False");
    item->set_reason(condition.reason);
    item->set_message(condition.message);
    SetTime(condition.last_transition, item->mutable_last_transition_time());
  }
}

void ToProto(const Event& event, v1::Event* out) {
  out->set_seq(event.seq);
  SetTime(event.time, out->mutable_time());
  out->set_type(event.type);
  out->set_job(event.job.value);
  out->set_object(event.object);
  out->set_reason(event.reason);
  out->set_message(event.message);
}

// The same fields as a problem of REST; `code` is a google.rpc code.
void ToProto(const Error& error, v1::Problem* out) {
  out->set_code(static_cast<std::int32_t>(error.code));
  out->set_detail(error.detail);
  for (const FieldError& field : error.fields) {
    v1::ProblemField* item = out->add_errors();
    item->set_field(field.field);
    item->set_message(field.message);
  }
}

// A member cluster as it reports itself, and what the scheduler counts as free there.
void ToProto(const core::ClusterView& cluster, v1::Cluster* out) {
  const MemberCluster& member = cluster.member;
  out->set_name(member.name);
  out->set_backend(member.backend);
  out->set_healthy(member.healthy);
  out->set_answers(member.healthy || member.answers);
  out->set_cordoned(member.cordoned);
  out->set_draining(member.draining);
  out->set_heartbeat_period_seconds(member.heartbeat_s);
  out->set_message(member.message);
  if (member.observed_at.set()) SetTime(member.observed_at, out->mutable_observed_at());
  for (const auto& [key, value] : member.labels) (*out->mutable_labels())[key] = value;
  const auto put = [](const ResourceList& amounts, auto* map) {
    for (const ResourceAmount& amount : amounts)
      (*map)[amount.resource] = FormatQuantity(amount.resource, amount.amount);
  };
  put(member.allocatable, out->mutable_allocatable());
  put(cluster.free, out->mutable_free());
  put(member.capacity.empty() ? member.allocatable : member.capacity, out->mutable_capacity());
  put(member.used_by_others, out->mutable_used_by_others());
  for (const auto& [name, value] : PropertiesOf(member)) (*out->mutable_properties())[name] = value;
  for (const Taint& taint : member.taints) {
    v1::Taint* item = out->add_taints();
    item->set_key(taint.key);
    item->set_value(taint.value);
    item->set_effect(taint.effect);
  }
  for (const std::string& dataset : member.datasets) out->add_datasets(dataset);
}

void ToProto(const DrainProgress& progress, v1::DrainClusterResponse* out) {
  out->set_evicting(static_cast<std::int64_t>(progress.evicting));
  out->set_blocked(static_cast<std::int64_t>(progress.blocked));
  out->set_waiting(static_cast<std::int64_t>(progress.waiting));
  for (const std::string& reason : progress.reasons) out->add_reasons(reason);
}

void ToProto(const AddedMember& added, v1::AddClusterResponse* out) {
  const MemberReport& report = added.report;
  out->set_name(added.name);
  out->set_version(report.version);
  if (report.nodes >= 0) out->set_nodes(report.nodes);
  for (const std::string& kind : report.serves) out->add_serves(kind);
  for (const std::string& kind : report.lacks) out->add_lacks(kind);
  for (const std::string& problem : report.problems) out->add_problems(problem);
  out->set_cluster_role(report.role);
}

// A limit that is not set stays absent in the message.
void ToProto(const QuotaView& quota, v1::Quota* out) {
  const std::string& resource = quota.key.resource;
  out->set_cluster_queue(quota.key.cluster_queue);
  out->set_flavor(quota.key.flavor);
  out->set_resource(resource);
  out->set_nominal_quota(FormatQuantity(resource, quota.quota.nominal));
  if (quota.quota.borrowing_limit) {
    out->set_borrowing_limit(FormatQuantity(resource, *quota.quota.borrowing_limit));
  }
  if (quota.quota.lending_limit) {
    out->set_lending_limit(FormatQuantity(resource, *quota.quota.lending_limit));
  }
  out->set_used(FormatQuantity(resource, quota.used));
  out->set_reserved(FormatQuantity(resource, quota.reserved));
  out->set_borrowed(FormatQuantity(resource, quota.borrowed));
  out->set_available(FormatQuantity(resource, quota.available));
  out->set_etag(quota.etag);
}

void ToProto(const DocumentOutcome& outcome, v1::ApplyOutcome* out) {
  out->set_kind(outcome.kind);
  out->set_namespace_(outcome.ns);
  out->set_name(outcome.name);
  out->set_outcome(std::string(ApplyOutcomeName(outcome.outcome)));
  if (outcome.job != nullptr) ToProto(*outcome.job, out->mutable_job());
}

// The whole object as text, and its identity in fields of the message.
void ToProto(const json::value& object, v1::QueueObject* out) {
  out->set_object(WriteJson(object));
  out->set_kind(TextAt(object, "kind"));
  out->set_namespace_(TextAt(object, {"metadata", "namespace"}));
  out->set_name(TextAt(object, {"metadata", "name"}));
  out->set_uid(TextAt(object, {"metadata", "uid"}));
  const std::string version = TextAt(object, {"metadata", "resourceVersion"});
  out->set_resource_version(std::strtoll(version.c_str(), nullptr, 10));
}

Result<QuotaEdit> QuotaEditOf(const v1::SetQuotaRequest& request) {
  const v1::Quota& quota = request.quota();
  QuotaEdit edit;
  edit.key = {quota.cluster_queue(), quota.flavor(), quota.resource()};
  if (quota.cluster_queue().empty()) return InvalidField("quota.cluster_queue", "is required");
  if (quota.flavor().empty()) return InvalidField("quota.flavor", "is required");
  if (quota.resource().empty()) return InvalidField("quota.resource", "is required");
  if (!request.etag().empty() && !quota.etag().empty() && request.etag() != quota.etag()) {
    return InvalidField("etag", "differs from quota.etag");
  }
  edit.etag = request.etag().empty() ? quota.etag() : request.etag();
  edit.dry_run = request.dry_run();
  const Result<EditedFields> fields = FieldsOf(request);
  if (!fields.ok()) return fields.error();
  if (fields->nominal) {
    auto amount = Amount("nominal_quota", edit.key.resource, quota.nominal_quota());
    if (!amount.ok()) return amount.error();
    edit.nominal = *amount;
  }
  if (fields->borrowing && quota.has_borrowing_limit()) {
    auto amount = Amount("borrowing_limit", edit.key.resource, quota.borrowing_limit());
    if (!amount.ok()) return amount.error();
    edit.borrowing_limit = *amount;
  }
  if (fields->lending && quota.has_lending_limit()) {
    auto amount = Amount("lending_limit", edit.key.resource, quota.lending_limit());
    if (!amount.ok()) return amount.error();
    edit.lending_limit = *amount;
  }
  // Named in the mask and absent in the quota: the limit is removed.
  edit.clear_borrowing_limit = fields->borrowing && !quota.has_borrowing_limit();
  edit.clear_lending_limit = fields->lending && !quota.has_lending_limit();
  return edit;
}

Result<json::value> OneDocument(const std::string& text, ParseBudget* budget) {
  Result<std::vector<json::value>> documents = ParseDocuments(text, budget);
  if (!documents.ok()) return documents.error();
  if (documents->size() != 1) {
    return InvalidField("manifest", "holds " + std::to_string(documents->size()) +
                                        " documents; it must be exactly one");
  }
  return std::move(documents->front());
}

}  // namespace muster::api
