#include "tests/bench/sql_ceiling.h"

#include <libpq-fe.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

namespace muster::bench {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Closer {
  void operator()(PGconn* connection) const { PQfinish(connection); }
  void operator()(PGresult* result) const { PQclear(result); }
};
using Connection = std::unique_ptr<PGconn, Closer>;
using Answer = std::unique_ptr<PGresult, Closer>;

constexpr const char* kTable =
    "SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS muster_bench;"
    "DROP TABLE IF EXISTS muster_bench.jobs;"
    "CREATE TABLE muster_bench.jobs (id bigint PRIMARY KEY, uid uuid NOT NULL UNIQUE, namespace "
    "text NOT NULL, name text NOT NULL,"
    " queue text NOT NULL, cluster_queue text NOT NULL, priority int NOT NULL, state smallint NOT "
    "NULL, submitted timestamptz NOT NULL,"
    " pod_sets text NOT NULL, manifest json NOT NULL, UNIQUE (namespace, name))";
constexpr const char* kInsert =
    "INSERT INTO muster_bench.jobs VALUES ($1::bigint, gen_random_uuid(), 'bench', 'job-' || "
    "$1::bigint, "
    "'bench', 'bench', 0, 2::smallint, now(),"
    " '[{\"name\":\"main\",\"count\":1,\"requests\":{\"cpu\":1000,\"memory\":268435456}}]', $2)";

Result<Connection> Connect(const std::string& url) {
  Connection connection(PQconnectdb(url.c_str()));
  if (PQstatus(connection.get()) != CONNECTION_OK)
    return Unavailable(PQerrorMessage(connection.get()));
  return connection;
}

Status Execute(PGconn* connection, const char* sql) {
  const Answer answer(PQexec(connection, sql));
  const auto status = PQresultStatus(answer.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN)
    return Internal(PQerrorMessage(connection));
  return Done{};
}

// Runs on the thread of one client: prepared inserts, each in its own transaction, until the
// deadline.
std::vector<double> InsertUntil(PGconn* connection, std::atomic<std::int64_t>* next,
                                double deadline, const std::string& manifest) {
  std::vector<double> seconds;
  Answer(PQprepare(connection, "insert", kInsert, 2, nullptr));
  while (Now() < deadline) {
    const std::string id = std::to_string(next->fetch_add(1));
    const char* values[] = {id.c_str(), manifest.c_str()};
    const double begun = Now();
    const Answer answer(PQexecPrepared(connection, "insert", 2, values, nullptr, nullptr, 0));
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK) return seconds;
    seconds.push_back(Now() - begun);
  }
  return seconds;
}

}  // namespace

Result<SqlRate> InsertRate(const std::string& url, int clients, double seconds,
                           const std::string& manifest) {
  std::vector<Connection> connections;
  for (int i = 0; i < clients; ++i) {
    auto connection = Connect(url);
    if (!connection.ok()) return connection.error();
    connections.push_back(std::move(connection).value());
  }
  auto status = Execute(connections.front().get(), kTable);
  if (!status.ok()) return status.error();
  SqlRate rate;
  std::mutex mutex;
  std::atomic<std::int64_t> next = 1;
  const double begun = Now();
  {
    std::vector<std::jthread> threads;
    for (auto& connection : connections) {
      threads.emplace_back([&, raw = connection.get()] {
        auto mine = InsertUntil(raw, &next, begun + seconds, manifest);
        std::lock_guard lock(mutex);
        rate.commit_seconds.insert(rate.commit_seconds.end(), mine.begin(), mine.end());
      });
    }
  }
  rate.per_second = static_cast<double>(rate.commit_seconds.size()) / (Now() - begun);
  if (rate.commit_seconds.empty()) return Internal("not one row of the ceiling was inserted");
  status = Execute(connections.front().get(), "DROP TABLE muster_bench.jobs");
  if (!status.ok()) return status.error();
  return rate;
}

Result<SqlRate> CopyRate(const std::string& url, int rows, double seconds,
                         const std::string& manifest) {
  auto connection = Connect(url);
  if (!connection.ok()) return connection.error();
  PGconn* raw = connection->get();
  auto status = Execute(raw, kTable);
  if (!status.ok()) return status.error();
  std::string escaped;
  for (const char c : manifest) escaped += c == '\\' ? "\\\\" : std::string(1, c);
  SqlRate rate;
  std::int64_t id = 1;
  std::int64_t copied = 0;
  const double begun = Now();
  while (Now() - begun < seconds) {
    const double commit_begun = Now();
    status = Execute(raw, "COPY muster_bench.jobs FROM STDIN");
    if (!status.ok()) return status.error();
    for (int i = 0; i < rows; ++i, ++id) {
      char uid[48];
      std::snprintf(uid, sizeof uid, "00000000-0000-4000-8000-%012llx",
                    static_cast<unsigned long long>(id));
      const std::string line =
          std::to_string(id) + "\t" + uid + "\tbench\tjob-" + std::to_string(id) +
          "\tbench\tbench\t0\t2\t2026-01-01 "
          "00:00:00+00\t[{\"name\":\"main\",\"count\":1,\"requests\":{\"cpu\":1000,"
          "\"memory\":268435456}}]\t" +
          escaped + "\n";
      PQputCopyData(raw, line.data(), static_cast<int>(line.size()));
    }
    PQputCopyEnd(raw, nullptr);
    bool good = true;
    while (Answer answer{PQgetResult(raw)})
      good = good && PQresultStatus(answer.get()) == PGRES_COMMAND_OK;
    if (!good) return Internal(PQerrorMessage(raw));
    copied += rows;
    rate.commit_seconds.push_back(Now() - commit_begun);
  }
  rate.per_second = static_cast<double>(copied) / (Now() - begun);
  status = Execute(raw, "DROP TABLE muster_bench.jobs");
  if (!status.ok()) return status.error();
  return rate;
}

Result<std::vector<std::vector<std::string>>> QueryRows(const std::string& url,
                                                        const std::string& sql) {
  auto connection = Connect(url);
  if (!connection.ok()) return connection.error();
  const Answer answer(PQexec(connection->get(), sql.c_str()));
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK)
    return Internal(PQerrorMessage(connection->get()));
  std::vector<std::vector<std::string>> rows(static_cast<std::size_t>(PQntuples(answer.get())));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int field = 0; field < PQnfields(answer.get()); ++field)
      rows[i].emplace_back(PQgetvalue(answer.get(), static_cast<int>(i), field));
  }
  return rows;
}

}  // namespace muster::bench
