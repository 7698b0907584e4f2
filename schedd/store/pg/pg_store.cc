// PgStore puts the parts of this directory together.
//
// Writes: Accept and Commit become a WriteCall each, which the group committer takes in call order.
// Reads: each method runs one read-only snapshot on the read pool and turns its rows into values of
// the model (job_rows.h). Load reads the whole state in one snapshot, jobs page by page, so that
// neither side holds all rows at once and every page has a deadline of its own.
//
// Declaration order matters here: the watchdog is destroyed last, because the pool and the writer
// wait under its watch.
#include "schedd/store/pg/pg_store.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

#include "schedd/base/limits.h"
#include "schedd/model/audit_chain.h"
#include "schedd/store/pg/diagnosis.h"
#include "schedd/store/pg/group_commit.h"
#include "schedd/store/pg/job_rows.h"
#include "schedd/store/pg/migrator.h"
#include "schedd/store/pg/observer.h"
#include "schedd/store/pg/read_pool.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/store_calls.h"
#include "schedd/store/pg/url.h"
#include "schedd/store/pg/watchdog.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

using pg::sql::kReadJobs;

// "{1,2,3}": the text form of an array, as libpqxx 6 sends array parameters.
std::string ArrayText(const std::vector<JobId>& ids) {
  std::string text = "{";
  for (const JobId id : ids) {
    if (text.size() > 1) text += ',';
    text += std::to_string(id.value);
  }
  return text + '}';
}

// Places as an array of texts, "{\"team-a/1\",\"/7\"}": namespace, slash and number of the kind.
std::string PlacesText(const std::vector<JobVisibility::Place>& places) {
  std::string text = "{";
  for (const JobVisibility::Place& place : places) {
    if (text.size() > 1) text += ',';
    text += '"' + place.ns + '/' + std::to_string(static_cast<int>(place.kind)) + '"';
  }
  return text + '}';
}

