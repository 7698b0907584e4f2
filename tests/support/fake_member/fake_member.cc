#include "tests/support/fake_member/fake_member.h"

#include <chrono>

#include "schedd/base/check.h"
#include "schedd/model/member_labels.h"
#include "tests/support/fake_member/member_impl.h"

namespace muster::fake {
namespace {

std::int64_t MachineMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

ClusterOptions ForCluster(const FakeMemberOptions& options, std::function<std::int64_t()> now_ms) {
  ClusterOptions made;
  made.seed = options.seed;
  made.nodes = options.nodes;
  made.events = options.events;
  made.history = options.history;
  made.pod_stop_ms = options.pod_stop_ms;
  made.now_ms = std::move(now_ms);
  return made;
}

std::string LabelOf(const Labels& labels, std::string_view name) {
  for (const auto& [key, value] : labels) {
    if (key == name) return value;
  }
  return "";
}

}  // namespace

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() { impl_->Finish(); }

void Loop::Impl::Finish() {
  work.reset();
  if (thread.joinable()) thread.join();
}

FakeMember::Impl::Impl(FakeMember* its_face, FakeMemberOptions given, Loop::Impl& its_loop)
    : face(its_face),
      options(std::move(given)),
      loop(its_loop),
      start_ms(MachineMs()),
      cluster(ForCluster(
          options, [this] { return options.manual_clock ? start_ms + skew_ms : MachineMs(); })),
      api(cluster),
      faults(options.seed),
      token(options.token) {}

void FakeMember::Impl::SettleAndArm() {
  cluster.Settle();
  Arm();
}

void FakeMember::Impl::Arm() {
  if (options.manual_clock || over) return;
  const auto due = cluster.NextDue();
  if (!due || *due == armed_ms) return;
  armed_ms = *due;
  asio::post(loop.io, [self = shared_from_this()] {
    std::lock_guard lock(self->mutex);
    if (self->over || self->armed_ms < 0) return;
    if (self->timer == nullptr) self->timer = std::make_unique<asio::steady_timer>(self->loop.io);
    self->timer->expires_after(
        std::chrono::milliseconds(std::max<std::int64_t>(self->armed_ms - MachineMs(), 0)));
    self->timer->async_wait([self](boost::system::error_code failed) {
      if (failed) return;
      std::lock_guard again(self->mutex);
      self->armed_ms = -1;
      self->SettleAndArm();
    });
  });
}

void FakeMember::Impl::After(std::int64_t ms, std::function<void()> then) {
  asio::post(loop.io, [self = shared_from_this(), ms, then = std::move(then)]() mutable {
    std::lock_guard lock(self->mutex);
    if (self->over) return;
    const auto delay = std::make_shared<asio::steady_timer>(self->loop.io);
    self->delays.insert(delay);
    delay->expires_after(std::chrono::milliseconds(ms));
    delay->async_wait([self, delay, then = std::move(then)](boost::system::error_code failed) {
      {
        std::lock_guard again(self->mutex);
        self->delays.erase(delay);
      }
      if (!failed) then();
    });
  });
}

Answer FakeMember::Impl::CallLocked(const Request& request, Writer who) {
  const Route route = api.Read(request);
  const Answer answer = api.Handle(request, route, who);
  SettleAndArm();
  return answer;
}

void FakeMember::Impl::NudgeLogs() {
  for (Stream* stream : streams) stream->Nudge();
}

void FakeMember::Impl::CloseStreams() {
  for (Stream* stream : streams) stream->Close();
}

FakeMember::FakeMember(FakeMemberOptions options)
    : own_loop_(options.loop == nullptr),
      loop_(own_loop_ ? std::make_shared<Loop>() : options.loop) {
  options.loop.reset();
  impl_ = std::make_shared<Impl>(this, std::move(options), loop_->impl());
  impl_->port = impl_->options.port;
  impl_->Listen();
}

FakeMember::~FakeMember() {
  impl_->Shutdown();
  if (own_loop_) loop_->impl().Finish();
}

int FakeMember::port() const { return impl_->port; }
std::string FakeMember::url() const { return "http://127.0.0.1:" + std::to_string(impl_->port); }

std::string FakeMember::Kubeconfig() const {
  std::lock_guard lock(impl_->mutex);
  std::string text =
      "apiVersion: v1\nkind: Config\nclusters:\n- name: fake\n  cluster:\n    server: " + url() +
      "\ncontexts:\n- name: fake\n  context:\n    cluster: fake\n    user: muster\n"
      "current-context: fake\nusers:\n- name: muster\n  user:";
  text += impl_->token.empty() ? " {}\n" : "\n    token: " + impl_->token + "\n";
  return text;
}

std::string FakeMember::incarnation() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->cluster.incarnation();
}

