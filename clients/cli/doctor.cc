// muster doctor, backup, restore. What the database alone can tell is asked by the program of the
// daemon (`musterd doctor`, schedd/doctor), which also works when no daemon does; a running daemon
// adds what it knows of itself and of its members, which it compares with its rows all the time.
//
// `musterd` is the one beside this program, or else that of the search path.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clients/cli/commands.h"
#include "clients/cli/kinds.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "clients/lib/visible_text.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

std::string DaemonProgram() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (size <= 0) return "musterd";
  std::string program(path.data(), static_cast<std::size_t>(size));
  program.replace(program.rfind('/') + 1, std::string::npos, "musterd");
  return access(program.c_str(), X_OK) == 0 ? program : "musterd";
}

std::vector<std::string> WordsOf(const std::string& command, const std::string& operand,
                                 const DatabaseOptions& options) {
  std::vector<std::string> words{DaemonProgram(), command};
  if (!operand.empty()) words.push_back(operand);
  const auto add = [&words](const char* key, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {key, value});
  };
  add("--config", options.config);
  add("--data-dir", options.data_dir);
  add("--postgres", options.postgres);
  add("--postgres-owner", options.postgres_owner);
  return words;
}

// Runs musterd with this process's output; its exit status. With `out` its output goes there.
int RunDaemonProgram(std::vector<std::string> words, std::string* out = nullptr) {
  std::fflush(stdout);
  std::array<int, 2> ends{-1, -1};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (out != nullptr) {
    if (pipe(ends.data()) != 0) return PrintError("no descriptors are left"), kRefused;
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) close(ends[1]);
  if (failed != 0) {
    if (ends[0] >= 0) close(ends[0]);
    PrintError("cannot run " + words[0] + ": " + std::strerror(failed));
    return kRefused;
  }
  if (out != nullptr) {
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
      out->append(part.data(), static_cast<std::size_t>(got));
    close(ends[0]);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kRefused;
}

// True if anything says which database is meant.
bool NamesDatabase(const DatabaseOptions& options) {
  if (!options.data_dir.empty() || !options.postgres.empty() || !options.config.empty())
    return true;
  for (const char* name : {"MUSTER_DATA_DIR", "MUSTER_POSTGRES", "MUSTER_CONFIG"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

// One line of what a running daemon says: state is ok, note or off.
struct Told {
  std::string check, state, what;
};

void AddStatus(const json::value& status, std::vector<Told>* told) {
  const bool ready = client::PathText(status, "ready") == "true";
  const std::string role = ShownText(status, "role");
  std::string why;
  for (const json::value& reason : ArrayOrEmpty(status, "reasons")) {
    if (reason.is_string()) why += (why.empty() ? "" : "; ") + std::string(reason.get_string());
  }
  const bool stands_by = role == "standby";
  told->push_back({"daemon", ready || stands_by ? "ok" : "off",
                   ready ? "ready" : (why.empty() ? "not ready" : why)});
  const std::string leader = ShownText(status, "leader.address");
  if (!role.empty())
    told->push_back({"leader", leader.empty() ? "off" : "ok",
                     leader.empty() ? "nobody leads" : role + "; " + leader + " leads"});
  const json::value* age =
      status.is_object() ? status.get_object().if_contains("copyAgeSeconds") : nullptr;
  if (age != nullptr && age->is_number()) {
    char text[96];
    std::snprintf(text, sizeof text, "%.1f s old: what members have is the leader's to tell",
                  age->to_number<double>());
    told->push_back({"copy", "note", text});
  }
  // What an acknowledged write survives, as far as the server tells.
  const std::string promise = ShownText(status, "database.promise");
  const std::string problem = ShownText(status, "database.problem");
  if (!promise.empty() || !problem.empty()) {
    const bool off = promise == "none" || !problem.empty();
    told->push_back({"database", off ? "off" : "ok",
                     problem.empty() ? ShownText(status, "database.message") : problem});
  }
  for (const json::value& warning : ArrayOrEmpty(status, "warnings")) {
    told->push_back(
        {"warning", "note", ShownText(warning, "type") + ": " + ShownText(warning, "message")});
  }
}

// A member is off if it does not answer or has objects that no decision of the database explains.
void AddMember(const json::value& member, std::vector<Told>* told) {
  const std::string name = "member " + ShownText(member, "metadata.name");
  const json::value* status =
      member.is_object() ? member.get_object().if_contains("status") : nullptr;
  if (status == nullptr) return told->push_back({name, "off", "it has told nothing of itself"});
  bool whole = true;
  for (const json::value& one : ArrayOrEmpty(*status, "conditions")) {
    const std::string type = ShownText(one, "type"), value = ShownText(one, "status");
    const bool off =
        (type == "Healthy" && value != "True") || (type == "Quarantined" && value == "True");
    if (!off) continue;
    whole = false;
    told->push_back({name, "off", type + " is " + value + ": " + ShownText(one, "message")});
  }
  if (whole) told->push_back({name, "ok", "its objects are those of its attempts"});
}

// Everything that the daemon tells; one line if it does not answer.
std::vector<Told> AskDaemon(Session& session, bool* reached) {
  std::vector<Told> told;
  const client::Outcome<json::value> status = session.api.Get("/v1/status");
  *reached = status.ok();
  if (!status.ok()) {
    told.push_back({"daemon", "off", status.failure().detail});
    return told;
  }
  AddStatus(*status, &told);
  const Kind* kind = FindKind("memberclusters");
  const client::Outcome<json::value> members =
      session.api.Get(kind->base + "/" + std::string(kind->plural));
  if (!members.ok()) {
    told.push_back({"members", "off", "not asked: " + members.failure().detail});
    return told;
  }
  for (const json::value& member : ArrayOrEmpty(*members, "items")) AddMember(member, &told);
  return told;
}

bool AnyOff(const std::vector<Told>& told) {
  for (const Told& one : told) {
    if (one.state == "off") return true;
  }
  return false;
}

int PrintJson(const std::vector<Told>& told, const std::string& database) {
  json::array lines;
  for (const Told& one : told)
    lines.push_back(json::object{{"check", one.check}, {"state", one.state}, {"what", one.what}});
  json::object report{{"daemon", std::move(lines)}, {"database", nullptr}};
  if (const Result<json::value> parsed = ParseJson(database); parsed.ok())
    report["database"] = *parsed;
  std::printf("%s\n", WriteJsonPretty(report).c_str());
  return 0;
}

}  // namespace

int Doctor(Session& session, const DoctorOptions& options) {
  const bool asks_database = NamesDatabase(options.database);
  bool reached = false;
  const std::vector<Told> told = AskDaemon(session, &reached);
  int found = AnyOff(told) ? kRefused : 0;
  if (!reached && !asks_database) {
    PrintError(told.front().what);
    PrintError("name the database by --data-dir, --postgres or --config to look at it alone");
    return kNotReached;
  }
  std::string database;
  const bool as_json = options.output == "json";
  if (!as_json) {
    TextTable table({"CHECK", "STATE", "WHAT"});
    for (const Told& one : told) table.Add({one.check, one.state, one.what});
    std::fputs(table.Render().c_str(), stdout);
    std::puts(asks_database ? "" : "database: not asked (--data-dir, --postgres or --config)");
  }
  if (asks_database) {
    std::vector<std::string> words = WordsOf("doctor", "", options.database);
    if (as_json) words.insert(words.end(), {"-o", "json"});
    const int status = RunDaemonProgram(std::move(words), as_json ? &database : nullptr);
    if (status != 0) found = status;
  }
  if (as_json) PrintJson(told, database);
  return found;
}

int Backup(const std::string& file, const DatabaseOptions& options) {
  return RunDaemonProgram(WordsOf("backup", file, options));
}

int Restore(const std::string& file, const DatabaseOptions& options) {
  return RunDaemonProgram(WordsOf("restore", file, options));
}

}  // namespace muster::cli
