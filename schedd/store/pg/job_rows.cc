// One function for each statement of statements_read.h. Each reads its row from left to right, so
// the order of the assignments is the order of the columns in the SQL, and a column is never looked
// up by name: recovery reads a million rows. Numbers are parsed with from_chars for the same
// reason.
//
// JSON columns are null when they are empty, and most rows share the text of their pod sets: the
// interner parses each text once and lets all jobs point at one value.
#include "schedd/store/pg/job_rows.h"

#include <charconv>
#include <stdexcept>
#include <utility>

#include "schedd/store/pg/admission_json.h"
#include "schedd/store/pg/use_json.h"
#include "schedd/store/pg/works_json.h"
#include "schedd/text/json.h"

namespace muster::pg {
namespace {

// Takes the fields of one row from left to right.
class RowReader {
 public:
  explicit RowReader(const pqxx::row& row) : row_(row) {}

  bool null() const { return row_[column_].is_null(); }
  void Skip() { ++column_; }
  std::string_view View() {
    const pqxx::field field = row_[column_++];
    return {field.c_str(), field.size()};  // the pqxx::result owns the bytes
  }
  std::string Text() { return std::string(View()); }
  bool Bool() { return View() == "t"; }
  template <class Int = std::int64_t>
  Int Number() {
    const std::string_view text = View();
    Int value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
      throw std::runtime_error("not a number");
    }
    return value;
  }
  // Null is the time that is not set.
  WallTime Time() {
    if (!null()) return {Number()};
    Skip();
    return {};
  }
  std::optional<std::int32_t> OptionalInt4() {
    if (!null()) return Number<std::int32_t>();
    Skip();
    return std::nullopt;
  }
  Uid Uuid() {
    Uid uid;
    if (!Uid::Parse(View(), &uid)) throw std::runtime_error("not a uuid");
    return uid;
  }

 private:
  const pqxx::row& row_;
  pqxx::row::size_type column_ = 0;
};

// Parses a JSON column into `out`; leaves `out` alone if the column is null.
template <class T, class ParseColumn>
Status Take(RowReader* row, T* out, ParseColumn parse) {
  if (row->null()) {
    row->Skip();
    return Done{};
  }
  Result<T> parsed = parse(row->View());
  if (!parsed.ok()) return parsed.error();
  *out = std::move(parsed).value();
  return Done{};
}

// The columns of table jobs: what was submitted. A null display_name means that it equals the name.
Status TakeSpec(RowReader* row, JobRecord* job, Interner* interner) {
  job->id.value = row->Number();
  job->uid = row->Uuid();
  job->ns = row->Text();
  job->shape = static_cast<ShapeKind>(row->Number<std::int16_t>());
  job->name = row->Text();
  job->display_name = row->null() ? job->name : std::string();
  const std::string display_name = row->Text();
  if (!display_name.empty()) job->display_name = display_name;
  job->user = row->Text();
  job->local_queue = row->Text();
  job->cluster_queue = row->Text();
  job->priority_class = row->Text();
  job->priority = row->Number<std::int32_t>();
  Status status =
      Take(row, &job->pod_sets, [&](std::string_view text) { return interner->PodSetsOf(text); });
  if (!status.ok()) return status;
  status = Take(row, &job->batch, [](std::string_view text) { return ParseBatch(text); });
  if (!status.ok()) return status;
  job->time_limit_s = row->Number();
  job->ttl_after_finished_s = row->Number();
  job->submit_time = row->Time();
  job->accept_seq = row->Number();
  return Done{};
}

// The columns of table job_state: what has become of the job.
Status TakeState(RowReader* row, JobRecord* job, Interner* interner) {
  job->state = static_cast<JobState>(row->Number<std::int16_t>());
  job->suspended_by_user = row->Bool();
  job->deletion_requested = row->Bool();
  job->reason = ReasonOf(row->View());
  job->message = row->Text();
  job->cluster = row->Text();
  job->attempt = row->Number<std::int32_t>();
  Status status = Take(row, &job->admission,
                       [&](std::string_view text) { return interner->AdmissionOf(text); });
  if (!status.ok()) return status;
  job->admit_time = row->Time();
  job->start_time = row->Time();
  job->end_time = row->Time();
  job->exit_code = row->OptionalInt4();
  job->exit_signal = row->Number<std::int32_t>();
  job->requeues = row->Number<std::int32_t>();
  status = Take(row, &job->conditions, [](std::string_view text) { return ParseConditions(text); });
  if (!status.ok()) return status;
  job->resource_version = row->Number();
  job->ready_pods = row->Number<std::int32_t>();
  job->succeeded_pods = row->Number<std::int32_t>();
  job->failed_pods = row->Number<std::int32_t>();
  if (row->null()) {
    row->Skip();
    return Done{};
  }
  return TakeAdmissionState(row->View(), job);
}

}  // namespace

