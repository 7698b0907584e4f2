// The style guide as a test: who may include whom, what pure rooms may not contain, how long things
// may grow.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Source {
  std::string path;  // relative to the root
  std::vector<std::string> lines;
};

bool IsCode(const fs::path& path) { return path.extension() == ".cc" || path.extension() == ".h"; }

std::vector<Source> Sources() {
  std::vector<Source> out;
  const fs::path root = MUSTER_SOURCE_DIR;
  for (const char* top : {"schedd", "api", "backends", "clients", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      if (!entry.is_regular_file() || !IsCode(entry.path())) continue;
      Source source{fs::relative(entry.path(), root).string(), {}};
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) source.lines.push_back(line);
      out.push_back(std::move(source));
    }
  }
  return out;
}

bool Below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

bool IsPure(const std::string& path) {
  for (const char* room :
       {"schedd/core", "schedd/model", "schedd/shapes", "schedd/lifecycle", "schedd/simulate",
        "schedd/dispatch/step", "schedd/propagation/step", "schedd/nomination/step"}) {
    if (Below(path, room)) return true;
  }
  return false;
}

// The longest matching key decides; what a directory may include from this tree, beside itself.
const std::map<std::string, std::vector<std::string>>& Arrows() {
  static const std::map<std::string, std::vector<std::string>> arrows = {
      {"schedd/base", {}},
      {"schedd/text", {"schedd/base"}},
      {"schedd/credentials", {"schedd/base", "schedd/text"}},
      {"schedd/telemetry", {"schedd/base"}},
      {"schedd/model", {"schedd/base"}},
      {"schedd/shapes/parts", {"schedd/base", "schedd/text", "schedd/model"}},
      {"schedd/shapes/security",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/shapes/parts"}},
      {"schedd/shapes/kinds",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/shapes/parts"}},
      {"schedd/shapes/batch",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/shapes/parts",
        "schedd/shapes/kinds"}},
      {"schedd/shapes/config",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/shapes/parts",
        "schedd/shapes/security", "schedd/shapes/kinds"}},
      {"schedd/core/quota", {"schedd/base", "schedd/model"}},
      {"schedd/core/topology", {"schedd/base", "schedd/model", "schedd/core/quota"}},
      {"schedd/core/preempt", {"schedd/base", "schedd/model", "schedd/core/quota"}},
      {"schedd/core/member",
       {"schedd/base", "schedd/model", "schedd/core/quota", "schedd/core/topology"}},
      {"schedd/core/plan",
       {"schedd/base", "schedd/model", "schedd/core/quota", "schedd/core/preempt"}},
      {"schedd/core/queue",
       {"schedd/base", "schedd/model", "schedd/core/quota", "schedd/core/member",
        "schedd/core/plan"}},
      {"schedd/core/flavor",
       {"schedd/base", "schedd/model", "schedd/core/quota", "schedd/core/topology",
        "schedd/core/preempt", "schedd/core/plan"}},
      {"schedd/core/placer",
       {"schedd/base", "schedd/model", "schedd/core/topology", "schedd/core/member"}},
      {"schedd/core/cycle",
       {"schedd/base", "schedd/model", "schedd/core/quota", "schedd/core/topology",
        "schedd/core/preempt", "schedd/core/member", "schedd/core/plan", "schedd/core/queue",
        "schedd/core/flavor", "schedd/core/placer"}},
      {"schedd/core/explain",
       {"schedd/base", "schedd/model", "schedd/core/quota", "schedd/core/topology",
        "schedd/core/member", "schedd/core/plan", "schedd/core/queue", "schedd/core/flavor",
        "schedd/core/cycle"}},
      {"schedd/lifecycle", {"schedd/base", "schedd/model", "schedd/core"}},
      {"schedd/simulate",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/shapes", "schedd/core",
        "schedd/lifecycle"}},
      {"schedd/store", {"schedd/base", "schedd/model"}},
      {"schedd/store/pg",
       {"schedd/base", "schedd/model", "schedd/text", "schedd/telemetry", "schedd/store/store.h",
        "schedd/store/new_job.h", "schedd/store/health.h", "schedd/store/durability.h",
        "schedd/shapes/config/object_kinds.h"}},
      {"schedd/store/seal",
       {"schedd/base", "schedd/model", "schedd/telemetry", "schedd/store/store.h"}},
      {"schedd/store/memory",
       {"schedd/base", "schedd/model", "schedd/store/store.h", "schedd/store/new_job.h"}},
      {"schedd/doctor",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/store/pg/diagnosis.h", "schedd/store/pg/statements_doctor.h",
        "schedd/engine/configure/configuration.h"}},
      {"schedd/dispatch/step", {"schedd/base", "schedd/model"}},
      {"schedd/world",
       {"schedd/base", "schedd/model", "schedd/core", "schedd/store/store.h",
        "backends/backend.h"}},
      {"schedd/engine/context",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/shapes"}},
      {"schedd/engine/commit",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/dispatch/step", "backends/backend.h", "schedd/engine/context"}},
      {"schedd/engine/live",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/shapes", "schedd/lifecycle", "schedd/dispatch/step",
        "backends/backend.h", "schedd/engine/context", "schedd/engine/commit"}},
      {"schedd/engine/jobs",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/text", "schedd/shapes", "schedd/lifecycle", "schedd/dispatch/step",
        "schedd/engine/context", "schedd/engine/commit", "schedd/engine/live"}},
      {"schedd/engine/decide",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/text", "schedd/shapes", "schedd/lifecycle", "schedd/engine/context",
        "schedd/engine/commit", "schedd/engine/live", "schedd/engine/jobs"}},
      {"schedd/engine/configure",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/text", "schedd/shapes", "schedd/engine/context",
        "schedd/engine/live", "schedd/engine/jobs", "schedd/engine/decide"}},
      {"schedd/engine/members",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world", "schedd/text", "schedd/shapes", "schedd/engine/context",
        "schedd/engine/live", "schedd/engine/jobs", "schedd/engine/decide",
        "schedd/engine/configure"}},
      {"schedd/engine",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/store/store.h",
        "schedd/world"}},
      {"schedd/dispatch",
       {"schedd/base", "schedd/text", "schedd/telemetry", "schedd/model", "schedd/core",
        "schedd/shapes", "schedd/store/store.h", "schedd/world", "backends/backend.h"}},
      {"schedd/propagation/step",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/core", "schedd/world",
        "schedd/shapes/config/object_kinds.h"}},
      {"schedd/propagation",
       {"schedd/base", "schedd/telemetry", "schedd/model", "schedd/core", "schedd/world",
        "backends/member_objects.h"}},
      {"schedd/nomination/step",
       {"schedd/base", "schedd/model", "schedd/core", "schedd/world", "backends/member_queues.h"}},
      {"schedd/nomination",
       {"schedd/base", "schedd/text", "schedd/telemetry", "schedd/model", "schedd/core",
        "schedd/shapes", "schedd/world", "backends/member_queues.h"}},
      {"backends", {"schedd/base", "schedd/model"}},
      {"backends/local",
       {"schedd/base", "schedd/text", "schedd/telemetry", "schedd/model", "backends/backend.h"}},
      {"backends/launcher",
       {"schedd/base", "schedd/telemetry", "schedd/model", "backends/backend.h"}},
      {"schedd/launcher",
       {"schedd/base", "schedd/text", "schedd/telemetry", "schedd/daemon/config.h",
        "schedd/daemon/real_clock.h", "backends/launcher/launcher_server.h",
        "backends/local/host_accounts.h", "backends/local/local_backend.h"}},
      {"backends/simulated", {"schedd/base", "schedd/text", "schedd/model", "backends/backend.h"}},
      {"backends/k8s/client",
       {"schedd/base", "schedd/text", "schedd/credentials", "schedd/telemetry", "schedd/model",
        "backends/backend.h", "backends/member_probe.h"}},
      {"backends/k8s/status", {"schedd/base", "schedd/text", "schedd/model", "backends/backend.h"}},
      {"backends/k8s",
       {"schedd/base", "schedd/text", "schedd/telemetry", "schedd/model", "backends/backend.h",
        "backends/member_objects.h", "backends/member_probe.h", "backends/member_queues.h"}},
      {"backends/fleet",
       {"schedd/base", "schedd/telemetry", "schedd/model", "backends/member_probe.h",
        "backends/k8s/k8s_backend.h"}},
      {"api/auth", {"schedd/base", "schedd/text", "schedd/model", "api/net"}},
      {"api/auth/jwt",
       {"schedd/base", "schedd/text", "schedd/telemetry", "api/auth/principal.h",
        "api/auth/authenticator.h"}},
      {"api/auth/munge",
       {"schedd/base", "schedd/text", "api/auth/principal.h", "api/auth/authenticator.h"}},
      {"api/net", {"schedd/base"}},
      {"api/net/tls", {"schedd/base", "schedd/credentials", "api/net"}},
      {"api/service",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/core", "schedd/shapes",
        "schedd/simulate", "schedd/lifecycle", "schedd/world", "schedd/engine/engine.h",
        "schedd/propagation/step", "schedd/store/store.h", "schedd/telemetry", "backends/backend.h",
        "backends/member_probe.h", "backends/member_queues.h", "api/auth"}},
      {"api/ui", {}},
      {"api/rest",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/core", "schedd/shapes",
        "schedd/world", "schedd/store/store.h", "schedd/telemetry", "backends/backend.h",
        "api/auth", "api/net", "api/service", "api/ui"}},
      {"api/grpc",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/core", "schedd/shapes",
        "schedd/world", "schedd/store/store.h", "schedd/telemetry", "backends/backend.h",
        "api/auth", "api/net", "api/service"}},
      {"clients/lib", {"schedd/base", "schedd/text", "schedd/credentials"}},
      {"clients/lib/tls", {"schedd/base", "schedd/credentials", "clients/lib"}},
      {"clients/login", {"schedd/base", "schedd/text", "clients/lib"}},
      {"clients/cli",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/simulate",
        "schedd/shapes/config/admission_config.h", "schedd/shapes/config/object_kinds.h",
        "clients/lib", "clients/login"}},
      {"clients/slurm",
       {"schedd/base", "schedd/text", "schedd/model", "schedd/shapes", "clients/lib"}},
      {"clients/slurm/allocation",
       {"schedd/base", "schedd/text", "clients/lib", "clients/slurm", "clients/steps"}},
      // Programs inside jobs: they know nothing of the daemon.
      {"clients/steps", {}},
      {"clients/steps/agent", {"clients/steps"}},
      {"clients/steps/srun", {"clients/steps"}},
      // The programs themselves keep their memory private before anything holds a token.
      {"clients/cli/main",
       {"schedd/base", "schedd/text", "schedd/credentials", "clients/cli", "clients/lib"}},
      {"clients/slurm/main", {"schedd/credentials", "clients/slurm", "clients/lib"}},
  };
  return arrows;
}

