// Submits an allocation and waits for it.
#include "clients/slurm/allocation/allocation.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "clients/lib/idempotency_key.h"
#include "clients/lib/job_view.h"
#include "clients/slurm/command.h"
#include "clients/slurm/refusal_sentences.h"
#include "clients/slurm/sbatch_request.h"
#include "clients/steps/words.h"

namespace muster::slurm {
namespace {

// How often the job is looked at while it waits, and how often its lease of 30 s is renewed.
constexpr int kLookMs = 500;
constexpr std::int64_t kRenewMs = 8'000;
// A job that runs has its agent connect at once.
constexpr std::int64_t kAgentConnectMs = 20'000;
// Without a number --immediate waits this long.
constexpr std::int64_t kImmediateMs = 1'000;

std::int64_t Milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

// One waiting command.
class Waiting {
 public:
  Waiting(const char* command, client::ApiClient* api, const steps::OptionValues& options)
      : command_(command), api_(api), quiet_(options.Has("quiet")) {
    if (!options.Has("immediate")) return;
    const auto seconds = steps::WholeNumber(options.Get("immediate"));
    const bool given = seconds && *seconds > 0 && *seconds < 1'000'000;
    immediate_ms_ = given ? *seconds * 1000 : kImmediateMs;
  }

  bool Submit(const json::object& body, const std::string& ns);
  std::optional<Allocation> Wait(const ClientSocket& socket, int signals, int* exit);

 private:
  void Info(const std::string& text) const {
    if (!quiet_) std::fprintf(stderr, "%s: %s\n", command_, text.c_str());
  }
  std::string Path() const { return client::JobPath(std::to_string(job_)); }
  void PrintRefusal(const client::Failure& failure, const json::object& body) const;
  void Cancel();
  bool Ended(const client::JobView& view) const;
  bool Accept(int fd, Allocation* out);
  bool Look(client::JobView* out);
  bool Hello(Allocation* out);
  void Leave(Allocation* out);

  const char* command_;
  client::ApiClient* api_;
  bool quiet_ = false;
  std::int64_t immediate_ms_ = 0;
  std::int64_t job_ = 0;
  bool said_queued_ = false;
  std::int64_t renewed_ms_ = 0, runs_since_ms_ = 0;
};

bool Waiting::Submit(const json::object& body, const std::string& ns) {
  const std::string target = "/v1/namespaces/" + client::PercentEncode(ns) + "/jobs";
  const client::Outcome<json::value> answer =
      api_->Send({"POST", target, json::serialize(body), client::NewIdempotencyKey()});
  if (!answer.ok()) {
    PrintRefusal(answer.failure(), body);
    return false;
  }
  if (answer->is_object()) job_ = client::MemberNumber(answer->get_object(), "id");
  if (job_ > 0) return true;
  PrintError(command_, "Unable to allocate resources: the server's answer names no job");
  return false;
}

// The server's refusal in the words that tools know.
void Waiting::PrintRefusal(const client::Failure& failure, const json::object& body) const {
  PrintError(command_, RefusalText(failure, body,
                                   std::string_view(command_) == "salloc"
                                       ? "Job submit/allocate failed: "
                                       : "Unable to allocate resources: "));
}

void Waiting::Cancel() { (void)api_->Send({"DELETE", Path()}); }

// The job is looked at, and its lease renewed when it is time.
bool Waiting::Look(client::JobView* out) {
  const std::int64_t now = Milliseconds();
  if (now - renewed_ms_ >= kRenewMs || renewed_ms_ == 0) {
    (void)api_->Send({"POST", Path() + ":keep", "{}"});
    renewed_ms_ = now;
  }
  client::Outcome<json::value> answer = api_->Get(Path());
  if (!answer.ok()) return false;
  auto view = client::ParseJobView(std::move(answer).value());
  if (!view.ok()) return false;
  *out = *view;
  return true;
}

bool Waiting::Ended(const client::JobView& view) const {
  if (!view.ended()) return false;
  if (view.state == "Cancelled") {
    PrintError(command_, "Job allocation " + std::to_string(job_) + " has been revoked");
  } else {
    PrintError(command_, "Unable to allocate resources: job " + std::to_string(job_) + " ran on " +
                             (view.cluster.empty() ? "a member" : view.cluster) +
                             " and its agent did not reach this command: the member is not on "
                             "this host, or runs jobs as another user");
    if (!view.message.empty()) PrintError(command_, view.message);
  }
  return true;
}

// The agent that connects must be the same user's.
bool Waiting::Accept(int fd, Allocation* out) {
  steps::Descriptor socket(::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || !steps::PeerIsOwner(socket.get())) return false;
  out->job = job_;
  out->agent = std::make_unique<steps::Channel>(std::move(socket));
  return Hello(out);
}

bool Waiting::Hello(Allocation* out) {
  const std::int64_t until = Milliseconds() + kAgentConnectMs;
  while (Milliseconds() < until) {
    pollfd wait{out->agent->fd(), POLLIN, 0};
    ::poll(&wait, 1, kLookMs);
    const bool open = out->agent->Receive();
    while (const auto frame = out->agent->Next()) {
      const auto ready = steps::Decode<steps::AllocationReady>(frame->payload);
      if (frame->type != steps::MessageType::kAllocation || !ready) continue;
      out->ready = *ready;
      return true;
    }
    if (!open) return false;
  }
  return false;
}

// Once the job counts as running, its agent's connection stands for the lease.
void Waiting::Leave(Allocation*) {
  for (int i = 0; i < 100; ++i) {
    renewed_ms_ = 0;
    client::JobView view;
    if (Look(&view) && (view.state == "Running" || view.ended())) {
      (void)api_->Send({"POST", Path() + ":keep", "{}"});
      return;
    }
    ::poll(nullptr, 0, 20);
  }
}

std::optional<Allocation> Waiting::Wait(const ClientSocket& socket, int signals, int* exit) {
  Allocation out;
  const std::int64_t begun = Milliseconds();
  bool first = true;
  *exit = ErrorExit(kExitRefused);
  while (true) {
    pollfd fds[] = {{socket.fd(), POLLIN, 0}, {signals, POLLIN, 0}};
    // The first look is early, so that a job that must wait is told of at once.
    ::poll(fds, 2, std::exchange(first, false) ? 200 : kLookMs);
    if (fds[0].revents != 0 && Accept(socket.fd(), &out)) break;
    if (fds[1].revents != 0) {
      Cancel();
      Info("Force Terminated job " + std::to_string(job_));
      PrintError(command_, "Job allocation " + std::to_string(job_) + " has been revoked");
      return std::nullopt;
    }
    client::JobView view;
    if (!Look(&view)) continue;
    if (Ended(view)) return std::nullopt;
    const std::int64_t now = Milliseconds();
    if (immediate_ms_ > 0 && now - begun >= immediate_ms_) {
      Cancel();
      PrintError(command_, "Unable to allocate resources: Requested nodes are busy");
      const auto code = steps::WholeNumber(client::ProcessEnv("SLURM_EXIT_IMMEDIATE"));
      if (code && *code < 256) *exit = static_cast<int>(*code);
      return std::nullopt;
    }
    if ((view.state == "Pending" || view.state == "Held") && !std::exchange(said_queued_, true)) {
      if (std::strcmp(command_, "salloc") == 0)
        Info("Pending job allocation " + std::to_string(job_));
      Info("job " + std::to_string(job_) + " queued and waiting for resources");
    }
    if (view.state != "Running") continue;
    if (runs_since_ms_ == 0) runs_since_ms_ = now;
    if (now - runs_since_ms_ < kAgentConnectMs) continue;
    Cancel();
    PrintError(command_, "Unable to allocate resources: job " + std::to_string(job_) + " runs on " +
                             view.cluster +
                             ", which is not on this host or runs jobs as another user");
    return std::nullopt;
  }
  if (said_queued_) Info("job " + std::to_string(job_) + " has been allocated resources");
  Leave(&out);
  *exit = 0;
  return out;
}

std::string WorkingDir() {
  char here[4096];
  return ::getcwd(here, sizeof(here)) == nullptr ? "/" : here;
}

// The file of --nodefile; a --nodelist with a slash is one, too. "" for none.
std::string NodeFileOf(const steps::OptionValues& options) {
  const std::string list = options.Get("nodelist");
  return list.find('/') != std::string::npos ? list : options.Get("nodefile");
}

}  // namespace

// In /tmp, because the path of a socket may have 107 characters and pods see /tmp of the host.
ClientSocket::ClientSocket() {
  char name[] = "/tmp/muster-client-XXXXXX";
  if (::mkdtemp(name) == nullptr) return;
  directory_ = name;
  path_ = directory_ + "/client.sock";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.c_str(), path_.size());
  socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket_.get(), 4) != 0)
    socket_.reset();
}

