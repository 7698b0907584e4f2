// Each question has a savepoint of its own, so that one that fails does not end the snapshot of the
// others.
#include "schedd/store/pg/diagnosis.h"

#include <libpq-fe.h>

#include <map>
#include <memory>

#include <pqxx/pqxx>

#include "schedd/base/limits_doctor.h"
#include "schedd/store/pg/one_session.h"
#include "schedd/store/pg/statements_doctor.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/url.h"

namespace muster::pg {
namespace {

constexpr std::chrono::milliseconds kAnswerWithin{limits::kDoctorWithinMs};

std::string Limited(const char* question) {
  return "select t, count(*) over () from (" + std::string(question) + ") q (t) limit " +
         std::to_string(limits::kDoctorTexts);
}

Answer AskOne(pqxx::dbtransaction& work, const char* question) {
  Answer answer;
  pqxx::subtransaction savepoint(work);
  for (const pqxx::row& row : savepoint.exec(Limited(question))) {
    answer.texts.push_back(row[0].as<std::string>(""));
    answer.count = row[1].as<std::int64_t>();
  }
  savepoint.commit();
  return answer;
}

// Of one question: others may be answered all the same. libpqxx gives no SQLSTATE with these types.
std::string WhyNotAnswered(const pqxx::sql_error& error) {
  if (dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr)
    return "the role may not read it: name the owner of the schema, or the daemon's role";
  // A table or column that is not there.
  if (dynamic_cast<const pqxx::syntax_error*>(&error) != nullptr ||
      error.sqlstate().starts_with("42"))
    return "this schema has not what the question is about";
  return "the database does not answer it: " + std::string(error.what());
}

}  // namespace

Result<std::vector<Result<Answer>>> Ask(const std::string& url,
                                        const std::vector<const char*>& questions) {
  std::vector<Result<Answer>> answers;
  const Status read = RunOnce(url, kAnswerWithin, [&](pqxx::work& work, Watchdog::Watch& watch) {
    work.exec(sql::kDoctorSnapshot);
    for (const char* question : questions) {
      watch.Extend(kAnswerWithin);
      try {
        answers.emplace_back(AskOne(work, question));
      } catch (const pqxx::sql_error& error) {
        answers.emplace_back(Error{Code::kFailedPrecondition, WhyNotAnswered(error)});
      }
    }
  });
  if (!read.ok()) return read.error();
  return answers;
}

Result<std::vector<std::string>> SchemaStanding(const std::string& url,
                                                const std::vector<Migration>& migrations) {
  std::vector<std::string> off;
  const Status read = RunOnce(url, kAnswerWithin, [&](pqxx::work& work, Watchdog::Watch&) {
    if (work.exec1(sql::kNoMigrationTable)[0].as<bool>()) {
      off.emplace_back("the database has no schema of Muster");
      return;
    }
    std::map<int, std::pair<std::string, std::string>> applied;
    for (const pqxx::row& row : work.exec(sql::kMigrationsApplied))
      applied[row[0].as<int>()] = {row[1].as<std::string>(), row[2].as<std::string>()};
    for (const Migration& one : migrations) {
      const auto found = applied.find(one.number);
      const std::string what = "migration " + std::to_string(one.number) + " (" + one.name + ")";
      if (found == applied.end()) {
        off.push_back(what + " is missing: a daemon of this version applies it when it starts");
        continue;
      }
      const std::string sum = work.exec_params1(sql::kChecksum, one.up)[0].as<std::string>();
      if (found->second.second != sum) off.push_back(what + " was applied in another version");
      applied.erase(found);
    }
    for (const auto& [number, one] : applied) {
      off.push_back("migration " + std::to_string(number) + " (" + one.first +
                    ") is not known to this program: the schema is of a newer version");
    }
  });
  if (!read.ok()) return read.error();
  return off;
}

std::string WhyNotReached(const std::string& url) {
  const Result<std::string> complete = CompleteUrl(url);
  if (!complete.ok()) return complete.error().detail;
  const std::unique_ptr<PGconn, decltype(&PQfinish)> session(PQconnectdb(complete->c_str()),
                                                             &PQfinish);
  if (session != nullptr && PQstatus(session.get()) == CONNECTION_OK) return "";
  std::string why = session == nullptr ? "no memory is left" : PQerrorMessage(session.get());
  while (!why.empty() && why.back() == '\n') why.pop_back();
  for (std::size_t at = 0; (at = why.find('\n', at)) != std::string::npos;)
    why.replace(at, 1, "; ");
  return why;
}

}  // namespace muster::pg