const std::pair<const std::string, std::vector<std::string>>* RuleOf(const std::string& path) {
  const std::pair<const std::string, std::vector<std::string>>* found = nullptr;
  for (const auto& rule : Arrows()) {
    if (Below(path, rule.first) && (found == nullptr || rule.first.size() > found->first.size()))
      found = &rule;
  }
  return found;
}

std::string Location(const Source& source, std::size_t line) {
  return source.path + ":" + std::to_string(line + 1) + ": ";
}

bool IsComment(const std::string& line) {
  const auto at = line.find_first_not_of(" \t");
  return at != std::string::npos && line.compare(at, 2, "//") == 0;
}

// Lines of every function body at namespace or class level: from its opening brace to its closing
// one.
std::vector<std::pair<std::size_t, std::size_t>> Functions(const Source& source) {
  static const std::regex opens(
      R"(^[A-Za-z~].*\)( const)?( noexcept)?( override)?( &&?)? \{$|^  [A-Za-z~].*\)( const)?( noexcept)?( override)? \{$)");
  // What looks like a method and is a lambda or a statement of a body that is counted already.
  static const std::regex inner(R"(^  (if|for|while|switch|do|else)\b|[=(,] ?\[)");
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t i = 0; i < source.lines.size(); ++i) {
    const std::string& line = source.lines[i];
    if (!std::regex_match(line, opens) || line.starts_with("TEST") || line.starts_with("namespace"))
      continue;
    if (std::regex_search(line, inner)) continue;
    const std::string close = line.starts_with("  ") ? "  }" : "}";
    std::size_t end = i + 1;
    while (end < source.lines.size() && source.lines[end] != close) ++end;
    out.emplace_back(i, end);
  }
  return out;
}

}  // namespace

