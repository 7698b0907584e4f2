// Each child has its stderr in an anonymous file, which cannot fill a pipe that nobody reads.
#include "schedd/store/pg/client_tools.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

#include "schedd/store/pg/server_files.h"

namespace muster::pg {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  int get() const { return fd_; }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// libpq's variables for what the URL says; the rest of the environment that these programs use.
// Times in archives are written without their zone, so both sides have the same one.
Result<std::vector<std::string>> EnvironmentOf(const std::string& url) {
  std::map<std::string, std::string> env{{"LC_ALL", "C"}, {"TZ", "UTC"}};
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string text = *one;
    const std::size_t at = text.find('=');
    if (at == std::string::npos) continue;
    const std::string name = text.substr(0, at);
    if (name == "HOME" || name == "PATH" || name.starts_with("PG")) env[name] = text.substr(at + 1);
  }
  if (!url.empty()) {
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
        PQconninfoParse(url.c_str(), nullptr), &PQconninfoFree);
    if (options == nullptr) return InvalidArgument("libpq cannot parse the database's address");
    for (const PQconninfoOption* one = options.get(); one->keyword != nullptr; ++one) {
      if (one->val != nullptr && one->envvar != nullptr) env[one->envvar] = one->val;
    }
  }
  std::vector<std::string> out;
  for (const auto& [name, value] : env) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> out;
  for (std::string& one : *texts) out.push_back(one.data());
  out.push_back(nullptr);
  return out;
}

// The last line of what a program wrote, without its end.
std::string LastLine(int fd) {
  std::string text;
  std::array<char, 4096> part{};
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(fd, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t at = text.rfind('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

// A child with its ends of pipes; killed if it is not waited for.
struct Process {
  Process() : said(memfd_create("muster-tool", MFD_CLOEXEC)) {}
  ~Process() {
    if (pid > 0) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Status Start(std::vector<std::string> argv, std::vector<std::string> env, int in, int out) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (in >= 0) {
      posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    } else {
      posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
    if (out >= 0) {
      posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    } else {
      posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    posix_spawn_file_actions_adddup2(&actions, said.get(), STDERR_FILENO);
    name = argv.front();
    const int failed = posix_spawn(&pid, name.c_str(), &actions, nullptr, Pointers(&argv).data(),
                                   Pointers(&env).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed == 0) return Done{};
    pid = 0;
    return Error{Code::kFailedPrecondition, "cannot run " + name + ": " + std::strerror(failed)};
  }

  Status Wait() {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return Done{};
    const std::string line = LastLine(said.get());
    return Error{Code::kFailedPrecondition,
                 line.empty() ? name + " has failed and does not say why" : line};
  }

  pid_t pid = 0;
  Descriptor said;
  std::string name;
};

bool WriteAll(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t done = write(fd, data, size);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    data += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

Result<ClientTools> ClientTools::Find(int major) {
  int best = 0;
  std::string dir;
  for (const std::string& candidate : ProgramDirs()) {
    bool whole = true;
    for (const char* tool : {"pg_dump", "pg_restore", "psql"})
      whole = whole && access((candidate + "/" + tool).c_str(), X_OK) == 0;
    if (!whole) continue;
    const auto version = ClientTools(candidate).Run("pg_dump", {"--version"}, "");
    const int found = version.ok() ? MajorOf(*version) : 0;
    if (found < major || (best == major && best != 0)) continue;
    if (found == major || found > best) {
      best = found;
      dir = candidate;
    }
  }
  if (best > 0) return ClientTools(dir);
  const std::string number = std::to_string(major);
  return Error{Code::kFailedPrecondition, "pg_dump, pg_restore and psql of PostgreSQL " + number +
                                              " are not installed: package postgresql-client-" +
                                              number};
}

Result<std::string> ClientTools::Run(const std::string& tool, const std::vector<std::string>& args,
                                     const std::string& url) const {
  auto env = EnvironmentOf(url);
  if (!env.ok()) return env.error();
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return Internal("no descriptors are left");
  Descriptor from(ends[0]), to(ends[1]);
  std::vector<std::string> argv{dir_ + "/" + tool};
  argv.insert(argv.end(), args.begin(), args.end());
  Process process;
  const Status started = process.Start(std::move(argv), std::move(env).value(), -1, to.get());
  if (!started.ok()) return started.error();
  to.Close();
  std::string out;
  std::array<char, 65536> part{};
  for (ssize_t got = 0; (got = read(from.get(), part.data(), part.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    out.append(part.data(), static_cast<std::size_t>(got));
  }
  const Status ended = process.Wait();
  if (!ended.ok()) return ended.error();
  return out;
}

Status ClientTools::Pipe(const std::string& source, const std::vector<std::string>& source_args,
                         const std::string& sink, const std::vector<std::string>& sink_args,
                         const std::string& url, const std::string& last) const {
  const auto plain = EnvironmentOf(""), env = EnvironmentOf(url);
  if (!env.ok()) return env.error();
  std::array<int, 2> first{}, second{};
  if (pipe2(first.data(), O_CLOEXEC) != 0) return Internal("no descriptors are left");
  Descriptor from(first[0]), out(first[1]);
  if (pipe2(second.data(), O_CLOEXEC) != 0) return Internal("no descriptors are left");
  Descriptor in(second[0]), into(second[1]);
  Process reader, writer;
  const auto argv_of = [this](const std::string& tool, const std::vector<std::string>& args) {
    std::vector<std::string> argv{dir_ + "/" + tool};
    argv.insert(argv.end(), args.begin(), args.end());
    return argv;
  };
  Status started = writer.Start(argv_of(sink, sink_args), *env, in.get(), -1);
  if (started.ok()) started = reader.Start(argv_of(source, source_args), *plain, -1, out.get());
  if (!started.ok()) return started;
  out.Close();
  in.Close();
  bool taken = true;
  std::array<char, 65536> part{};
  for (ssize_t got = 0; taken && (got = read(from.get(), part.data(), part.size())) != 0;) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    taken = WriteAll(into.get(), part.data(), static_cast<std::size_t>(got));
  }
  if (taken) {
    // `writer` has not seen its end yet: it is killed when this returns.
    const Status read_to_end = reader.Wait();
    if (!read_to_end.ok()) return read_to_end;
    WriteAll(into.get(), last.data(), last.size());
  }
  into.Close();
  return writer.Wait();
}

}  // namespace muster::pg
