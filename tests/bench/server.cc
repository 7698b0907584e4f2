// Starts a musterd in a fresh directory, talks to it, kills it and reads its costs from /proc. Its
// PostgreSQL is found by the command lines of all processes: a postmaster's has the data directory.
// Calls are plain HTTP/1.0 on a connection of their own, which is slow but cannot be confused by
// kept connections; load generators use http_load.h instead.
#include "tests/bench/server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "tests/bench/http_client.h"

namespace muster::bench {
namespace {

using Seconds = std::chrono::duration<double>;

double Now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A port on which nothing listens; 0 if there is none. It is below those that the kernel gives to
// outgoing connections and to servers on port 0, which could take it before the daemon's start.
int FreePort() {
  std::random_device seed;
  std::uniform_int_distribution<int> ports(22000, 31999);
  for (int tries = 0; tries < 1000; ++tries) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int port = ports(seed);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (free) return port;
  }
  return 0;
}

// What can be read of a file: "" of a process that ends meanwhile, which an iterator would throw
// of.
std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The postmasters that the daemon started: their command line has the data directory.
std::vector<pid_t> Postmasters(const std::string& data_dir) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::string command = ReadAll(entry.path() / "cmdline");
    if (command.find("postgres") != std::string::npos &&
        command.find(data_dir) != std::string::npos)
      out.push_back(pid);
  }
  return out;
}

// The fields of /proc/PID/stat behind the name, which may contain any character: [0] is the state.
std::vector<std::string> StatOf(pid_t pid) {
  const std::string text = ReadAll("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::stringstream rest(text.substr(name_end + 1));
  std::vector<std::string> fields;
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

// CPU seconds of a process and, if `with_reaped`, of the children that it has waited for.
double CpuOf(const std::vector<std::string>& stat, bool with_reaped) {
  if (stat.size() < 15) return 0;
  double ticks = std::atof(stat[11].c_str()) + std::atof(stat[12].c_str());
  if (with_reaped) ticks += std::atof(stat[13].c_str()) + std::atof(stat[14].c_str());
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

Server::Server(std::string bin_dir, std::vector<std::string> flags, Calls calls)
    : bin_dir_(std::move(bin_dir)), flags_(std::move(flags)), calls_(calls) {
  std::string pattern = "/tmp/muster-bench-XXXXXX";
  data_dir_ = mkdtemp(pattern.data());
  std::filesystem::permissions(data_dir_, std::filesystem::perms(0755));
  port_ = FreePort();
  grpc_port_ = FreePort();
}

Server::~Server() {
  Stop();
  std::error_code ignored;
  std::filesystem::remove_all(data_dir_, ignored);
}

Result<double> Server::Start(const std::string& path) {
  const double begun = Now();
  std::vector<std::string> words = {bin_dir_ + "/musterd",
                                    "--data-dir",
                                    data_dir_,
                                    "--rest",
                                    "127.0.0.1:" + std::to_string(port_),
                                    "--grpc",
                                    "127.0.0.1:" + std::to_string(grpc_port_),
                                    "--log-file",
                                    data_dir_ + "/musterd.log",
                                    "--log-level",
                                    "warning"};
  words.insert(words.end(), flags_.begin(), flags_.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
  const Status answers = AwaitAnswer(path);
  return answers.ok() ? Result<double>(Now() - begun) : answers.error();
}

Status Server::AwaitAnswer(const std::string& path) {
  const double begun = Now();
  for (;;) {
    if (Call("GET", path).ok()) return Done{};
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      return Internal("musterd ended; see its log:\n" + ReadAll(data_dir_ + "/musterd.log"));
    }
    if (Now() - begun > 120) return Internal("musterd does not answer " + path + " after 120 s");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void Server::Stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Server::Kill(bool database) {
  const auto postmasters = database ? Postmasters(data_dir_) : std::vector<pid_t>{};
  kill(pid_, SIGKILL);
  for (const pid_t pid : postmasters) kill(pid, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Result<std::string> Server::PostgresUrl() const {
  for (const pid_t pid : Postmasters(data_dir_)) {
    std::string command = ReadAll("/proc/" + std::to_string(pid) + "/cmdline");
    for (auto& c : command) c = c == '\0' ? ' ' : c;
    const auto data = command.find("-D ");
    if (data == std::string::npos) continue;
    const std::string dir = command.substr(data + 3, command.find(' ', data + 3) - data - 3);
    std::ifstream lock(dir + "/postmaster.pid");
    std::string line;
    for (int i = 0; i < 5 && std::getline(lock, line); ++i) {
    }
    if (!line.empty()) return "host=" + line + " user=muster_owner dbname=muster";
  }
  return NotFound("the daemon's PostgreSQL is not running");
}

std::int64_t Server::ResidentBytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6) * 1024;
  }
  return 0;
}

CpuSeconds Server::Cpu() const {
  CpuSeconds cpu;
  cpu.daemon = CpuOf(StatOf(pid_), false);
  for (const pid_t postmaster : Postmasters(data_dir_)) {
    cpu.postgres += CpuOf(StatOf(postmaster), true);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      const auto stat = StatOf(pid);
      if (stat.size() > 1 && stat[1] == std::to_string(postmaster))
        cpu.postgres += CpuOf(stat, false);
    }
  }
  return cpu;
}

// A connected socket; -1: none.
int Server::Connect() const {
  if (calls_ == Calls::kOverTcp) return Dial(port_);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = data_dir_ + "/run/muster.sock";
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

Result<std::string> Server::Call(const std::string& method, const std::string& path,
                                 const std::string& body) const {
  const int fd = Connect();
  if (fd < 0) return Unavailable("no connection");
  // HTTP/1.0: the answer ends with the connection and is never chunked.
  const std::string request =
      method + " " + path + " HTTP/1.0\r\nHost: localhost\r\nContent-Type: " +
      (method == "PATCH"                ? "application/merge-patch+json"
       : body.starts_with("apiVersion") ? "application/yaml"
                                        : "application/json") +
      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::size_t sent = 0; sent < request.size();) {
    const auto n = send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  std::string answer;
  char buffer[65536];
  for (ssize_t n = 0; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;)
    answer.append(buffer, static_cast<std::size_t>(n));
  close(fd);
  const auto head_end = answer.find("\r\n\r\n");
  if (answer.size() < 12 || head_end == std::string::npos) return Unavailable("no answer");
  const std::string content = answer.substr(head_end + 4);
  if (answer[9] != '2') return Internal(answer.substr(9, 3) + " " + content);
  return content;
}

Result<std::string> Server::CallUntilTaken(const std::string& method, const std::string& path,
                                           const std::string& body) const {
  for (;;) {
    auto answer = Call(method, path, body);
    if (answer.ok() || !answer.error().detail.starts_with("429")) return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::string QueueManifests(const std::string& cpu, bool hold) {
  return R"(apiVersion: v1
kind: Namespace
metadata: {name: bench}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: bench}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: bench}
spec:
  namespaceSelector: {}
  stopPolicy: )" +
         std::string(hold ? "Hold" : "None") + R"(
  resourceGroups:
  - coveredResources: ["cpu", "memory"]
    flavors:
    - name: bench
      resources:
      - {name: cpu, nominalQuota: ")" +
         cpu + R"("}
      - {name: memory, nominalQuota: 100000Ti}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: bench, namespace: bench}
spec: {clusterQueue: bench}
)";
}

std::string JobManifest(const std::string& name) {
  static const std::string comment(760, 'x');
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
         R"(","namespace":"bench","labels":{"kueue.x-k8s.io/queue-name":"bench","app":"bench"},"annotations":{"example.com/note":")" +
         comment +
         R"("}},"spec":{"parallelism":1,"completions":1,"suspend":true,"backoffLimit":0,"template":{"metadata":{"labels":{"app":"bench"}},)"
         R"("spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"debian:12","command":["/bin/sh","-c","true"],)"
         R"("env":[{"name":"LEARNING_RATE","value":"0.003"},{"name":"EPOCHS","value":"12"}],)"
         R"("resources":{"requests":{"cpu":"1","memory":"256Mi"},"limits":{"cpu":"1","memory":"256Mi"}}}]}}}})";
}