// An empty filter is the SQL null, which makes the condition true (kReadJobs).
const char* Filter(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

class PgStore final : public Store {
 public:
  explicit PgStore(const PgStoreOptions& options)
      : readers_(options.url, static_cast<std::size_t>(options.read_connections), watchdog_),
        writer_(options.url, options.resolve_ms, watchdog_, options.health, options.lease,
                options.clock, options.metrics),
        observer_(options.health == nullptr
                      ? nullptr
                      : std::make_unique<pg::Observer>(options.url, watchdog_, *options.health)),
        on_stop_(options.stop,
                 [this] { watchdog_.Stop(std::chrono::milliseconds(limits::kStopDatabaseMs)); }) {}

  /// The observer's read may wait for the database too.
  ~PgStore() override { watchdog_.Stop(std::chrono::milliseconds(limits::kStopDatabaseMs)); }

  Result<Lease> Lead(const std::string& holder, std::chrono::milliseconds wait) override {
    Result<Lease> lease = writer_.Lead(holder, wait);
    // The world is read next, which the readers would refuse while they rest.
    if (lease.ok()) readers_.Heard();
    return lease;
  }
  Result<StoredWorld> Load(Epoch epoch, WallTime finished_since) override;
  using Store::Accept;
  using Store::ReadAudit;
  void Accept(Epoch epoch, std::vector<NewJob> batch, std::vector<AuditRow> audit,
              Callback<std::vector<Result<AcceptedJob>>> done) override {
    writer_.Post(
        std::make_unique<pg::AcceptCall>(epoch, std::move(batch), std::move(audit),
                                         std::move(done)));
  }
  void Commit(Epoch epoch, PlanCommit commit, Callback<CommitVersion> done) override {
    writer_.Post(std::make_unique<pg::CommitCall>(epoch, std::move(commit), std::move(done)));
  }
  Result<std::vector<std::string>> ReadManifests(const std::vector<JobId>& ids) override;
  Result<std::vector<ArrayEnds>> ReadArrayEnds(const std::vector<JobId>& arrays) override;
  Result<std::vector<JobPtr>> ReadJobs(const JobQuery& query) override;
  Result<JobPtr> ReadJob(JobId id) override;
  Result<JobId> FindJob(const std::string& ns, ShapeKind shape, const std::string& name) override;
  Result<JobId> FindJob(Uid uid) override;
  Result<std::vector<Event>> ReadEvents(std::int64_t since, JobId job, std::size_t limit) override;
  Result<std::vector<AttemptRecord>> ReadAttempts(const std::vector<JobId>& ids) override;
  Result<std::vector<StepRecord>> ReadSteps(const StepQuery& query) override;
  Result<std::vector<AuditRow>> ReadAudit(const AuditQuery& query) override;
  Result<AuditAnchor> ReadAuditAnchor() override;
  Result<std::vector<ObjectPtr>> ReadObjects(ObjectKind kind) override;
  Result<std::string> InstanceId() override;
  Status Ping() override;
  /// kFailedPrecondition, with a sentence for the administrator, if the role of `url` is shown no
  /// rows: a daemon that leads and sees no jobs would be worse than none.
  Status SeesItsRows();

 private:
  // Runs `read` on the pool and returns the value that it fills. The pool may run `read` twice
  // (after a lost connection), so each run begins with a fresh value.
  template <class T, class Read>
  Result<T> Query(Read read) {
    T value{};
    const Status status = readers_.Run([&](pqxx::transaction_base& snapshot) {
      value = T{};
      return Status(read(snapshot, &value));
    });
    if (!status.ok()) return status.error();
    return value;
  }

  pg::Watchdog watchdog_;
  pg::ReadPool readers_;
  pg::GroupCommitter writer_;
  const std::unique_ptr<pg::Observer> observer_;  // null: nobody wants to know
  // Declared last, so that it no longer runs when the members above are destroyed.
  const std::stop_callback<std::function<void()>> on_stop_;
};

// Rows of one page of Load: it bounds the memory that libpq holds for one result.
constexpr std::int64_t kLoadPage = 20'000;

// Appends the jobs of one statement, page by page. `exec` returns the page after a job id.
template <class Exec>
Status LoadPages(Exec exec, pg::Interner* interner, StoredWorld* loaded) {
  std::int64_t after = 0;
  for (;;) {
    const pqxx::result rows = exec(after);
    for (const pqxx::row& row : rows) {
      Result<JobPtr> job = pg::JobOfRow(row, interner);
      if (!job.ok()) return job.error();
      after = (*job)->id.value;
      loaded->last_seq = std::max(loaded->last_seq, (*job)->resource_version);
      loaded->jobs.push_back(std::move(job).value());
    }
    if (static_cast<std::int64_t>(rows.size()) < kLoadPage) return Done{};
  }
}

std::vector<ArrayEnds> EndsOf(pqxx::transaction_base& snapshot, const std::vector<JobId>& arrays) {
  std::vector<ArrayEnds> ends;
  for (const pqxx::row& row : snapshot.exec_params(pg::sql::kReadArrayEnds, ArrayText(arrays))) {
    ends.push_back({JobId{row[0].as<std::int64_t>()}, row[1].as<std::int64_t>(),
                    row[2].as<std::int64_t>()});
  }
  return ends;
}

// The arrays of jobs that have not ended.
std::vector<JobId> ArraysIn(const std::vector<JobPtr>& jobs) {
  std::set<JobId> arrays;
  for (const JobPtr& job : jobs) {
    if (job->batch != nullptr && job->batch->array_job_id.value != 0 && !IsTerminal(job->state))
      arrays.insert(job->batch->array_job_id);
  }
  return {arrays.begin(), arrays.end()};
}

// Works and resource snapshots: the state of configuration objects on member clusters.
Status LoadPropagation(pqxx::transaction_base& snapshot, StoredWorld* loaded) {
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadWorks)) {
    Result<WorkPtr> work = pg::WorkOfRow(row);
    if (!work.ok()) return work.error();
    loaded->works.push_back(std::move(work).value());
  }
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadSnapshots)) {
    Result<SnapshotPtr> one = pg::SnapshotOfRow(row);
    if (!one.ok()) return one.error();
    loaded->snapshots.push_back(std::move(one).value());
  }
  return Done{};
}

