// Each command opens the door to the database, does one thing and prints what it did. Errors go to
// stderr as one sentence, like the daemon's own.
#include "schedd/daemon/admin.h"

#include <signal.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "schedd/base/time.h"
#include "schedd/daemon/command_line_secrets.h"
#include "schedd/daemon/database_door.h"
#include "schedd/doctor/report.h"
#include "schedd/store/pg/archive.h"
#include "schedd/store/pg/diagnosis.h"
#include "schedd/store/pg/migrator.h"
#include "schedd/store/pg/url.h"
#include "schedd/telemetry/log.h"

namespace muster {
namespace {

constexpr int kRefused = 1, kBadUsage = 2, kNotReached = 3;

constexpr char kUsage[] =
    "usage: musterd doctor [-o json] [KEYS]   what is off in the database, and how to mend it\n"
    "       musterd backup FILE [KEYS]        a copy of the database, while a daemon may go on\n"
    "       musterd restore FILE [KEYS]       into an empty database\n"
    "       musterd migrate SCHEMA [KEYS]     to that number; without a daemon\n"
    "KEYS say which database: --data-dir, --postgres, --postgres-owner, --config, as for the "
    "daemon\n";

// What the command line says beside the keys of the configuration.
struct Words {
  std::string command, operand;
  bool json = false, help = false;
  std::vector<char*> keys;  // the program's name first
};

// `url`: of the database that was asked; if it cannot be reached, libpq's words say why.
int Fail(const Error& error, const std::string& url = "") {
  std::string why;
  if (error.code == Code::kUnavailable && !url.empty()) why = pg::WhyNotReached(url);
  std::fprintf(stderr, "musterd: %s%s%s\n", error.detail.c_str(), why.empty() ? "" : ": ",
               why.c_str());
  return error.code == Code::kUnavailable       ? kNotReached
         : error.code == Code::kInvalidArgument ? kBadUsage
                                                : kRefused;
}

int Misused(const char* what) {
  std::fprintf(stderr, "musterd: %s\n%s", what, kUsage);
  return kBadUsage;
}

int RunDoctor(const DaemonConfig& config, bool as_json) {
  const auto door = DatabaseDoor::Open(config, false, true);
  if (!door.ok()) return Fail(door.error());
  const auto findings = doctor::Examine((*door)->url(), *config.admission, !(*door)->alone());
  if (!findings.ok()) return Fail(findings.error(), (*door)->url());
  const std::string text = as_json ? doctor::ReportJson(*findings) : doctor::ReportText(*findings);
  std::fputs(text.c_str(), stdout);
  return doctor::CountOff(*findings) == 0 ? 0 : kRefused;
}

int RunBackup(const DaemonConfig& config, const std::string& file) {
  const auto door = DatabaseDoor::Open(config, false, true);
  if (!door.ok()) return Fail(door.error());
  const Status written = pg::WriteArchive((*door)->url(), file);
  if (!written.ok()) return Fail(written.error(), (*door)->url());
  const auto facts = pg::ReadArchive((*door)->url(), file);
  if (!facts.ok()) {
    // A file that this program could not restore must not look like a backup.
    std::remove(file.c_str());
    return Fail(facts.error(), (*door)->url());
  }
  std::printf("%s: schema %d of installation %s, as of %s\n", file.c_str(), facts->schema,
              facts->instance.c_str(), FormatRfc3339(facts->taken).c_str());
  std::puts("Keep the key of its secrets apart from it (DATA_DIR/keys/secrets, --secrets-key).");
  return 0;
}

int RunRestore(const DaemonConfig& config, const std::string& file) {
  const auto door = DatabaseDoor::Open(config, true, false);
  if (!door.ok()) return Fail(door.error());
  const std::string& url = (*door)->url();
  const Status empty = pg::CheckEmpty(url, (*door)->alone());
  if (!empty.ok()) return Fail(empty.error(), url);
  const auto facts = pg::ReadArchive(url, file);
  if (!facts.ok()) return Fail(facts.error(), url);
  const Status restored = pg::RestoreArchive(url, file, *facts);
  if (!restored.ok()) {
    // Whoever was faster is why it failed; the error is only about the first thing that both make.
    const Status still = pg::CheckEmpty(url, (*door)->alone());
    if (still.ok() || still.error().code == Code::kUnavailable) return Fail(restored.error(), url);
    return Fail({still.error().code,
                 "somebody else has filled the database meanwhile, and nothing "
                 "was restored: " +
                     still.error().detail});
  }
  std::printf("restored installation %s as of %s\n", facts->instance.c_str(),
              FormatRfc3339(facts->taken).c_str());
  std::puts(
      "The next daemon follows what runs on members, holds the jobs that waited, and sets aside "
      "what the backup does not know.");
  std::puts("Look at `muster doctor`, then release jobs (`muster release`) and collect members.");
  return 0;
}

// Up to this program's schema, or down.
int RunMigrate(const DaemonConfig& config, const std::string& to) {
  int target = 0;
  const auto [end, wrong] = std::from_chars(to.data(), to.data() + to.size(), target);
  const int newest = pg::EmbeddedMigrations().back().number;
  if (wrong != std::errc() || end != to.data() + to.size() || target < 0)
    return Misused("the schema is a number");
  if (target > newest) {
    return Fail({Code::kFailedPrecondition,
                 "this program knows schema " + std::to_string(newest) + " and none above it"});
  }
  const auto door = DatabaseDoor::Open(config, false, false);
  if (!door.ok()) return Fail(door.error());
  const Result<std::string> url = pg::CompleteUrl((*door)->url());
  if (!url.ok()) return Fail(url.error());
  const Status done =
      target == newest ? pg::MigrateUp(*url) : pg::MigrateDown(*url, target, (*door)->alone());
  if (!done.ok()) return Fail(done.error(), *url);
  std::printf("the schema is %d\n", target);
  return 0;
}

Words WordsOf(int argc, char** argv) {
  Words words;
  words.command = argv[1];
  words.keys = {argv[0]};
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-o" && i + 1 < argc && std::strcmp(argv[i + 1], "json") == 0) {
      words.json = true;
      ++i;
    } else if (word == "--help" || word == "-h") {
      words.help = true;
    } else if (i == 2 && !word.starts_with("-")) {
      words.operand = word;
    } else {
      words.keys.push_back(argv[i]);
    }
  }
  return words;
}

}  // namespace

