// muster-conformance: runs conformance cases against the scheduler's core
// (rule C7).
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "tests/conformance/registry.h"

namespace muster::conformance {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kCaseSeconds = 60;  // a case that takes longer hangs

struct Outcome {
  std::string path;
  std::vector<std::string> failures;  // empty: passed
};

std::vector<std::string> RunCases(const std::vector<Case>& cases) {
  std::vector<std::string> failures;
  for (const auto& test : cases) {
    Report report;
    if (const Procedure procedure = FindProcedure(test.procedure); procedure != nullptr) {
      procedure(test, &report);
    } else {
      report.Fail("no procedure is called " + test.procedure);
    }
    for (const auto& failure : report.failures())
      failures.push_back((test.variant.empty() ? "" : "[" + test.variant + "] ") + failure);
  }
  return failures;
}

std::string ReadAll(int pipe) {
  std::string text;
  char buffer[4096];
  ssize_t bytes = 0;
  while ((bytes = read(pipe, buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(bytes));
  return text;
}

void WriteAll(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = write(pipe, text.data(), text.size());
    if (bytes <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(bytes));
  }
}

// In a process of its own: a violated invariant (MUSTER_CHECK) or a hang fails its case and no
// other.
std::vector<std::string> RunApart(const std::vector<Case>& cases) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe for the case's process"};
  const pid_t child = fork();
  if (child < 0) return {"no process for the case"};
  if (child == 0) {
    close(ends[0]);
    alarm(kCaseSeconds);
    for (const auto& failure : RunCases(cases)) WriteAll(ends[1], failure + '\0');
    _exit(0);
  }
  close(ends[1]);
  const std::string text = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  std::vector<std::string> failures;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    failures.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (WIFSIGNALED(status)) {
    failures.push_back(WTERMSIG(status) == SIGALRM
                           ? "ran for " + std::to_string(kCaseSeconds) + " seconds"
                           : "the case's process died of signal " +
                                 std::to_string(WTERMSIG(status)));
  }
  return failures;
}

std::vector<fs::path> CaseFiles(const fs::path& directory) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json")
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void PrintFailures(const Outcome& outcome) {
  std::printf("FAILED %s\n", outcome.path.c_str());
  for (const auto& failure : outcome.failures) std::printf("    %s\n", failure.c_str());
}

int Run(const std::string& directory, const std::string& suite, bool list_failures) {
  struct Tally {
    int passed = 0, failed = 0;
  };
  std::map<std::string, Tally> suites;
  Tally all;
  for (const auto& path : CaseFiles(directory)) {
    auto cases = ReadCases(path);
    if (cases.ok() && cases->empty()) continue;
    const std::string name =
        cases.ok() ? cases->front().suite : path.parent_path().filename().string();
    if (!suite.empty() && name != suite) continue;
    Outcome outcome{fs::relative(path, directory).string(), {}};
    outcome.failures =
        cases.ok() ? RunApart(*cases) : std::vector<std::string>{cases.error().detail};
    const bool passed = outcome.failures.empty();
    ++(passed ? suites[name].passed : suites[name].failed);
    ++(passed ? all.passed : all.failed);
    if (!passed && list_failures) PrintFailures(outcome);
  }
  std::printf("%-34s %7s %7s\n", "suite", "passed", "failed");
  for (const auto& [name, tally] : suites)
    std::printf("%-34s %7d %7d\n", name.c_str(), tally.passed, tally.failed);
  std::printf("%d passed, %d failed\n", all.passed, all.failed);
  return all.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace muster::conformance

int main(int argc, char** argv) {
  CLI::App app("Runs the conformance cases below a directory against Muster's scheduler.");
  std::string directory, suite;
  bool list_failures = false;
  app.add_option("DIR", directory, "the directory of the suites")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--suite", suite, "run this suite only");
  app.add_flag("--list-failures", list_failures, "print what differs in each failed case");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return muster::conformance::Run(directory, suite, list_failures);
}