// Placement and account come last: they were added to table jobs later than job_state's columns.
Result<JobPtr> JobOfRow(const pqxx::row& row, Interner* interner) {
  RowReader reader(row);
  auto job = std::make_shared<JobRecord>();
  Status status = TakeSpec(&reader, job.get(), interner);
  if (status.ok()) status = TakeState(&reader, job.get(), interner);
  if (status.ok())
    status = Take(&reader, &job->placement,
                  [&](std::string_view text) { return interner->PlacementOf(text); });
  if (!status.ok()) return status.error();
  if (const std::int64_t account = reader.null() ? -1 : reader.Number(); account >= 0)
    job->account = static_cast<std::uint32_t>(account);
  return JobPtr(std::move(job));
}

DispatchRow DispatchOfRow(const pqxx::row& row) {
  RowReader reader(row);
  DispatchRow dispatch;
  dispatch.key.job_uid = reader.Uuid();
  dispatch.key.attempt = reader.Number<std::int32_t>();
  dispatch.job.value = reader.Number();
  dispatch.key.cluster = reader.Text();
  dispatch.incarnation = reader.Text();
  dispatch.object_kind = reader.Text();
  dispatch.ns = reader.Text();
  dispatch.name = reader.Text();
  dispatch.remote_uid = reader.Text();
  dispatch.state = static_cast<DispatchState>(reader.Number<std::int16_t>());
  dispatch.detail = reader.Text();
  return dispatch;
}

Result<AttemptRecord> AttemptOfRow(const pqxx::row& row, Interner* interner) {
  RowReader reader(row);
  AttemptRecord attempt;
  attempt.job.value = reader.Number();
  attempt.attempt = reader.Number<std::int32_t>();
  attempt.cluster = reader.Text();
  attempt.admit_time = reader.Time();
  attempt.start_time = reader.Time();
  attempt.end_time = reader.Time();
  attempt.outcome = static_cast<JobState>(reader.Number<std::int16_t>());
  attempt.reason = ReasonOf(reader.View());
  attempt.message = reader.Text();
  attempt.exit_code = reader.OptionalInt4();
  attempt.exit_signal = reader.Number<std::int32_t>();
  Status status = Take(&reader, &attempt.admission,
                       [&](std::string_view text) { return interner->AdmissionOf(text); });
  if (status.ok()) status = Take(&reader, &attempt.use, ParseUse);
  if (!status.ok()) return status.error();
  return attempt;
}

Result<StepRecord> StepOfRow(const pqxx::row& row) {
  RowReader reader(row);
  StepRecord step;
  step.job.value = reader.Number();
  step.attempt = reader.Number<std::int32_t>();
  step.step = reader.Number<std::int32_t>();
  step.name = reader.Text();
  step.nodes = reader.Text();
  step.node_count = reader.Number<std::int32_t>();
  step.tasks = reader.Number<std::int32_t>();
  step.cpus = reader.Number<std::int32_t>();
  step.state = static_cast<StepState>(reader.Number<std::int16_t>());
  step.start_time = reader.Time();
  step.end_time = reader.Time();
  step.exit_code = reader.Number<std::int32_t>();
  step.exit_signal = reader.Number<std::int32_t>();
  const Status status = Take(&reader, &step.use, ParseUse);
  if (!status.ok()) return status.error();
  return step;
}

Event EventOfRow(const pqxx::row& row) {
  RowReader reader(row);
  Event event;
  event.seq = reader.Number();
  event.time = reader.Time();
  event.type = reader.Text();
  event.job.value = reader.null() ? 0 : reader.Number();
  if (event.job.value == 0) reader.Skip();
  event.object = reader.Text();
  event.reason = reader.Text();
  event.message = reader.Text();
  return event;
}

ObjectPtr ObjectOfRow(ObjectKind kind, const pqxx::row& row) {
  RowReader reader(row);
  auto object = std::make_shared<StoredObject>();
  object->kind = kind;
  object->ns = reader.Text();
  object->name = reader.Text();
  object->uid = reader.Uuid();
  object->generation = reader.Number();
  object->resource_version = reader.Number();
  object->creation_time = reader.Time();
  object->manifest = reader.Text();
  return object;
}