Answer FakeMember::Call(const std::string& method, const std::string& target,
                        const std::string& body, const std::string& content_type) {
  std::lock_guard lock(impl_->mutex);
  return impl_->CallLocked({method, target, content_type, "", body}, Writer::kTest);
}

json::object FakeMember::Object(const std::string& path) const {
  std::lock_guard lock(impl_->mutex);
  const Answer answer = impl_->CallLocked({"GET", path, "", "", ""}, Writer::kTest);
  MUSTER_CHECK(answer.ok());
  return OwnObject(answer.body);
}

int FakeMember::Inject(Fault fault) {
  std::lock_guard lock(impl_->mutex);
  return impl_->faults.Add(std::move(fault));
}

void FakeMember::Withdraw(int fault) {
  std::lock_guard lock(impl_->mutex);
  impl_->faults.Remove(fault);
}

void FakeMember::ClearFaults() {
  std::lock_guard lock(impl_->mutex);
  impl_->faults.Clear();
}

std::int64_t FakeMember::Struck(int fault) const {
  std::lock_guard lock(impl_->mutex);
  return impl_->faults.Struck(fault);
}

void FakeMember::Pause() {
  std::lock_guard lock(impl_->mutex);
  impl_->paused = true;
}

void FakeMember::Resume() {
  std::lock_guard lock(impl_->mutex);
  impl_->paused = false;
  for (auto& [connection, request] : impl_->waiting) {
    asio::post(impl_->loop.io,
               [impl = impl_, connection = connection, request = std::move(request)]() mutable {
      impl->Serve(connection, std::move(request));
    });
  }
  impl_->waiting.clear();
  for (Stream* stream : impl_->streams) stream->Nudge();
}

void FakeMember::Stop() {
  impl_->StopListening();
  impl_->BreakAll();
}

void FakeMember::Start() { impl_->Listen(); }
void FakeMember::BreakConnections() { impl_->BreakAll(); }

void FakeMember::CloseWatches() {
  std::lock_guard lock(impl_->mutex);
  impl_->CloseStreams();
}

void FakeMember::SendBookmarks() {
  std::lock_guard lock(impl_->mutex);
  for (Stream* stream : impl_->streams) stream->Bookmark();
}

void FakeMember::Compact() {
  std::lock_guard lock(impl_->mutex);
  impl_->cluster.store().Compact();
  impl_->api.ForgetTokens();
}

void FakeMember::Wipe() {
  std::lock_guard lock(impl_->mutex);
  impl_->CloseStreams();
  impl_->cluster.Wipe();
  impl_->SettleAndArm();
}

void FakeMember::Save(const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  impl_->saved[name] = impl_->cluster.store().Save();
}

void FakeMember::Restore(const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  const auto it = impl_->saved.find(name);
  MUSTER_CHECK(it != impl_->saved.end());
  impl_->CloseStreams();
  impl_->cluster.Restore(it->second);
  impl_->SettleAndArm();
}

void FakeMember::SetToken(const std::string& token) {
  std::lock_guard lock(impl_->mutex);
  impl_->token = token;
}

void FakeMember::SetRight(const std::string& verb, const std::string& plural, const std::string& ns,
                          bool allowed) {
  std::lock_guard lock(impl_->mutex);
  impl_->rights.Set(verb, plural, ns, allowed);
}