std::optional<int> RunAdminCommand(int argc, char** argv, EnvironmentLookup env) {
  if (argc < 2) return std::nullopt;
  const std::string command = argv[1];
  if (command != "doctor" && command != "backup" && command != "restore" && command != "migrate")
    return std::nullopt;
  const Words words = WordsOf(argc, argv);
  if (words.help) return std::fputs(kUsage, stdout), 0;
  const bool takes_operand = command != "doctor";
  if (takes_operand == words.operand.empty())
    return Misused(takes_operand ? "an operand is missing" : "doctor takes no operand");
  if (words.json && command != "doctor") return Misused("-o json is for doctor");
  const auto parsed = ParseCommandLine(static_cast<int>(words.keys.size()), words.keys.data(), env);
  if (!parsed.ok()) return Fail(parsed.error());
  HideDatabasePasswords(argc, argv, pg::MayHavePassword);
  signal(SIGPIPE, SIG_IGN);
  const Status logs = InitLog(LogLevel::kError, "");
  if (!logs.ok()) return Fail(logs.error());
  int status = 0;
  if (command == "doctor") status = RunDoctor(parsed->config, words.json);
  if (command == "backup") status = RunBackup(parsed->config, words.operand);
  if (command == "restore") status = RunRestore(parsed->config, words.operand);
  if (command == "migrate") status = RunMigrate(parsed->config, words.operand);
  FlushLog();
  return status;
}

}  // namespace muster