TEST(Tidy, EveryIncludeFollowsAnArrowOfTheHouse) {
  static const std::regex include(R"x(^#include "((?:schedd|api|backends|clients|tests)/[^"]+)")x");
  for (const auto& source : Sources()) {
    if (Below(source.path, "tests") || Below(source.path, "schedd/daemon")) continue;
    const auto* rule = RuleOf(source.path);
    ASSERT_NE(rule, nullptr) << source.path << " is in no room of the house";
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(source.lines[i], match, include)) continue;
      const std::string target = match[1];
      bool allowed = Below(target, rule->first);
      for (const auto& to : rule->second) allowed = allowed || target == to || Below(target, to);
      EXPECT_TRUE(allowed) << Location(source, i) << "may not include " << target;
    }
  }
}

TEST(Tidy, NoArrowBetweenRoomsRunsBackUp) {
  static const std::regex include(R"x(^#include "((?:schedd|api|backends|clients)/[^"]+)")x");
  std::map<std::string, std::set<std::string>> arrows;
  for (const auto& source : Sources()) {
    if (Below(source.path, "tests")) continue;
    const std::string from = fs::path(source.path).parent_path().string();
    for (const std::string& line : source.lines) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string to = fs::path(match[1].str()).parent_path().string();
      if (to != from) arrows[from].insert(to);
    }
  }
  // A room is taken away once nothing that is left includes it; what remains runs in circles.
  for (bool taken = true; taken;) {
    taken = false;
    for (auto room = arrows.begin(); room != arrows.end();) {
      const bool free = std::none_of(room->second.begin(), room->second.end(),
                                     [&](const auto& to) { return arrows.count(to) > 0; });
      room = free ? arrows.erase(room) : std::next(room);
      taken = taken || free;
    }
  }
  for (const auto& [room, to] : arrows) ADD_FAILURE() << room << " is part of a circle of rooms";
}

TEST(Tidy, LibrariesStayBehindTheirOneDoor) {
  const std::vector<std::pair<std::regex, std::vector<std::string>>> doors = {
      {std::regex("#include <pistache/"), {"api/rest"}},
      {std::regex("#include <grpc"), {"api/grpc", "clients/cli", "tests"}},
      {std::regex("#include \"backends/launcher/launcher.pb.h"), {"backends/launcher", "tests"}},
      {std::regex("#include <(pqxx|libpq)"), {"schedd/store/pg", "tests"}},
      {std::regex("#include <boost/(asio|beast)"),
       {"api/rest", "api/grpc/front", "clients/lib", "backends/k8s", "tests"}},
      {std::regex("#include <openssl/(ssl|pem|bio)"),
       {"schedd/credentials", "api/net/tls", "clients/lib/tls", "backends/k8s/client", "tests"}},
      {std::regex("#include <spdlog"), {"schedd/telemetry"}},
      {std::regex("#include <prometheus"), {"schedd/telemetry"}},
      {std::regex("#include <yaml"), {"schedd/text"}},
      {std::regex("#include <seccomp"), {"backends/local/supervisor"}},
      {std::regex("#include <cjose"), {"api/auth/jwt"}},
      {std::regex("#include <curl"), {"api/auth/jwt", "clients/login"}},
      {std::regex("#include <munge"), {"api/auth/munge", "clients/lib"}},
      {std::regex("#include <CLI/"),
       {"schedd/daemon", "schedd/launcher", "clients/cli", "tests/bench", "tests/conformance"}},
  };
  for (const auto& source : Sources()) {
    if (source.path == "tests/tidy/tidy_test.cc") continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      for (const auto& [pattern, rooms] : doors) {
        if (!std::regex_search(source.lines[i], pattern)) continue;
        bool allowed = false;
        for (const auto& room : rooms) allowed = allowed || Below(source.path, room);
        EXPECT_TRUE(allowed) << Location(source, i) << source.lines[i];
      }
    }
  }
}