UsageRow UsageOfRow(const pqxx::row& row) {
  RowReader reader(row);
  UsageRow usage;
  usage.cluster_queue = reader.Text();
  usage.flavor = reader.Text();
  usage.resource = reader.Text();
  usage.amount = reader.Number();
  return usage;
}

Result<FairUseRow> FairUseOfRow(const pqxx::row& row) {
  RowReader reader(row);
  FairUseRow use;
  use.ns = reader.Text();
  use.local_queue = reader.Text();
  const Status taken = Take(&reader, &use.consumed, ParseAmounts);
  if (!taken.ok()) return taken.error();
  use.updated = reader.Time();
  return use;
}

SetAsideObject SetAsideOfRow(const pqxx::row& row) {
  RowReader reader(row);
  SetAsideObject object;
  object.cluster = reader.Text();
  object.remote_uid = reader.Text();
  object.object.api_version = reader.Text();
  object.object.kind = reader.Text();
  object.object.ns = reader.Text();
  object.object.name = reader.Text();
  object.job_uid = reader.Uuid();
  object.attempt = reader.Number<std::int32_t>();
  object.sequence = reader.Number();
  object.reason = static_cast<SetAsideReason>(reader.Number<std::int16_t>());
  object.released = reader.Bool();
  object.first_seen = reader.Time();
  return object;
}

Result<WorkPtr> WorkOfRow(const pqxx::row& row) {
  RowReader reader(row);
  auto work = std::make_shared<Work>();
  work->ns = reader.Text();
  work->placement = reader.Text();
  work->cluster = reader.Text();
  work->state = static_cast<WorkState>(reader.Number<std::int16_t>());
  work->snapshot = reader.Number<std::int32_t>();
  work->policy = reader.Text();
  work->rendered = reader.Text();
  work->override_error = reader.Text();
  work->affinity_score = reader.Number<std::int32_t>();
  work->spread_score = reader.Number<std::int32_t>();
  work->abandon = reader.Bool();
  work->waits = reader.Text();
  Status taken = Take(&reader, &work->overrides, ParseNames);
  if (!taken.ok()) return taken.error();
  taken = Take(&reader, &work->manifests, ParseManifests);
  if (!taken.ok()) return taken.error();
  work->scheduled_at = reader.Time();
  work->bound_at = reader.Time();
  work->synced_at = reader.Time();
  return WorkPtr(std::move(work));
}

Result<SnapshotPtr> SnapshotOfRow(const pqxx::row& row) {
  RowReader reader(row);
  auto snapshot = std::make_shared<ResourceSnapshot>();
  snapshot->ns = reader.Text();
  snapshot->placement = reader.Text();
  snapshot->index = reader.Number<std::int32_t>();
  snapshot->hash = reader.Text();
  snapshot->created_at = reader.Time();
  const Status taken = Take(&reader, &snapshot->resources, ParseResources);
  if (!taken.ok()) return taken.error();
  return SnapshotPtr(std::move(snapshot));
}

namespace {

// The groups of an audit row: a JSON array of texts, as AuditGroupsText wrote it.
std::vector<std::string> GroupsOfText(std::string_view text) {
  std::vector<std::string> groups;
  const Result<json::value> parsed = ParseJson(text);
  if (!parsed.ok() || !parsed->is_array()) throw std::runtime_error("not a list of groups");
  for (const json::value& group : parsed->get_array()) {
    if (!group.is_string()) throw std::runtime_error("not a list of groups");
    groups.emplace_back(group.get_string());
  }
  return groups;
}

}  // namespace

AuditRow AuditOfRow(const pqxx::row& row) {
  RowReader reader(row);
  AuditRow audit;
  audit.id = reader.Number();
  audit.time = reader.Time();
  audit.request_id = reader.Text();
  audit.user = reader.Text();
  audit.groups = GroupsOfText(reader.View());
  for (std::string* text : {&audit.method, &audit.impersonator, &audit.source, &audit.verb,
                            &audit.object, &audit.result, &audit.code}) {
    *text = reader.Text();
  }
  audit.old_version = reader.Number();
  audit.new_version = reader.Number();
  audit.count = reader.Number();
  audit.detail = reader.Text();
  audit.prev = reader.Text();
  audit.hash = reader.Text();
  return audit;
}

}  // namespace muster::pg
