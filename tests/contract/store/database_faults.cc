#include "tests/contract/store/database_faults.h"

#include <unistd.h>

#include <chrono>
#include <future>
#include <stdexcept>

#include <pqxx/pqxx>

#include "tests/contract/store/test_server.h"

namespace muster::test {
namespace {

constexpr const char* kWriter =
    " pg_stat_activity where application_name = 'musterd writer' and datname = current_database()";

void AwaitRows(const std::string& url, const std::string& count, const std::string& wanted) {
  for (int i = 0; i < 6000; ++i) {
    if (RunSql(url, count) == wanted) return;
    usleep(10'000);
  }
  throw std::runtime_error("never came: " + count);
}

// True if a commit waits for a standby. Sessions show a setting before it holds for commits.
bool CommitWaits(const std::string& url) {
  const std::string probe =
      " pg_stat_activity where application_name = 'probe' and wait_event = 'SyncRep' and "
      "datname = current_database()";
  auto committed = std::async(std::launch::async, [&url] {
    RunSql(url,
           "set application_name = 'probe'; select pg_logical_emit_message(true, 'probe', '')");
  });
  bool waits = false;
  while (committed.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
    waits = waits || RunSql(url, "select count(*) from" + probe) == "1";
    if (waits) RunSql(url, "select bool_and(pg_cancel_backend(pid)) from" + probe);
  }
  committed.get();
  return waits;
}

}  // namespace

void EndWriter(const std::string& url) {
  RunSql(url, std::string("select bool_and(pg_terminate_backend(pid, 60000)) from") + kWriter);
}

void CancelWriter(const std::string& url) {
  RunSql(url, std::string("select bool_and(pg_cancel_backend(pid)) from") + kWriter);
}

void AwaitWriter(const std::string& url, const std::string& what) {
  AwaitRows(url,
            std::string("select count(*) from") + kWriter + " and '" + what +
                "' in (wait_event, wait_event_type)",
            "1");
}

struct LockedTable::Impl {
  explicit Impl(const std::string& url) : connection(url), work(connection) {}
  pqxx::connection connection;
  pqxx::work work;
};

LockedTable::LockedTable(const std::string& url, const std::string& table)
    : impl_(std::make_unique<Impl>(url)) {
  impl_->work.exec("lock table " + table + " in exclusive mode");
}
LockedTable::~LockedTable() = default;
void LockedTable::Release() { impl_.reset(); }

AbsentStandby::AbsentStandby(std::string url) : url_(std::move(url)) {
  RunSql(url_, "alter system set synchronous_standby_names = 'nobody'");
  RunSql(url_, "select pg_reload_conf()");
  AwaitRows(url_, "show synchronous_standby_names", "nobody");
  for (int i = 0; !CommitWaits(url_); ++i) {
    if (i == 6000) throw std::runtime_error("commits do not wait for a standby");
  }
}
AbsentStandby::~AbsentStandby() { Return(); }
void AbsentStandby::Return() {
  if (!absent_) return;
  absent_ = false;
  RunSql(url_, "alter system reset synchronous_standby_names");
  RunSql(url_, "select pg_reload_conf()");
}

struct Overtaker::Impl {
  std::future<void> done;
};

Overtaker::Overtaker(const std::string& url, std::int64_t like, std::vector<std::int64_t> taken)
    : impl_(std::make_unique<Impl>()) {
  impl_->done = std::async(std::launch::async, [url, like, taken = std::move(taken)] {
    pqxx::connection connection(url);
    pqxx::work work(connection);
    work.exec("set local application_name = 'overtaker'; set local synchronous_commit = local");
    work.exec("update leader set epoch = epoch + 1, holder = 'beta', last_group = 1");
    for (const std::int64_t id : taken) {
      const std::string number = std::to_string(id);
      work.exec("create temporary table copied on commit drop as select * from jobs where id = " +
                std::to_string(like));
      work.exec("update copied set uid = gen_random_uuid(), accept_seq = 1000000 + " + number +
                ", id = " + number);
      work.exec("insert into jobs select * from copied");
      work.exec("drop table copied");
    }
    work.commit();
  });
  AwaitRows(url,
            "select count(*) from pg_stat_activity where application_name = 'overtaker' and "
            "wait_event_type = 'Lock' and datname = current_database()",
            "1");
}
Overtaker::~Overtaker() = default;
void Overtaker::Await() { impl_->done.get(); }

}  // namespace muster::test