TEST(Tidy, PureRoomsHoldNoClockThreadFileOrLog) {
  static const std::regex banned(
      R"(system_clock|steady_clock|std::thread|std::jthread|std::mutex|\bMutex\b|std::atomic|random_device|mt19937|getenv|gettimeofday|)"
      R"(<(filesystem|fstream|iostream|thread|mutex|chrono)>|telemetry/)");
  for (const auto& source : Sources()) {
    if (!IsPure(source.path)) continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      if (IsComment(source.lines[i])) continue;
      EXPECT_FALSE(std::regex_search(source.lines[i], banned))
          << Location(source, i) << source.lines[i];
    }
  }
}

// thread_safety_test.py sees the mutexes of this header alone.
TEST(Tidy, EveryMutexOfTheProductIsAnnotated) {
  const std::vector<std::string> banned = {
      "std::mutex",           "std::recursive_", "std::timed_",      "std::shared_mutex",
      "std::shared_timed_",   "std::unique_lock", "std::lock_guard",  "std::scoped_lock",
      "std::shared_lock",     "std::condition_",  "pthread_mutex",    "absl::Mutex",
      "no_thread_safety",     "NO_THREAD_SAFETY"};
  for (const auto& source : Sources()) {
    if (Below(source.path, "tests") || source.path == "schedd/base/mutex.h") continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      if (IsComment(source.lines[i])) continue;
      for (const std::string& word : banned) {
        EXPECT_EQ(source.lines[i].find(word), std::string::npos)
            << Location(source, i) << source.lines[i];
      }
    }
  }
}

