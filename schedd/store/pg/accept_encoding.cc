// New jobs as SQL: columns, statements and answers.
//
// One statement inserts the jobs and their state rows; a job whose name is taken is skipped by ON
// CONFLICT DO NOTHING and is missing from the ids that the statement returns. If a job of the batch
// carries an idempotency key, three more statements run around it: before it, claim the keys; after
// it, free the keys of jobs that were skipped, and read which job holds each key that could not be
// claimed. The insert then takes only jobs that have no key or hold theirs.
#include <charconv>
#include <cstring>

#include "schedd/store/pg/admission_json.h"
#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/row_json.h"
#include "schedd/store/pg/statements.h"

namespace muster::pg {
namespace {

// One array for each column of a new job, in the order of the parameters of kAcceptJobs.
struct NewJobColumns {
  using E = ElementType;
  Column id{E::kInt8}, uid{E::kUuid}, ns{E::kText}, kind{E::kInt2}, name{E::kText},
      display_name{E::kText}, user{E::kText}, local_queue{E::kText}, cluster_queue{E::kText},
      priority_class{E::kText}, priority{E::kInt4}, pod_sets{E::kJson}, batch{E::kJson},
      time_limit{E::kInt8}, ttl{E::kInt8}, submit_time{E::kInt8}, accept_seq{E::kInt8},
      manifest{E::kJson}, state{E::kInt2}, suspended{E::kBool}, reason{E::kText}, message{E::kText},
      conditions{E::kJson}, version{E::kInt8}, admission_state{E::kJson}, placement{E::kJson},
      account{E::kInt8}, array{E::kInt8}, array_task{E::kInt4}, key_scope{E::kText},
      key{E::kText};

  void Add(const NewJob& job);
  Params Take(bool keyed);

 private:
  PodSetsPtr last_pod_sets_;
  std::string last_pod_sets_text_;
};

// Jobs of one batch often share their pod sets: the JSON text of the last one is kept.
void NewJobColumns::Add(const NewJob& job) {
  const JobRecord& record = *job.record;
  id.Int8(record.id.value);
  uid.Uuid(record.uid);
  ns.Text(record.ns);
  kind.Int2(static_cast<std::int16_t>(record.shape));
  name.Text(record.name);
  display_name.OptionalText(record.display_name == record.name ? "" : record.display_name);
  user.Text(record.user);
  local_queue.Text(record.local_queue);
  cluster_queue.Text(record.cluster_queue);
  priority_class.Text(record.priority_class);
  priority.Int4(record.priority);
  if (record.pod_sets != last_pod_sets_ || last_pod_sets_text_.empty()) {
    last_pod_sets_ = record.pod_sets;
    last_pod_sets_text_ = record.pod_sets == nullptr ? "[]" : PodSetsText(*record.pod_sets);
  }
  pod_sets.Text(last_pod_sets_text_);
  batch.OptionalText(record.batch == nullptr ? "" : BatchText(*record.batch));
  time_limit.Int8(record.time_limit_s);
  ttl.Int8(record.ttl_after_finished_s);
  submit_time.Int8(record.submit_time.us);
  accept_seq.Int8(record.accept_seq);
  manifest.OptionalText(job.manifest);
  state.Int2(static_cast<std::int16_t>(record.state));
  suspended.Bool(record.suspended_by_user);
  reason.Text(ReasonName(record.reason));
  message.Text(record.message);
  conditions.OptionalText(record.conditions == nullptr ? "" : ConditionsText(*record.conditions));
  version.Int8(record.resource_version);
  admission_state.OptionalText(AdmissionStateText(record));
  placement.OptionalText(record.placement == nullptr ? "" : JobPlacementText(*record.placement));
  if (record.account) {
    account.Int8(*record.account);
  } else {
    account.Null();
  }
  if (record.batch != nullptr && record.batch->array_job_id.value != 0) {
    array.Int8(record.batch->array_job_id.value);
    array_task.Int4(record.batch->array_task_id);
  } else {
    array.Null();
    array_task.Null();
  }
  if (job.idempotency.has_value()) {
    key_scope.Text(job.idempotency->scope);
    key.Text(job.idempotency->key);
  } else {
    key_scope.Null();
    key.Null();
  }
}

// `keyed`: with the two key columns, as kAcceptKeyedJobs takes them.
Params NewJobColumns::Take(bool keyed) {
  Params params;
  for (Column* column : {&id,           &uid,        &ns,          &kind,          &name,
                         &display_name, &user,       &local_queue, &cluster_queue, &priority_class,
                         &priority,     &pod_sets,   &batch,       &time_limit,    &ttl,
                         &submit_time,  &accept_seq, &manifest,    &state,         &suspended,
                         &reason,       &message,    &conditions,  &version,       &admission_state,
                         &placement,    &account,     &array,      &array_task}) {
    params.Array(*column);
  }
  if (keyed) params.Array(key_scope).Array(key);
  return params;
}

// The columns scope, key, fingerprint and job of those jobs that carry a key.
struct KeyColumns {
  Column scope{ElementType::kText}, key{ElementType::kText}, fingerprint{ElementType::kInt8},
      job{ElementType::kInt8};
  bool any = false;