// Fills `loaded` from one snapshot. `part_begins` is called before each statement and extends the
// deadline. The epoch is checked in the same snapshot: a daemon that no longer leads must not
// recover from rows that another leader is changing. Epoch 0 is no lead: a copy is read.
Status LoadAll(pqxx::transaction_base& snapshot, Epoch epoch, WallTime finished_since,
               const std::function<void()>& part_begins, StoredWorld* loaded) {
  part_begins();
  if (epoch.value != 0 && snapshot.exec1(pg::sql::kEpochOf)[0].as<std::int64_t>() != epoch.value) {
    return Aborted("this daemon no longer leads; its epoch has passed");
  }
  const pqxx::row numbers = snapshot.exec1(pg::sql::kLastNumbers);
  loaded->last_job_id.value = numbers[0].as<std::int64_t>();
  loaded->last_seq = numbers[1].as<std::int64_t>();
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadRestore)) {
    loaded->restore = RestoreMark{WallTime{row[0].as<std::int64_t>()}, row[1].as<std::int64_t>()};
  }
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadLostNumbers))
    loaded->lost_numbers.push_back({row[0].as<std::int64_t>(), row[1].as<std::int64_t>()});
  pg::Interner interner;
  Status status = LoadPages(
      [&](std::int64_t after) {
    part_begins();
    return snapshot.exec_params(pg::sql::kLoadLiveJobs, after, kLoadPage);
      },
      &interner, loaded);
  if (!status.ok()) return status;
  status = LoadPages(
      [&](std::int64_t after) {
    part_begins();
    return snapshot.exec_params(pg::sql::kLoadEndedJobs, after, kLoadPage, finished_since.us);
      },
      &interner, loaded);
  if (!status.ok()) return status;
  std::sort(loaded->jobs.begin(), loaded->jobs.end(),
            [](const JobPtr& a, const JobPtr& b) { return a->id < b->id; });
  for (const shapes::KindInfo* kind : shapes::Kinds()) {
    part_begins();
    for (const pqxx::row& row : snapshot.exec(pg::sql::ReadObjects(*kind))) {
      loaded->objects.push_back(pg::ObjectOfRow(kind->kind, row));
      loaded->last_seq = std::max(loaded->last_seq, loaded->objects.back()->resource_version);
    }
  }
  if (const std::vector<JobId> arrays = ArraysIn(loaded->jobs); !arrays.empty()) {
    part_begins();
    loaded->array_ends = EndsOf(snapshot, arrays);
  }
  part_begins();
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadUsage)) {
    loaded->usage.push_back(pg::UsageOfRow(row));
  }
  part_begins();
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadDispatches)) {
    loaded->dispatches.push_back(pg::DispatchOfRow(row));
  }
  part_begins();
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadFairUse)) {
    Result<FairUseRow> use = pg::FairUseOfRow(row);
    if (!use.ok()) return use.error();
    loaded->fair_use.push_back(std::move(use).value());
  }
  part_begins();
  for (const pqxx::row& row : snapshot.exec(pg::sql::kLoadSetAside)) {
    loaded->set_aside.push_back(pg::SetAsideOfRow(row));
  }
  part_begins();
  return LoadPropagation(snapshot, loaded);
}

// RunLong may run the function twice, so it begins with an empty value.
Result<StoredWorld> PgStore::Load(Epoch epoch, WallTime finished_since) {
  StoredWorld loaded;
  const Status status = readers_.RunLong(
      [&](pqxx::transaction_base& snapshot, const std::function<void()>& part_begins) {
    loaded = StoredWorld{};
    return LoadAll(snapshot, epoch, finished_since, part_begins, &loaded);
  });
  if (!status.ok()) return status.error();
  return loaded;
}

// The statement keeps the order of the ids, so the position names the missing one.
Result<std::vector<std::string>> PgStore::ReadManifests(const std::vector<JobId>& ids) {
  using Texts = std::vector<std::string>;
  return Query<Texts>([&](pqxx::transaction_base& snapshot, Texts* texts) -> Status {
    std::size_t at = 0;
    for (const pqxx::row& row : snapshot.exec_params(pg::sql::kReadManifests, ArrayText(ids))) {
      if (row[0].is_null()) return NotFound("there is no job " + std::to_string(ids[at].value));
      texts->emplace_back(row[0].c_str(), row[0].size());
      ++at;
    }
    return Done{};
  });
}

Result<std::vector<ArrayEnds>> PgStore::ReadArrayEnds(const std::vector<JobId>& arrays) {
  using Ends = std::vector<ArrayEnds>;
  return Query<Ends>([&](pqxx::transaction_base& snapshot, Ends* ends) -> Status {
    *ends = EndsOf(snapshot, arrays);
    return Done{};
  });
}