void FakeMember::SetInstalled(const std::string& plural, bool installed) {
  std::lock_guard lock(impl_->mutex);
  const int resource = impl_->cluster.store().Plural(plural);
  MUSTER_CHECK(resource >= 0);
  impl_->cluster.SetInstalled(resource, installed);
}

void FakeMember::SetPodQuota(const std::string& ns, std::int64_t pods) {
  std::lock_guard lock(impl_->mutex);
  impl_->cluster.SetPodQuota(ns, pods);
  impl_->SettleAndArm();
}

void FakeMember::SetControllers(bool on) {
  std::lock_guard lock(impl_->mutex);
  impl_->cluster.SetControllers(on);
  impl_->SettleAndArm();
}

void FakeMember::Advance(std::int64_t ms) {
  std::lock_guard lock(impl_->mutex);
  MUSTER_CHECK(impl_->options.manual_clock);
  const std::int64_t target = impl_->skew_ms + ms;
  while (true) {
    impl_->cluster.Settle();
    const auto due = impl_->cluster.NextDue();
    if (!due || *due - impl_->start_ms > target) break;
    impl_->skew_ms = std::max(impl_->skew_ms, *due - impl_->start_ms);
  }
  impl_->skew_ms = target;
  impl_->cluster.Settle();
}

void FakeMember::SetStatus(const std::string& path, const std::string& status) {
  std::lock_guard lock(impl_->mutex);
  Request request{"PATCH", path + "/status", "application/json-patch+json", "",
                  R"([{"op":"add","path":"/status","value":)" + status + "}]"};
  const Answer answer = impl_->CallLocked(request, Writer::kSystem);
  MUSTER_CHECK(answer.ok());
}

void FakeMember::Disrupt(const std::string& ns, const std::string& pod, const std::string& reason) {
  std::lock_guard lock(impl_->mutex);
  ObjectStore& store = impl_->cluster.store();
  const Key key{store.Plural("pods"), ns, pod};
  json::object object = store.Object(key);
  json::object& status = Child(object, "status");
  status["phase"] = "Failed";
  json::value& conditions = status["conditions"];
  if (!conditions.is_array()) conditions.emplace_array();
  for (json::value& one : conditions.get_array()) {
    if (Text(one.as_object(), {"type"}) == "Ready") one.as_object()["status"] = "False";
  }
  conditions.get_array().push_back(json::object{{"type", "DisruptionTarget"},
                                                {"status", "True"},
                                                {"lastProbeTime", nullptr},
                                                {"lastTransitionTime", impl_->cluster.Now()},
                                                {"reason", reason},
                                                {"message", "the fake member took the pod away"}});
  impl_->cluster.Write(key, std::move(object));
  impl_->SettleAndArm();
}

void FakeMember::SetNodeReady(const std::string& node, bool ready) {
  std::lock_guard lock(impl_->mutex);
  ObjectStore& store = impl_->cluster.store();
  const Key key{store.Plural("nodes"), "", node};
  json::object object = store.Object(key);
  for (json::value& one : Child(object, "status")["conditions"].as_array()) {
    if (Text(one.as_object(), {"type"}) == "Ready")
      one.as_object()["status"] = ready ? "True" : "False";
  }
  impl_->cluster.Write(key, std::move(object));
  impl_->SettleAndArm();
}

void FakeMember::AppendLog(const std::string& ns, const std::string& pod, const std::string& text) {
  std::lock_guard lock(impl_->mutex);
  impl_->api.AppendLog({impl_->cluster.store().Plural("pods"), ns, pod}, text);
  impl_->NudgeLogs();
}

Counts FakeMember::counts() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->cluster.counts();
}

std::vector<std::string> FakeMember::ActivePods(const std::string& job_uid, int attempt) const {
  std::lock_guard lock(impl_->mutex);
  ObjectStore& store = impl_->cluster.store();
  std::vector<std::string> names;
  for (const auto& [name, record] : store.All(store.Plural("pods"))) {
    if (!record.ended && LabelOf(*record.labels, kJobUidLabel) == job_uid &&
        LabelOf(*record.labels, kAttemptLabel) == std::to_string(attempt))
      names.push_back(name.second);
  }
  return names;
}

}  // namespace muster::fake