TEST(Tidy, ProductCodeReadsNoClockOutsideTheRealOne) {
  static const std::regex banned(
      R"(system_clock::now|steady_clock::now|random_device|std::rand\b|sleep_for|sleep_until|\busleep\()");
  // What is its own process (clients, the pod supervisor) has a clock of its own; the daemon's
  // parts are handed one.
  const std::set<std::string> own_process = {"backends/local/supervisor"};
  for (const auto& source : Sources()) {
    const bool daemon_part =
        Below(source.path, "schedd") || Below(source.path, "api") || Below(source.path, "backends");
    bool exempt = Below(source.path, "schedd/daemon");
    for (const auto& room : own_process) exempt = exempt || source.path.starts_with(room);
    if (!daemon_part || exempt) continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      if (IsComment(source.lines[i])) continue;
      EXPECT_FALSE(std::regex_search(source.lines[i], banned))
          << Location(source, i) << source.lines[i];
    }
  }
}

TEST(Tidy, FilesAndFunctionsStaySmall) {
  for (const auto& source : Sources()) {
    const bool test = Below(source.path, "tests");
    const std::size_t most = test ? 1200 : source.path.ends_with(".h") ? 250 : 500;
    EXPECT_LE(source.lines.size(), most) << source.path;
    if (test) continue;
    for (const auto& [begin, end] : Functions(source)) {
      EXPECT_LE(end - begin, 70u) << Location(source, begin) << source.lines[begin];
    }
  }
}

TEST(Tidy, LinesFitAHundredColumns) {
  for (const auto& source : Sources()) {
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      const bool literal = line.find("R\"") != std::string::npos ||
                           line.find("http") != std::string::npos || line.starts_with("#include") ||
                           line.find('"') != std::string::npos;
      if (literal) continue;
      EXPECT_LE(line.size(), 100u) << Location(source, i) << line;
    }
  }
}

