// Sending, answers and errors of one libpq connection.
//
// Errors: an SQLSTATE decides what a failure means to the writer (PostgreSQL documentation,
// Appendix A): class 22 and 23 are the item's fault, MU001 is the fence of db/migrations, MU003
// the audit trail's chain, 53, 57P, 58, 40, lock and statement timeouts and a session that is
// shared (MU004) are the environment. An unknown code counts as the item's fault, so that one bad
// statement cannot stop the store for good.
//
// Pipelining: Begin enters pipeline mode with the first transaction; FinishOldest leaves it with
// the last. Each statement yields its result and then null; the transaction ends with a
// PIPELINE_SYNC result. After a failed statement the server skips the rest of its transaction
// (PIPELINE_ABORTED), and the first failure is the transaction's.
#include "schedd/store/pg/pq.h"

#include <utility>

#include "schedd/store/pg/statements.h"
#include "schedd/telemetry/log.h"

namespace muster::pg {
namespace {

// Takes ownership of a result, so that it is cleared on every path.
PgResult Own(PGresult* result) { return {result, &PQclear}; }

std::string Field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// The sentence for a broken constraint of db/migrations.
struct ConstraintText {
  const char* constraint;
  const char* sentence;
};
constexpr ConstraintText kConstraintTexts[] = {
    {"dispatches_one_live", "the job already has a live attempt"},
    {"dispatches_name", "another attempt still holds this object name on the member cluster"},
    {"job_state_live_name", "a job of this name and kind exists in the namespace"},
    {"jobs_pkey", "the job number is taken"},
    {"jobs_uid_key", "the job's uid is taken"},
    {"jobs_accept_seq_key", "the event number is taken"},
    {"events_pkey", "the event number is taken"},
    {"quota_usage_amount_check", "quota usage cannot be negative"},
};

// The sentence for a constraint by its name in the schema; an unknown one is named.
std::string ConstraintSentence(const std::string& constraint) {
  for (const ConstraintText& known : kConstraintTexts) {
    if (constraint == known.constraint) return known.sentence;
  }
  return "the database refused the change by its rule " + constraint;
}

}  // namespace

Failure FailureOf(const std::string& sqlstate, const std::string& message,
                  const std::string& constraint) {
  const auto environment = [](std::string sentence) {
    return Failure{FailureKind::kEnvironment, Unavailable(std::move(sentence))};
  };
  if (sqlstate == "MU001") {
    return {FailureKind::kFenced, Aborted("this daemon no longer leads; its epoch has passed")};
  }
  if (sqlstate == "MU002") {
    return {FailureKind::kItem, {Code::kFailedPrecondition, message}};
  }
  if (sqlstate == "MU003" || constraint == "audit_pkey") {
    return {FailureKind::kChain,
            {Code::kDataLoss, "the audit trail was changed by somebody else than this daemon"}};
  }
  // A prepared statement that is not there (26000), or is there before it was made (42P05), is
  // another sign of a session that is shared.
  if (sqlstate == sql::kSharedSession || sqlstate == "26000" || sqlstate == "42P05") {
    return environment(
        "a pooler before the database lets connections share sessions; Muster needs a session for "
        "each connection (PgBouncer: pool_mode = session)");
  }
  if (sqlstate == "53100") return environment("the database's disk is full; nothing was written");
  if (sqlstate == "25006") return environment("the database is read-only; nothing was written");
  if (StartsWith(sqlstate, "53"))
    return environment("the database is out of a resource; nothing was written");
  if (StartsWith(sqlstate, "57P")) return environment("the database is stopping or starting");
  if (StartsWith(sqlstate, "58"))
    return environment("the database cannot use its files; nothing was written");
  if (StartsWith(sqlstate, "40") || sqlstate == "55P03")
    return environment("the database gave up a conflicting change; nothing was written");
  if (StartsWith(sqlstate, "42") || StartsWith(sqlstate, "3F")) {
    return environment(
        "the database's tables, or the rights on them, are not as Muster needs them (SQLSTATE " +
        sqlstate + "); nothing was written: musterd doctor and the database's log say more");
  }
  if (sqlstate == "57014")
    return environment("the database ended a statement, by a timeout or because somebody said so");
  if (StartsWith(sqlstate, "23")) {
    return {FailureKind::kItem, {Code::kFailedPrecondition, ConstraintSentence(constraint)}};
  }
  if (StartsWith(sqlstate, "22")) {
    return {FailureKind::kItem, InvalidArgument("a value cannot be stored: " + message)};
  }
  return {FailureKind::kItem,
          Internal("the database refused a change (SQLSTATE " + sqlstate + ")")};
}

bool IsWarning(const char* severity, const char* sqlstate) {
  const std::string_view level = severity == nullptr ? "" : severity;
  const std::string_view code = sqlstate == nullptr ? "" : sqlstate;
  return level == "WARNING" || code.substr(0, 2) == "01";
}

// libpq's message may name paths and addresses: it is for the log, not for users.
Error Unreachable() {
  return Unavailable(
      "the database cannot be reached, or takes no writes: connection_failed in the daemon's log "
      "says why");
}

Result<std::unique_ptr<PqConnection>> PqConnection::Open(const std::string& url,
                                                         Watchdog& watchdog) {
  if (watchdog.stopped()) return Unavailable("the daemon is stopping");
  Handle handle(PQconnectdb(url.c_str()), &PQfinish);
  if (handle == nullptr) return Unavailable("no memory for a database connection");
  if (PQstatus(handle.get()) != CONNECTION_OK) {
    Log(LogLevel::kWarning, "store", "connection_failed",
        {{"err", std::string_view(PQerrorMessage(handle.get()))}});
    return Unreachable();
  }
  std::unique_ptr<PqConnection> opened(new PqConnection(std::move(handle), watchdog));
  PQsetNoticeReceiver(opened->connection_.get(), &PqConnection::OnNotice, opened.get());
  return opened;
}

// Runs inside libpq calls; it only marks the connection, which Judge and Finish then see.
void PqConnection::OnNotice(void* self, const PGresult* notice) {
  const char* severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char* sqlstate = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  if (!IsWarning(severity, sqlstate)) return;
  static_cast<PqConnection*>(self)->given_up_ = true;
  Log(LogLevel::kWarning, "store", "database_warned",
      {{"sqlstate", Field(notice, PG_DIAG_SQLSTATE)},
       {"err", Field(notice, PG_DIAG_MESSAGE_PRIMARY)}});
}

Failure PqConnection::Lost() const {
  return {FailureKind::kConnection, Unavailable("the connection to the database was lost")};
}

Failure PqConnection::Judge(const PGresult* result) {
  if (given_up_) return Lost();
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return {};
  return FailureOfResult(result);
}

// An empty SQLSTATE is a failure of libpq itself; after FATAL the server has closed the session.
Failure PqConnection::FailureOfResult(const PGresult* result) const {
  const std::string sqlstate = Field(result, PG_DIAG_SQLSTATE);

  const std::string severity = Field(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (sqlstate.empty() || severity == "FATAL" || severity == "PANIC" || !alive()) return Lost();
  return FailureOf(sqlstate, Field(result, PG_DIAG_MESSAGE_PRIMARY),
                   Field(result, PG_DIAG_CONSTRAINT_NAME));
}

Failure PqConnection::OwnSession() {
  PgResult rows(nullptr, &PQclear);
  Failure failure = Query(sql::kOwnSession, Params(), &rows);
  if (failure.kind == FailureKind::kNone && PQgetlength(rows.get(), 0, 0) == 0)
    failure = FailureOf(sql::kSharedSession, "", "");
  return failure;
}

Failure PqConnection::Execute(const char* sql) {
  const Watchdog::Watch watch(watchdog_, socket(), answer_within_);
  return Judge(Own(PQexec(connection_.get(), sql)).get());
}

Failure PqConnection::Prepare(const char* name, const char* sql) {
  const Watchdog::Watch watch(watchdog_, socket(), answer_within_);
  return Judge(Own(PQprepare(connection_.get(), name, sql, 0, nullptr)).get());
}

Failure PqConnection::Query(const char* sql, const Params& params, PgResult* rows) {
  const Watchdog::Watch watch(watchdog_, socket(), answer_within_);
  const ParamView view = params.View();
  PgResult result = Own(PQexecParams(connection_.get(), sql, view.count, view.types, view.values,
                                     view.lengths, view.formats, 0));
  Failure failure = Judge(result.get());
  if (failure.kind == FailureKind::kNone && rows != nullptr) *rows = std::move(result);
  return failure;
}

// Pipeline mode and the watch begin with the first open transaction and end with the last.
void PqConnection::Begin() {
  if (open_.empty()) {
    send_failed_ = PQenterPipelineMode(connection_.get()) != 1;
    watch_.emplace(watchdog_, socket(), answer_within_);
  }
  open_.emplace_back();
}

void PqConnection::Sent(int ok, std::function<void(const PGresult&)> on_rows) {
  if (ok != 1) send_failed_ = true;
  open_.back().push_back(std::move(on_rows));
}

// After a failed send nothing more is sent; Finish then reports the lost connection.
void PqConnection::Queue(const char* prepared, const Params& params,
                         std::function<void(const PGresult&)> on_rows) {
  if (send_failed_) return;
  const ParamView view = params.View();
  Sent(PQsendQueryPrepared(connection_.get(), prepared, view.count, view.values, view.lengths,
                           view.formats, 0),
       std::move(on_rows));
}

void PqConnection::QueueSql(const std::string& sql, const Params& params) {
  if (send_failed_) return;
  const ParamView view = params.View();
  Sent(PQsendQueryParams(connection_.get(), sql.c_str(), view.count, view.types, view.values,
                         view.lengths, view.formats, 0),
       {});
}

// The sync point: everything since the last one is a transaction.
void PqConnection::Send() {
  if (!send_failed_ && PQpipelineSync(connection_.get()) != 1) send_failed_ = true;
}

// A failed connection counts as answered: Finish then returns at once.
bool PqConnection::Answered() {
  if (send_failed_ || given_up_ || PQconsumeInput(connection_.get()) != 1) return true;
  return PQisBusy(connection_.get()) == 0;
}

bool PqConnection::Listen() {
  if (PQconsumeInput(connection_.get()) != 1) return false;
  (void)PQisBusy(connection_.get());  // parses the input, which calls OnNotice for a warning
  return alive();
}

Failure PqConnection::Finish() {
  Failure failure = FinishOldest();
  if (open_.empty() || failure.kind == FailureKind::kConnection) {
    watch_.reset();
  } else {
    watch_->Extend(answer_within_);  // the server begins the next transaction only now
  }
  return failure;
}

// Reads the results of one transaction, statement by statement, then its sync point. Handlers run
// only as long as no statement has failed.
Failure PqConnection::FinishOldest() {
  const Handlers handlers = std::move(open_.front());
  open_.pop_front();
  if (send_failed_) return Lost();
  Failure first;
  for (const auto& on_rows : handlers) {
    const PgResult result = Own(PQgetResult(connection_.get()));
    if (result == nullptr) return Lost();
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
      if (on_rows && first.kind == FailureKind::kNone) on_rows(*result);
    } else if (status != PGRES_PIPELINE_ABORTED && first.kind == FailureKind::kNone) {
      first = FailureOfResult(result.get());
      if (first.kind == FailureKind::kConnection) return first;
    }
    // Null marks the end of this statement's results.
    const PgResult end = Own(PQgetResult(connection_.get()));
    if (end != nullptr) return Lost();
  }
  const PgResult sync = Own(PQgetResult(connection_.get()));
  // A warning about the commit itself comes just before the sync point.
  if (PQresultStatus(sync.get()) != PGRES_PIPELINE_SYNC || given_up_) return Lost();
  if (open_.empty() && PQexitPipelineMode(connection_.get()) != 1) return Lost();
  return first;
}

}  // namespace muster::pg