// Filters travel as texts, where null means that the filter is not set.
Result<std::vector<JobPtr>> PgStore::ReadJobs(const JobQuery& query) {
  using Jobs = std::vector<JobPtr>;
  const std::string state = query.state ? std::to_string(static_cast<int>(*query.state)) : "";
  const std::string shape = query.shape ? std::to_string(static_cast<int>(*query.shape)) : "";
  const std::string ended = query.ended_since.set() ? std::to_string(query.ended_since.us) : "";
  const std::string array = query.array.value != 0 ? std::to_string(query.array.value) : "";
  const std::string array_task = query.array_task ? std::to_string(*query.array_task) : "";
  const JobVisibility* visible = query.visible.get();
  const std::string all = visible == nullptr ? "" : PlacesText(visible->all);
  const std::string own = visible == nullptr ? "" : PlacesText(visible->own);
  const std::string user = visible == nullptr ? "" : visible->user;
  const std::string ids = query.ids.empty() ? "" : ArrayText(query.ids);
  return Query<Jobs>([&](pqxx::transaction_base& snapshot, Jobs* jobs) -> Status {
    pg::Interner interner;
    const pqxx::result rows = snapshot.exec_params(
        kReadJobs, query.after.value, Filter(query.ns), Filter(query.queue), Filter(query.user),
        Filter(state), Filter(shape), Filter(ended), query.include_deleted, Filter(query.name),
        static_cast<std::int64_t>(query.limit), Filter(all), Filter(own), Filter(user),
        Filter(array), Filter(array_task), Filter(ids));
    for (const pqxx::row& row : rows) {
      Result<JobPtr> job = pg::JobOfRow(row, &interner);
      if (!job.ok()) return job.error();
      jobs->push_back(std::move(job).value());
    }
    return Done{};
  });
}

Result<JobPtr> PgStore::ReadJob(JobId id) {
  return Query<JobPtr>([&](pqxx::transaction_base& snapshot, JobPtr* found) -> Status {
    pg::Interner interner;
    for (const pqxx::row& row : snapshot.exec_params(pg::sql::kReadJob, id.value)) {
      Result<JobPtr> job = pg::JobOfRow(row, &interner);
      if (!job.ok()) return job.error();
      *found = std::move(job).value();
      return Done{};
    }
    return NotFound("there is no job " + std::to_string(id.value));
  });
}

// `live_name` is the value that statement accept_jobs stores; it is null once a job is deleted.
Result<JobId> PgStore::FindJob(const std::string& ns, ShapeKind shape, const std::string& name) {
  const std::string live_name = ns + '/' + std::to_string(static_cast<int>(shape)) + '/' + name;
  return Query<JobId>([&](pqxx::transaction_base& snapshot, JobId* id) -> Status {
    for (const pqxx::row& row : snapshot.exec_params(pg::sql::kFindLiveJob, live_name)) {
      id->value = row[0].as<std::int64_t>();
      return Done{};
    }
    return NotFound("there is no " + std::string(ShapeKindName(shape)) + " named \"" + name +
                    "\" in namespace \"" + ns + "\"");
  });
}

Result<JobId> PgStore::FindJob(Uid uid) {
  return Query<JobId>([&](pqxx::transaction_base& snapshot, JobId* id) -> Status {
    for (const pqxx::row& row : snapshot.exec_params(pg::sql::kFindJobByUid, uid.ToString())) {
      id->value = row[0].as<std::int64_t>();
      return Done{};
    }
    return NotFound("there is no job " + uid.ToString());
  });
}

Result<std::vector<Event>> PgStore::ReadEvents(std::int64_t since, JobId job, std::size_t limit) {
  using Events = std::vector<Event>;
  return Query<Events>([&](pqxx::transaction_base& snapshot, Events* events) -> Status {
    const auto count = static_cast<std::int64_t>(limit);
    const pqxx::result rows =
        job.value == 0 ? snapshot.exec_params(pg::sql::kReadEvents, since, count)
                       : snapshot.exec_params(pg::sql::kReadJobEvents, since, count, job.value);
    for (const pqxx::row& row : rows) events->push_back(pg::EventOfRow(row));
    return Done{};
  });
}

Result<std::vector<AttemptRecord>> PgStore::ReadAttempts(const std::vector<JobId>& ids) {
  using Attempts = std::vector<AttemptRecord>;
  return Query<Attempts>([&](pqxx::transaction_base& snapshot, Attempts* attempts) -> Status {
    pg::Interner interner;
    for (const pqxx::row& row : snapshot.exec_params(pg::sql::kReadAttempts, ArrayText(ids))) {
      Result<AttemptRecord> attempt = pg::AttemptOfRow(row, &interner);
      if (!attempt.ok()) return attempt.error();
      attempts->push_back(std::move(attempt).value());
    }
    return Done{};
  });
}

