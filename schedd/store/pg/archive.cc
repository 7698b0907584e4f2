// pg_restore gives the archive as SQL, psql runs it in one transaction, and the script of
// restore_script.cc follows in the same one. Facts of an archive are read from it before: single
// tables as text, its time from its table of contents.
#include "schedd/store/pg/archive.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <sstream>

#include <pqxx/pqxx>

#include "schedd/store/pg/client_tools.h"
#include "schedd/store/pg/diagnosis.h"
#include "schedd/store/pg/one_session.h"
#include "schedd/store/pg/restore_script.h"
#include "schedd/store/pg/statements_read.h"
#include "schedd/store/pg/statements_restore.h"

namespace muster::pg {
namespace {

constexpr std::chrono::seconds kLookWithin{10};

Error Refused(std::string why) { return {Code::kFailedPrecondition, std::move(why)}; }

// One short read on a session of its own.
template <class Read>
auto Look(const std::string& url, Read read)
    -> Result<decltype(read(std::declval<pqxx::work&>()))> {
  decltype(read(std::declval<pqxx::work&>())) found{};
  const Status looked =
      RunOnce(url, kLookWithin, [&](pqxx::work& work, Watchdog::Watch&) { found = read(work); });
  if (!looked.ok()) return looked.error();
  return found;
}

Result<ClientTools> ToolsFor(const std::string& url) {
  const auto version =
      Look(url, [](pqxx::work& work) { return work.exec1(sql::kServerVersion)[0].as<int>(); });
  if (!version.ok()) return version.error();
  return ClientTools::Find(*version / 10000);
}

// The rows of a table as pg_restore prints them: lines between the statement that ends in stdin and
// "\.", fields behind tabs.
std::vector<std::vector<std::string>> RowsOf(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!inside) {
      inside = line.ends_with(" FROM stdin;");
    } else if (line == "\\.") {
      inside = false;
    } else {
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
    }
  }
  return rows;
}

// ";     Archive created at 2026-11-27 18:40:43 UTC"; not set if the line is not there.
WallTime TimeOf(const std::string& contents) {
  constexpr std::string_view kLine = "Archive created at ";
  const std::size_t at = contents.find(kLine);
  std::tm time{};
  if (at == std::string::npos ||
      strptime(contents.c_str() + at + kLine.size(), "%Y-%m-%d %H:%M:%S", &time) == nullptr)
    return {};
  return {std::int64_t{timegm(&time)} * 1'000'000};
}

}  // namespace

// The file appears under its name when it is whole and on disk.
Status WriteArchive(const std::string& url, const std::string& file) {
  struct stat there {};
  if (lstat(file.c_str(), &there) == 0) return Refused(file + " exists: it is not overwritten");
  const auto tools = ToolsFor(url);
  if (!tools.ok()) return tools.error();
  const std::string part = file + ".part";
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return Refused("cannot write " + part + ": " + std::strerror(errno));
  const auto dumped = tools->Run("pg_dump", {"-Fc", "--no-owner", "-f", part}, url);
  const bool kept = dumped.ok() && fsync(fd) == 0 && rename(part.c_str(), file.c_str()) == 0;
  const int why = errno;
  close(fd);
  if (kept) return Done{};
  unlink(part.c_str());
  if (!dumped.ok()) return dumped.error();
  return Refused("cannot write " + file + ": " + std::strerror(why));
}

Result<ArchiveFacts> ReadArchive(const std::string& url, const std::string& file,
                                 const std::vector<Migration>& migrations) {
  const auto tools = ToolsFor(url);
  if (!tools.ok()) return tools.error();
  const auto contents = tools->Run("pg_restore", {"-l", file}, "");
  if (!contents.ok()) return contents.error();
  const auto table = [&](const char* name) {
    return tools->Run("pg_restore", {"--data-only", "-t", name, "-f", "-", file}, "");
  };
  const auto applied = table("schema_migrations"), installation = table("installation");
  if (!applied.ok()) return applied.error();
  if (!installation.ok()) return installation.error();
  ArchiveFacts facts;
  facts.taken = TimeOf(*contents);
  for (const auto& row : RowsOf(*applied)) {
    int number = 0;
    if (row.size() < 3) continue;
    std::from_chars(row[0].data(), row[0].data() + row[0].size(), number);
    facts.migrations[number] = {row[1], row[2]};
    facts.schema = std::max(facts.schema, number);
  }
  const auto identity = RowsOf(*installation);
  if (facts.migrations.empty() || identity.size() != 1 || identity[0].size() < 2)
    return Refused(file + " is no backup of a Muster database");
  facts.instance = identity[0][1];
  const int newest = migrations.empty() ? 0 : migrations.back().number;
  if (facts.schema > newest) {
    return Refused("the backup has schema " + std::to_string(facts.schema) +
                   ", and this program knows schema " + std::to_string(newest) +
                   ": use the program of that version");
  }
  const auto edited = Look(url, [&](pqxx::work& work) {
    for (const Migration& one : migrations) {
      const auto found = facts.migrations.find(one.number);
      if (found == facts.migrations.end()) continue;
      const std::string sum = work.exec_params1(sql::kChecksum, std::string(one.up))[0].c_str();
      if (found->second.checksum != sum) return one.number;
    }
    return 0;
  });
  if (!edited.ok()) return edited.error();
  if (*edited != 0) {
    return Refused("migration " + std::to_string(*edited) +
                   " of the backup was applied in another version than this program's; use the "
                   "program that made it");
  }
  return facts;
}

Status CheckEmpty(const std::string& url, bool alone) {
  const auto found = Look(url, [](pqxx::work& work) {
    std::pair<std::string, std::string> there;
    there.first = work.exec1(sql::kFirstRelation)[0].as<std::string>("");
    if (!there.first.empty() && work.exec1(sql::kHasLease)[0].as<bool>()) {
      for (const pqxx::row& row : work.exec(sql::kLeaderNow))
        there.second = row[0].as<std::string>();
    }
    return there;
  });
  if (!found.ok()) return found.error();
  if (found->first.empty()) return Done{};
  if (!found->second.empty() && !alone) {
    return Refused("the database is in use: the daemon on " + found->second +
                   " leads it. Stop it, and restore into an empty database");
  }
  return Refused("the database is not empty: it has " + found->first +
                 ". Restore into an empty one");
}

Status RestoreArchive(const std::string& url, const std::string& file, const ArchiveFacts& facts,
                      const std::vector<Migration>& migrations) {
  const auto tools = ToolsFor(url);
  if (!tools.ok()) return tools.error();
  return tools->Pipe("pg_restore", {"--no-owner", "-f", "-", file}, "psql",
                     {"-X", "-q", "-1", "-v", "ON_ERROR_STOP=1", "-f", "-"}, url,
                     RestoreScript(facts, migrations));
}

}  // namespace muster::pg