// S14: what a user writes is never a command of the daemon's. Programs are started in these places,
// by their path and an argument vector, never through a shell.
TEST(Tidy, ProgramsAreStartedInListedFilesOnly) {
  static const std::regex starts(
      R"((^|[^A-Za-z_.>])(std::)?(::)?(system|popen|posix_spawnp?|execl[pe]?|execvp?e?|execveat|fexecve|wordexp|vfork)\()");
  const std::map<std::string, std::string> listed = {
      {"backends/local/host.cc", "the supervisor, to probe for namespaces"},
      {"backends/local/pod_directory.cc", "the supervisor of a pod"},
      {"backends/local/supervisor/launch.cc", "the program of a container"},
      {"backends/k8s/client/exec_plugin.cc", "an exec plugin that allow-exec=true permits"},
      {"clients/lib/credential_source.cc", "the program that the user's own config.yaml names"},
      {"clients/lib/oidc_session.cc", "`muster login --renew`"},
      {"clients/slurm/allocation/salloc.cc", "the user's shell or command, on his host"},
      {"clients/slurm/sbatch_environment.cc", "the caller's login shell, for --get-user-env"},
      {"clients/slurm/allocation/join.cc", "muster-srun, which asked for the job to enter"},
      {"clients/slurm/allocation/srun.cc", "muster-srun, inside the new allocation"},
      {"clients/slurm/main/without_tls.cc", "muster-slurm-tls, for a server that is asked by https"},
      {"clients/steps/agent/task_start.cc", "the tasks of srun"},
      {"clients/steps/srun/connect.cc", "the agent that runs the tasks"},
      {"clients/steps/srun/other_job.cc", "muster-slurm, which asks the daemon for a job"},
      {"clients/steps/srun/srun.cc", "muster-slurm, for srun outside a job"},
      {"schedd/daemon/mail_hook.cc", "the mail-program of the configuration"},
      {"schedd/store/pg/server_process.cc", "the private PostgreSQL"},
      {"schedd/store/pg/client_tools.cc", "pg_dump, pg_restore and psql, for a backup or a restore"},
      {"clients/cli/doctor.cc", "musterd, for what it does on its database"},
  };
  for (const auto& source : Sources()) {
    if (Below(source.path, "tests")) continue;
    const bool may = listed.contains(source.path);
    bool does = false;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      if (IsComment(line)) continue;
      const bool here = std::regex_search(line, starts);
      does = does || here;
      EXPECT_FALSE(here && !may) << Location(source, i) << line;
    }
    EXPECT_FALSE(may && !does) << source.path << " starts nothing any more: take it off the list";
  }
}

TEST(Tidy, SqlStandsInOneFile) {
  static const std::regex sql(R"("\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|COPY) )");
  for (const auto& source : Sources()) {
    if (Below(source.path, "tests") || source.path == "schedd/store/pg/statements.h") continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(source.lines[i], sql))
          << Location(source, i) << source.lines[i];
    }
  }
}

TEST(Tidy, EveryHeaderSaysWhatItIsFor) {
  for (const auto& source : Sources()) {
    if (!source.path.ends_with(".h") || source.lines.empty()) continue;
    EXPECT_TRUE(IsComment(source.lines.front())) << source.path << " begins without a comment";
    bool once = false;
    for (const auto& line : source.lines) once = once || line == "#pragma once";
    EXPECT_TRUE(once) << source.path << " has no #pragma once";
  }
}

TEST(Tidy, EveryRoomHasAReadme) {
  std::set<std::string> rooms;
  for (const auto& source : Sources()) {
    if (!Below(source.path, "tests")) rooms.insert(fs::path(source.path).parent_path().string());
  }
  for (const auto& room : rooms) {
    const fs::path directory = fs::path(MUSTER_SOURCE_DIR) / room;
    EXPECT_TRUE(fs::exists(directory / "README.md") ||
                fs::exists(directory.parent_path() / "README.md"))
        << room;
  }
}

TEST(Tidy, NothingIsLeftUnfinished) {
  static const std::regex marks(R"(\b(TODO|FIXME|XXX|HACK)\b|GTEST_SKIP|DISABLED_)");
  for (const auto& source : Sources()) {
    if (source.path == "tests/tidy/tidy_test.cc") continue;
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      EXPECT_FALSE(std::regex_search(source.lines[i], marks))
          << Location(source, i) << source.lines[i];
    }
  }
}