ClientSocket::~ClientSocket() {
  if (directory_.empty()) return;
  ::unlink(path_.c_str());
  ::rmdir(directory_.c_str());
}

std::optional<Allocation> Allocate(const char* command,
                                   const std::vector<steps::OptionValues>& components,
                                   const std::string& name, int signals, int* exit) {
  *exit = ErrorExit(kExitRefused);
  const std::optional<client::Settings> settings = FindServer(command);
  if (!settings) return std::nullopt;
  client::ApiClient api(*settings);
  const ClientSocket socket;
  if (socket.fd() < 0) {
    PrintError(command, std::string("cannot make a socket in /tmp: ") + std::strerror(errno));
    return std::nullopt;
  }
  json::object body = AllocationFields(components, WorkingDir(), name);
  const std::string node_file = NodeFileOf(components.front());
  if (!node_file.empty()) {
    if (const auto error = AddNodeFile(node_file, &body)) {
      PrintError(command, error->message);
      *exit = ErrorExit(error->exit);
      return std::nullopt;
    }
  }
  body["environment"] = json::object{{"MUSTER_CLIENT_SOCKET", socket.path()}};
  const Partition where = SplitPartition(components.front().Get("partition"), settings->ns);
  if (!where.queue.empty()) body["queue"] = where.queue;
  Waiting waiting(command, &api, components.front());
  if (!waiting.Submit(body, where.ns)) return std::nullopt;
  return waiting.Wait(socket, signals, exit);
}

void EnterAllocation(const Allocation& allocation) {
  for (const std::string& one : allocation.ready.environment) {
    const std::size_t sign = one.find('=');
    const std::string name = one.substr(0, sign);
    bool of_a_task = false;
    for (const char* task : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS",
                             "SLURM_TASK_PID", "SLURM_CPUS_ON_NODE", "SLURM_GPUS_ON_NODE"})
      of_a_task = of_a_task || name == task;
    if (!of_a_task) ::setenv(name.c_str(), one.c_str() + sign + 1, 1);
  }
  const std::string job = std::to_string(allocation.job);
  ::setenv("SLURM_JOB_ID", job.c_str(), 1);
  ::setenv("SLURM_JOBID", job.c_str(), 1);
  ::setenv("MUSTER_STEPS_DIR", allocation.ready.steps_directory.c_str(), 1);
}

steps::Descriptor WatchAllocationSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return steps::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void ForgetAllocationSignals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
}

}  // namespace muster::slurm