  explicit KeyColumns(std::span<const NewJob* const> jobs) {
    for (const NewJob* item : jobs) {
      if (!item->idempotency.has_value()) continue;
      any = true;
      scope.Text(item->idempotency->scope);
      key.Text(item->idempotency->key);
      fingerprint.Int8(static_cast<std::int64_t>(item->idempotency->fingerprint));
      job.Int8(item->record->id.value);
    }
  }
  Params Take() {
    Params params;
    params.Array(scope).Array(key).Array(fingerprint).Array(job);
    return params;
  }
};

void NoteInserted(const PGresult& rows, AcceptFindings* findings) {
  for (int row = 0; row < PQntuples(&rows); ++row)
    findings->inserted.insert(JobId{IntAt(rows, row, 0)});
}

// Rows of kForeignKeys: the new job, the job that holds its key, and the holder's fingerprint.
void NoteForeignKeys(const PGresult& rows, AcceptFindings* findings) {
  for (int row = 0; row < PQntuples(&rows); ++row) {
    findings->foreign_keys[JobId{IntAt(rows, row, 0)}] = {
        JobId{IntAt(rows, row, 1)}, static_cast<std::uint64_t>(IntAt(rows, row, 2))};
  }
}

}  // namespace

// A job that was not inserted, and whose key no other job holds, was skipped for its name.
Result<AcceptedJob> AnswerFor(const NewJob& job, const AcceptFindings& findings) {
  const JobRecord& record = *job.record;
  if (findings.inserted.contains(record.id)) return AcceptedJob{record.id, false};
  const auto held = findings.foreign_keys.find(record.id);
  if (held != findings.foreign_keys.end()) {
    if (held->second.fingerprint != job.idempotency->fingerprint) {
      return InvalidArgument("the idempotency key was already used by another request");
    }
    return AcceptedJob{held->second.job, true};
  }
  return AlreadyExists("a " + std::string(ShapeKindName(record.shape)) + " named \"" + record.name +
                       "\" already exists in namespace \"" + record.ns + "\"");
}

void QueueAccept(std::span<const NewJob* const> jobs, PqConnection& connection,
                 AcceptFindings* findings) {
  NewJobColumns columns;
  for (const NewJob* job : jobs) columns.Add(*job);
  KeyColumns keys(jobs);
  const auto inserted = [findings](const PGresult& rows) { NoteInserted(rows, findings); };
  if (!keys.any) {
    connection.Queue(sql::kAcceptJobs.name, columns.Take(false), inserted);
    return;
  }
  const Params key_params = keys.Take();
  connection.Queue(sql::kClaimKeys.name, key_params);
  connection.Queue(sql::kAcceptKeyedJobs.name, columns.Take(true), inserted);
  connection.Queue(sql::kFreeKeys.name, key_params);
  connection.Queue(sql::kForeignKeys.name, key_params,
                   [findings](const PGresult& rows) { NoteForeignKeys(rows, findings); });
}

// They wait, as accepted jobs do; the update of their state rows follows in the same transaction. A
// name that is taken makes that update fail.
void QueueNewTasks(std::span<const JobPtr> tasks, PqConnection& connection) {
  NewJobColumns columns;
  for (const JobPtr& task : tasks) columns.Add(NewJob{task, "", std::nullopt});
  connection.Queue(sql::kAcceptJobs.name, columns.Take(false));
}

Failure FindOutcome(std::span<const NewJob* const> jobs, PqConnection& connection,
                    AcceptFindings* findings) {
  Column ids(ElementType::kInt8), uids(ElementType::kUuid);
  for (const NewJob* job : jobs) {
    ids.Int8(job->record->id.value);
    uids.Uuid(job->record->uid);
  }
  PgResult rows(nullptr, &PQclear);
  Params who;
  who.Array(ids).Array(uids);
  Failure failure = connection.Query(sql::kExistingJobs, who, &rows);
  if (failure.kind != FailureKind::kNone) return failure;
  NoteInserted(*rows, findings);
  KeyColumns keys(jobs);
  if (!keys.any) return {};
  failure = connection.Query(sql::kForeignKeys.text, keys.Take(), &rows);
  if (failure.kind != FailureKind::kNone) return failure;
  NoteForeignKeys(*rows, findings);
  return {};
}

}  // namespace muster::pg