std::string MemberJob(const std::string& name, const std::string& run) {
  std::string text = JobManifest(name);
  const auto replace = [&text](std::string_view what, const std::string& by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
      text.replace(at, what.size(), by);
  };
  replace(R"("cpu":"1","memory":"256Mi")", R"("cpu":"1m","memory":"1Mi")");
  if (!run.empty())
    replace(R"("template":{"metadata":{)",
            R"("template":{"metadata":{"annotations":{"bed.test/run":")" + run + R"("},)");
  return text;
}

Status SubmitBacklog(const Server& server, std::size_t count, const std::string& prefix,
                     const std::function<std::string(const std::string&)>& manifest) {
  for (std::size_t at = 0; at < count; at += 1000) {
    std::string body = "[";
    for (std::size_t i = at; i < std::min(at + 1000, count); ++i) {
      body += (i == at ? "" : ",") + manifest(prefix + std::to_string(i));
    }
    auto answer = server.CallUntilTaken("POST", "/v1/namespaces/bench/jobs:batch", body + "]");
    if (!answer.ok()) return answer.error();
  }
  return Done{};
}

double JobsIn(const Server& server, const std::string& state) {
  auto text = server.Call("GET", "/metrics");
  if (!text.ok()) return -1;
  const std::string key = "muster_jobs{state=\"" + state + "\"} ";
  const auto at = text->find(key);
  return at == std::string::npos ? 0 : std::atof(text->c_str() + at + key.size());
}

Status WaitForRunning(const Server& server, std::size_t count, double patience) {
  const double begun = Now();
  for (;;) {
    const double running = JobsIn(server, "Running");
    if (running >= static_cast<double>(count)) return Done{};
    if (Now() - begun > patience) {
      return Unavailable(std::to_string(static_cast<std::int64_t>(running)) + " jobs run, not " +
                         std::to_string(count));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

Status WaitForMembers(const Server& server, std::size_t count) {
  const double begun = Now();
  for (std::size_t i = 1; i <= count;) {
    auto facts = server.Call("GET", "/v1/memberclusters/member-" + std::to_string(i) + "/facts");
    if (facts.ok() && facts->find("\"healthy\":true") != std::string::npos) {
      ++i;
      continue;
    }
    if (Now() - begun > 120)
      return Unavailable("a member is not healthy after 120 s: " +
                         (facts.ok() ? *facts : facts.error().detail));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Done{};
}

}  // namespace muster::bench
