// LocalBackend: the calls of Backend, each posted to the one thread that owns all attempts. If the
// queue is full the call is answered at once with kResourceExhausted. Pods and ReadLog wait for the
// thread; ReadLog then reads the log files on the caller's thread.
//
// Opening. The lock on STATE/lock keeps a second daemon away. Each member's incarnation is a UUID
// that is made once. A directory without a readable attempt.json is the trace of a daemon that died
// while it created the attempt, before any pod ran; it is removed. All others are adopted.
#include "backends/local/local_backend.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <set>

#include "backends/local/attempt.h"
#include "backends/local/pods/batch_world.h"
#include "backends/local/process/files.h"
#include "backends/local/process/log_files.h"
#include "schedd/base/limits.h"

namespace muster {
namespace local {
namespace {

// The most calls that may wait for the backend's thread.
constexpr std::size_t kTasks = 65'536;
// With less free space the member is not healthy, so it gets no new jobs.
constexpr std::uint64_t kDiskReserve = 64 << 20;

// Containers of other users pass through to their volumes, but cannot list the directory.
constexpr unsigned kDataMode = 0711;

// Names of members become directories.
bool IsLabel(const std::string& name) {
  return !name.empty() && name.size() <= 63 && name[0] != '.' &&
         name.find('/') == std::string::npos;
}

class LocalBackend final : public Backend {
 public:
  explicit LocalBackend(LocalOptions options) : loop_(std::make_shared<EventLoop>(kTasks)) {
    world_.options = std::move(options);
    world_.loop = loop_;
    world_.report = [this](const Observation& seen) {
      if (sink_ != nullptr) sink_->OnObservation(seen);
    };
    world_.forget = [this](const DispatchKey& key) { attempts_.erase(key); };
  }

  ~LocalBackend() override {
    Stop();
    if (lock_fd_ >= 0) ::close(lock_fd_);
  }

  Status Open();
  std::vector<std::string> Clusters() const override;
  void Ensure(const DispatchOrder& order, Callback<RemoteRef> done) override;
  void Remove(const DispatchKey& key, const RemovePolicy& policy,
              Callback<RemovalResult> done) override;
  void List(const std::string& cluster, Callback<std::vector<Observation>> done) override;
  void Start(ObservationSink& sink) override;
  void Stop() override;
  void Facts(const std::string& cluster, Callback<ClusterFacts> done) override;
  void Signal(const DispatchKey& key, const SignalOrder& order, Callback<Done> done) override;
  void Notify(const DispatchKey& key, const std::string& line, Callback<Done> done) override;
  Result<std::vector<PodStatus>> Pods(const DispatchKey& key) override;
  Result<LogChunk> ReadLog(const DispatchKey& key, const LogQuery& query) override;

 private:
  // Posts a call that concerns one attempt.
  void Control(const DispatchKey& key, std::function<Status(Attempt&)> call, Callback<Done> done);
  Status LockStateDirectory();
  Status OpenCluster(const LocalCluster& cluster);
  std::string DirectoryOf(const DispatchKey& key) const;
  Result<RemoteRef> EnsureNow(const DispatchOrder& order);
  Result<std::vector<int>> PortsFor(const DispatchOrder& order);
  RemoteRef RefOf(const Attempt& attempt) const;
  ClusterFacts FactsOf(const std::string& cluster) const;
  int PodsOfMember(const std::string& cluster) const;
  Result<std::vector<PodStatus>> PodsNow(const DispatchKey& key) const;
  // Runs `call` on the backend's thread and waits for its answer.
  template <class T>
  Result<T> Ask(std::function<Result<T>()> call);