Result<std::vector<StepRecord>> PgStore::ReadSteps(const StepQuery& query) {
  using Steps = std::vector<StepRecord>;
  return Query<Steps>([&](pqxx::transaction_base& snapshot, Steps* steps) -> Status {
    for (const pqxx::row& row : snapshot.exec_params(
             pg::sql::kReadSteps, ArrayText(query.jobs), query.after_job.value, query.after_attempt,
             query.after_step, static_cast<std::int64_t>(query.limit))) {
      Result<StepRecord> step = pg::StepOfRow(row);
      if (!step.ok()) return step.error();
      steps->push_back(std::move(step).value());
    }
    return Done{};
  });
}

Result<std::vector<AuditRow>> PgStore::ReadAudit(const AuditQuery& query) {
  using Rows = std::vector<AuditRow>;
  const auto text_of = [](WallTime at) { return at.set() ? std::to_string(at.us) : std::string(); };
  const std::string since = text_of(query.since), until = text_of(query.until);
  return Query<Rows>([&](pqxx::transaction_base& snapshot, Rows* audit) -> Status {
    for (const pqxx::row& row : snapshot.exec_params(
             query.last ? pg::sql::kReadLastAudit : pg::sql::kReadAudit, Filter(since),
             Filter(until), Filter(query.user), Filter(query.verb), Filter(query.object),
             query.after, static_cast<std::int64_t>(query.limit))) {
      audit->push_back(pg::AuditOfRow(row));
    }
    return Done{};
  });
}

Result<AuditAnchor> PgStore::ReadAuditAnchor() {
  return Query<AuditAnchor>([](pqxx::transaction_base& snapshot, AuditAnchor* anchor) -> Status {
    const pqxx::row row = snapshot.exec1(pg::sql::kReadAuditAnchor);
    *anchor = {row[0].as<std::int64_t>(), row[1].as<std::string>()};
    return Done{};
  });
}

Result<std::vector<ObjectPtr>> PgStore::ReadObjects(ObjectKind kind) {
  using Objects = std::vector<ObjectPtr>;
  return Query<Objects>([kind](pqxx::transaction_base& snapshot, Objects* objects) -> Status {
    for (const pqxx::row& row : snapshot.exec(pg::sql::ReadObjects(shapes::InfoOf(kind))))
      objects->push_back(pg::ObjectOfRow(kind, row));
    return Done{};
  });
}

Result<std::string> PgStore::InstanceId() {
  return Query<std::string>([](pqxx::transaction_base& snapshot, std::string* instance) -> Status {
    *instance = snapshot.exec1(pg::sql::kInstance)[0].as<std::string>();
    return Done{};
  });
}

Status PgStore::SeesItsRows() {
  return readers_.Run([](pqxx::transaction_base& snapshot) -> Status {
    if (snapshot.exec1(pg::sql::kSeesJobs)[0].as<bool>()) return Done{};
    return Error{Code::kFailedPrecondition,
                 "the role of --postgres is neither the owner of the schema nor a member of "
                 "muster_daemon, so row security shows it no jobs: grant muster_daemon to it, and "
                 "let the owner run select muster_grant_roles()"};
  });
}

Status PgStore::Ping() {
  return readers_.Run([](pqxx::transaction_base& snapshot) -> Status {
    snapshot.exec1(pg::sql::kPing);
    return Done{};
  });
}

}  // namespace

// Ended jobs are left out: no question of the doctor that needs the model is about them.
Result<StoredWorld> pg::ReadWorld(const std::string& url) {
  const Result<std::string> complete = pg::CompleteUrl(url);
  if (!complete.ok()) return complete.error();
  PgStoreOptions options;
  options.url = *complete;
  PgStore store(options);
  return store.Load(Epoch{}, WallTime{std::numeric_limits<std::int64_t>::max()});
}

Result<std::unique_ptr<Store>> OpenPgStore(PgStoreOptions options) {
  const Result<std::string> url = pg::CompleteUrl(options.url);
  if (!url.ok()) return url.error();
  options.url = *url;
  const Result<std::string> owner =
      pg::CompleteUrl(options.owner_url.empty() ? options.url : options.owner_url);
  if (!owner.ok()) return owner.error();
  const Status migrated = pg::MigrateUp(*owner, pg::EmbeddedMigrations(), options.stop);
  if (!migrated.ok()) return migrated.error();
  auto store = std::make_unique<PgStore>(options);
  if (const Status sees = store->SeesItsRows(); !sees.ok()) return sees.error();
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace muster