  AttemptWorld world_;
  std::shared_ptr<EventLoop> loop_;
  std::map<std::string, std::string> incarnations_;  // by cluster; fixed once open
  std::map<DispatchKey, std::shared_ptr<Attempt>> attempts_;
  ObservationSink* sink_ = nullptr;
  int lock_fd_ = -1;
};

// Takes the lock, which the kernel releases when the process ends.
Status LocalBackend::LockStateDirectory() {
  const std::string& dir = world_.options.state_dir;
  if (Status made = MakeDirectories(dir, kDataMode); !made.ok()) return made;
  lock_fd_ = ::open((dir + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_fd_ < 0)
    return Unavailable("cannot open the lock of " + dir + ": " + std::strerror(errno));
  if (::flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
    return Error{Code::kFailedPrecondition,
                 "another musterd or muster-launcher already works in " + dir};
  }
  return Done{};
}

Status LocalBackend::Open() {
  LocalOptions& options = world_.options;
  if (options.clock == nullptr || options.timers == nullptr || options.random == nullptr) {
    return InvalidArgument("the local backend needs a clock, timers and randomness");
  }
  if (options.state_dir.empty())
    return InvalidArgument("the local backend needs a state directory");
  // Supervisors change their working directory, so all paths given to them must be absolute.
  std::error_code error;
  options.state_dir =
      std::filesystem::absolute(options.state_dir, error).lexically_normal().string();
  options.supervisor_path =
      std::filesystem::absolute(options.supervisor_path, error).lexically_normal().string();
  if (::access(options.supervisor_path.c_str(), X_OK) != 0) {
    return Error{Code::kFailedPrecondition, "there is no program " + options.supervisor_path};
  }
  std::set<std::string> names;
  for (const LocalCluster& cluster : options.clusters) {
    if (!IsLabel(cluster.name))
      return InvalidArgument("\"" + cluster.name + "\" cannot name a member cluster");
    if (!names.insert(cluster.name).second)
      return InvalidArgument("member cluster " + cluster.name + " is there twice");
  }
  if (Status locked = LockStateDirectory(); !locked.ok()) return locked;
  Status opened = loop_->Open([this] {
    for (const auto& [key, attempt] : std::map(attempts_)) attempt->LookAgain();
  });
  if (!opened.ok()) return opened;
  world_.abilities =
      FindAbilities(options.supervisor_path, options.use_cgroups, options.use_namespaces, "muster");
  // All programs are installed beside each other.
  const std::string programs = std::filesystem::path(options.supervisor_path).parent_path();
  world_.step_agent = programs + "/muster-step-agent";
  if (IsDirectory(programs + "/slurm")) world_.commands_dir = programs + "/slurm";
  world_.shares = HostShares(UsableCpus());
  for (const LocalCluster& cluster : options.clusters) {
    if (Status ready = OpenCluster(cluster); !ready.ok()) return ready;
  }
  loop_->Start();
  // Pods that ended while no daemon ran are judged, and unfinished removals are finished.
  loop_->PostAlways([this] {
    for (const auto& [key, attempt] : std::map(attempts_)) attempt->LookAgain();
  });
  return Done{};
}

// Prepares a member's directory and adopts its attempts.
Status LocalBackend::OpenCluster(const LocalCluster& cluster) {
  const std::string dir = world_.options.state_dir + "/" + cluster.name;
  if (Status made = MakeDirectories(dir, kDataMode); !made.ok()) return made;
  // Earlier releases created these directories readable by all.
  for (const std::string& ours : {world_.options.state_dir, dir}) {
    if (::chmod(ours.c_str(), kDataMode) != 0)
      return Unavailable("cannot set the mode of " + ours + ": " + std::strerror(errno));
  }
  Result<std::string> incarnation = ReadWholeFile(dir + "/incarnation");
  if (!incarnation.ok() || incarnation->empty()) {
    incarnation = Uid::Make(*world_.options.random).ToString();
    if (Status wrote = WriteWholeFile(dir + "/incarnation", *incarnation); !wrote.ok())
      return wrote;
  }
  incarnations_[cluster.name] = *incarnation;
  world_.allocatable[cluster.name] = WithHostDefaults(cluster.allocatable);
  const Result<MemberAccounts> accounts =
      ResolveAccounts(cluster.job_account, cluster.root_jobs, world_.abilities.own_uid,
                      world_.options.reserved_users);
  if (!accounts.ok())
    return Error{accounts.error().code,
                 "member cluster " + cluster.name + ": " + accounts.error().detail};
  world_.accounts[cluster.name] = *accounts;
  for (const std::string& name : ListDirectory(dir)) {
    const std::string path = dir + "/" + name;
    if (!IsDirectory(path)) continue;
    Result<std::shared_ptr<Attempt>> attempt = Attempt::Adopt(world_, path);
    if (!attempt.ok()) {
      // Nothing is known of an attempt that cannot be read now: its pods may run.
      if (attempt.error().code == Code::kUnavailable) return attempt.error();
      // The daemon died while it created this attempt, before any pod ran; or somebody has spoilt
      // the record of one whose pods may run, which nobody would follow any more.
      for (const std::string& pod : ListDirectory(path + "/pods"))
        KillRemains(path + "/pods/" + pod, {});
      if (Status removed = RemoveTree(path); !removed.ok()) return removed;
      continue;
    }
    attempts_[(*attempt)->state().key] = *attempt;
  }
  return Done{};
}

std::string LocalBackend::DirectoryOf(const DispatchKey& key) const {
  return world_.options.state_dir + "/" + key.cluster + "/" + AttemptDirectoryName(key);
}

std::vector<std::string> LocalBackend::Clusters() const {
  std::vector<std::string> names;
  for (const LocalCluster& cluster : world_.options.clusters) names.push_back(cluster.name);
  return names;
}

RemoteRef LocalBackend::RefOf(const Attempt& attempt) const {
  return {attempt.state().remote_uid, incarnations_.at(attempt.state().key.cluster)};
}

// Live pods of all attempts of one member.
int LocalBackend::PodsOfMember(const std::string& cluster) const {
  int pods = 0;
  for (const auto& [key, attempt] : attempts_) {
    if (key.cluster == cluster) pods += attempt->live_pods();
  }
  return pods;
}

// Free ports for the attempt's pods that no other unfinished attempt has.
Result<std::vector<int>> LocalBackend::PortsFor(const DispatchOrder& order) {
  const Controller* controller = FindController(order.object.api_version, order.object.kind);
  const Result<json::object> object = ParseManifest(order.object.json);
  // Attempt::Create gives the reason.
  if (controller == nullptr || !object.ok()) return std::vector<int>();
  // A batch script finds what Slurm gives it, and no variables of a rendezvous.
  for (const json::object* pod_template : controller->templates(*object)) {
    if (IsBatchPod(*pod_template)) return std::vector<int>();
  }
  const auto needed = static_cast<std::size_t>(controller->ports_needed(*object));
  std::set<int> taken;
  for (const auto& [key, attempt] : attempts_) {
    if (attempt->state().outcome.ended.set()) continue;
    taken.insert(attempt->state().ports.begin(), attempt->state().ports.end());
  }
  std::vector<int> ports;
  for (int tries = 0; tries < 16 && ports.size() < needed; ++tries) {
    for (const int port :
         FreePorts(static_cast<int>(needed - ports.size()), *world_.options.random)) {
      if (taken.insert(port).second) ports.push_back(port);
    }
  }
  if (ports.size() < needed)
    return Unavailable("this host has no free TCP ports for the job's pods to meet at");
  return ports;
}

// Creates, resizes and releases the attempt, as far as the order asks for it and the permit holds.
Result<RemoteRef> LocalBackend::EnsureNow(const DispatchOrder& order) {
  if (!incarnations_.contains(order.key.cluster)) {
    return NotFound("there is no member cluster " + order.key.cluster);
  }
  if (!order.permit.Holds()) return NotLeading();
  const auto found = attempts_.find(order.key);
  std::shared_ptr<Attempt> attempt = found == attempts_.end() ? nullptr : found->second;
  if (!order.expected_uid.empty() &&
      (attempt == nullptr || attempt->state().remote_uid != order.expected_uid)) {
    return NotFound("member " + order.key.cluster + " does not have this attempt");
  }
  const bool grows = attempt != nullptr && order.scale > attempt->state().scale;
  if (attempt == nullptr || grows) {
    std::int64_t pods = PodsOfMember(order.key.cluster) - (grows ? attempt->live_pods() : 0);
    for (const PodSetAssignment& set : order.pod_sets) pods += set.count;
    if (pods > limits::kPodsPerLocalMember) {
      return Overloaded("the member would have more than " +
                            std::to_string(limits::kPodsPerLocalMember) + " pods",
                        5000);
    }
  }
  if (attempt == nullptr) {
    Result<std::vector<int>> ports = PortsFor(order);
    if (!ports.ok()) return ports.error();
    Result<std::shared_ptr<Attempt>> made =
        Attempt::Create(world_, DirectoryOf(order.key), order, std::move(*ports));
    if (!made.ok()) {
      // No pod ran; a half-written directory must not look like an attempt.
      if (Status removed = RemoveTree(DirectoryOf(order.key)); !removed.ok())
        return removed.error();
      return made.error();
    }
    attempt = *made;
    attempts_[order.key] = attempt;
  } else if (attempt->leaving()) {
    return Error{Code::kFailedPrecondition, "this attempt was removed and cannot come back"};
  } else if (Status resized = attempt->Resize(order); !resized.ok()) {
    return resized.error();
  }
  if (!order.suspended) {
    // Writing the files may have taken long. No pod runs before the release, so nothing is lost.
    if (!order.permit.Holds()) return NotLeading();
    if (Status released = attempt->Release(); !released.ok()) return released.error();
  }
  return RefOf(*attempt);
}

// Answers, then starts the pods: LookAgain makes the controller's first step.
void LocalBackend::Ensure(const DispatchOrder& order, Callback<RemoteRef> done) {
  const bool posted = loop_->Post([this, order, done] {
    Result<RemoteRef> ref = EnsureNow(order);
    const bool ok = ref.ok();
    // The answer comes before the first observation of the attempt.
    done(std::move(ref));
    const auto found = attempts_.find(order.key);
    if (ok && found != attempts_.end()) std::shared_ptr(found->second)->LookAgain();
  });
  if (!posted) done(Overloaded("the local member has too much to do", 1000));
}

void LocalBackend::Remove(const DispatchKey& key, const RemovePolicy& policy,
                          Callback<RemovalResult> done) {
  const bool posted = loop_->Post([this, key, policy, done] {
    const auto found = attempts_.find(key);
    const bool ours =
        found != attempts_.end() &&
        (policy.expected_uid.empty() || policy.expected_uid == found->second->state().remote_uid);
    if (!ours) return done(RemovalResult{false});
    std::shared_ptr(found->second)->Remove(policy, done);
  });
  if (!posted) done(Overloaded("the local member has too much to do", 1000));
}

void LocalBackend::Control(const DispatchKey& key, std::function<Status(Attempt&)> call,
                           Callback<Done> done) {
  const bool posted = loop_->Post([this, key, call = std::move(call), done] {
    const auto found = attempts_.find(key);
    if (found == attempts_.end())
      return done(NotFound("there is no such attempt on " + key.cluster));
    const std::shared_ptr<Attempt> attempt = found->second;
    done(call(*attempt));
    // A suspension changes when its time limit comes.
    attempt->LookAgain();
  });
  if (!posted) done(Overloaded("the local member has too much to do", 1000));
}

void LocalBackend::Signal(const DispatchKey& key, const SignalOrder& order, Callback<Done> done) {
  Control(
      key, [order](Attempt& attempt) { return attempt.Signal(order); }, std::move(done));
}

void LocalBackend::Notify(const DispatchKey& key, const std::string& line, Callback<Done> done) {
  Control(
      key, [line](Attempt& attempt) { return attempt.Notify(line); }, std::move(done));
}

void LocalBackend::List(const std::string& cluster, Callback<std::vector<Observation>> done) {
  const bool posted = loop_->Post([this, cluster, done] {
    if (!incarnations_.contains(cluster))
      return done(NotFound("there is no member cluster " + cluster));
    std::vector<Observation> all;
    for (const auto& [key, attempt] : attempts_) {
      if (key.cluster == cluster) all.push_back(attempt->Observe());
    }
    done(std::move(all));
    // Who lists may not have heard of earlier steps.
    if (sink_ == nullptr) return;
    for (const auto& [key, attempt] : std::map(attempts_)) {
      if (key.cluster == cluster) attempt->ReportStepsAgain();
    }
  });
  if (!posted) done(Overloaded("the local member has too much to do", 1000));
}

void LocalBackend::Start(ObservationSink& sink) {
  loop_->PostAlways([this, &sink] {
    sink_ = &sink;
    for (const auto& [name, incarnation] : incarnations_) sink.OnFacts(FactsOf(name));
    for (const auto& [key, attempt] : attempts_) {
      sink.OnObservation(attempt->Observe());
      attempt->ReportStepsAgain();
    }
  });
}

void LocalBackend::Stop() {
  loop_->Stop();
  sink_ = nullptr;
}

// The host counts as one node; a disk without kDiskReserve makes the member unhealthy.
ClusterFacts LocalBackend::FactsOf(const std::string& cluster) const {
  ClusterFacts facts;
  facts.cluster = cluster;
  facts.incarnation = incarnations_.at(cluster);
  facts.allocatable = facts.capacity = world_.allocatable.at(cluster);
  facts.node_count = 1;  // this host
  facts.message = world_.abilities.description;
  for (const LocalCluster& declared : world_.options.clusters) {
    if (declared.name == cluster) facts.labels = declared.labels;
  }
  struct statvfs disk {};
  if (::statvfs(world_.options.state_dir.c_str(), &disk) == 0 &&
      static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize < kDiskReserve) {
    facts.healthy = false;
    facts.message = "the disk that holds the member's state is full";
  }
  return facts;
}

void LocalBackend::Facts(const std::string& cluster, Callback<ClusterFacts> done) {
  const bool posted = loop_->Post([this, cluster, done] {
    if (!incarnations_.contains(cluster))
      return done(NotFound("there is no member cluster " + cluster));
    done(FactsOf(cluster));
  });
  if (!posted) done(Overloaded("the local member has too much to do", 1000));
}

template <class T>
Result<T> LocalBackend::Ask(std::function<Result<T>()> call) {
  const auto answer = std::make_shared<std::promise<Result<T>>>();
  std::future<Result<T>> waiting = answer->get_future();
  if (!loop_->Post([call = std::move(call), answer] { answer->set_value(call()); })) {
    return Unavailable("the local member is stopped or has too much to do");
  }
  return waiting.get();
}

Result<std::vector<PodStatus>> LocalBackend::PodsNow(const DispatchKey& key) const {
  const auto found = attempts_.find(key);
  if (found == attempts_.end()) return NotFound("there is no such attempt on " + key.cluster);
  return found->second->Pods();
}

Result<std::vector<PodStatus>> LocalBackend::Pods(const DispatchKey& key) {
  return Ask<std::vector<PodStatus>>([this, key] { return PodsNow(key); });
}

Result<LogChunk> LocalBackend::ReadLog(const DispatchKey& key, const LogQuery& query) {
  const Result<std::vector<PodStatus>> pods = Pods(key);
  if (!pods.ok()) return pods.error();
  const PodStatus* pod = nullptr;
  for (const PodStatus& one : *pods) {
    if (query.pod.empty() || query.pod == one.name) {
      pod = &one;
      break;
    }
  }
  if (pod == nullptr)
    return NotFound(query.pod.empty() ? "the job has no pods yet" : "there is no pod " + query.pod);
  // The rest reads the disk on the caller's thread, because a long log would block the backend's.
  const std::string dir = DirectoryOf(key) + "/pods/" + pod->name;
  const std::vector<std::string> containers = ContainersOf(dir);
  if (containers.empty()) return NotFound("pod " + pod->name + " never started: " + pod->message);
  std::string container = query.container.empty() ? containers.front() : "";
  for (const std::string& one : containers) {
    if (one == query.container) container = one;
  }
  if (container.empty())
    return NotFound("pod " + pod->name + " has no container " + query.container);
  // Asked before the log is read: if the container has ended by now, its last byte is on disk.
  const bool ended = ContainerEnded(dir, container);
  const LogPart part = ReadLogFiles(dir + "/log/" + container,
                                    static_cast<std::int64_t>(limits::kLogBytesPerContainer),
                                    query.offset, query.max_bytes, query.timestamps);
  return LogChunk{part.data, part.next_offset, ended && part.next_offset >= part.total};
}

}  // namespace
}  // namespace local

std::string InstalledSupervisor() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "muster-pod-supervisor";
}

Result<std::unique_ptr<Backend>> MakeLocalBackend(LocalOptions options) {
  auto backend = std::make_unique<local::LocalBackend>(std::move(options));
  if (Status opened = backend->Open(); !opened.ok()) return opened.error();
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace muster
