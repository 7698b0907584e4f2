// Member: makes the sessions of one member, one at a time.
//
// Open reads the kubeconfig and makes a session; if the kubeconfig cannot be used, Fail reports the
// reason as facts and tries again after 1 s, doubling to 30 s. Renew replaces the session at its
// own request, Reload because the kubeconfig file may have changed. If the new text cannot be used
// (it may be half written), Keep lets the session live, has it say so, and tries again as Fail
// does. All of it runs on the keeper thread: sessions and timers only post to it, and `alive_`
// makes posts that arrive after Stop harmless.
#include "backends/k8s/member.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "schedd/telemetry/log.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kRetryMs = 1000, kRetryMaxMs = 30'000;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The reason for a user. A registered member's file is the daemon's own copy of a Secret, so its
// path says nothing to the user and is left out.
std::string TroubleOf(const MemberOptions& options, const Error& error) {
  if (!options.registered) return options.kubeconfig + ": " + error.detail;
  if (error.code == Code::kNotFound)
    return "the Secret that muster.io/kubeconfig-secret names has no key kubeconfig, or is gone";
  return error.detail;
}

}  // namespace

Member::Member(const ClientEnvironment& environment, MemberOptions options, std::string instance_id,
               std::function<void(std::function<void()>)> ask)
    : environment_(environment),
      options_(std::move(options)),
      instance_id_(std::move(instance_id)),
      ask_(std::move(ask)),
      heartbeat_s_(options_.heartbeat_s) {}

Member::~Member() { Stop(); }

void Member::Start(ObservationSink& sink) {
  sink_ = &sink;
  alive_ = std::make_shared<bool>(true);
  Open();
}

void Member::Stop() {
  alive_.reset();
  CloseSession();
  sink_ = nullptr;
}

Result<MemberAccess> Member::Load() const {
  KubeconfigOptions wanted;
  wanted.context = options_.context;
  if (!options_.credentials_dir.empty()) wanted.allowed_directories = {options_.credentials_dir};
  wanted.allow_exec = options_.allow_exec;
  wanted.inline_only = options_.registered;
  return LoadKubeconfig(options_.kubeconfig, wanted);
}

// Reads the kubeconfig and makes a session; Fail schedules another try if it cannot be used.
void Member::Open() {
  kubeconfig_ = TextOf(options_.kubeconfig);
  unusable_.clear();
  auto access = Load();
  if (!access.ok()) return Fail(TroubleOf(options_, access.error()));
  failures_ = 0;
  SessionOptions options;
  options.member = options_.name;
  options.instance_id = instance_id_;
  options.labels = options_.labels;
  options.connections = options_.connections;
  options.heartbeat_s = heartbeat_s_;
  const std::weak_ptr<bool> alive = alive_;
  SessionPtr made = Session::Make(environment_, std::move(access).value(), std::move(options),
                                  *sink_, [this, alive, ask = ask_](Renewal why) {
                                    ask([this, alive, why] {
                                      if (alive.lock() != nullptr) Renew(why);
                                    });
                                  });
  MutexLock lock(mutex_);
  session_ = std::move(made);
  trouble_.clear();
}

// Reports the reason as facts and tries again after a pause.
void Member::Fail(const std::string& trouble) {
  {
    MutexLock lock(mutex_);
    if (trouble_ != trouble) {
      Log(LogLevel::kWarning, "k8s", "member_not_usable",
          {{"cluster", options_.name}, {"err", trouble}});
    }
    trouble_ = trouble;
  }
  sink_->OnFacts(facts());
  TryAgain();
}

// The kubeconfig of a member that has a session cannot be used.
void Member::Keep(const SessionPtr& session, const std::string& trouble) {
  if (unusable_ != trouble) {
    unusable_ = trouble;
    Log(LogLevel::kWarning, "k8s", "kubeconfig_not_usable",
        {{"cluster", options_.name}, {"err", trouble}});
    session->SetRemark("its kubeconfig has changed and cannot be used, so the one before it is: " +
                       trouble);
  }
  TryAgain();
}

// Reads the kubeconfig again after a pause. Only the latest retry counts, since Reload may have
// opened a session in between.
void Member::TryAgain() {
  const std::int64_t wait = std::min(kRetryMaxMs, kRetryMs << std::min(failures_++, 5));
  environment_.timers.At(
      environment_.clock.Now() + MillisToNanos(wait),
      [this, ask = ask_, alive = std::weak_ptr<bool>(alive_), retry = ++retries_] {
    ask([this, alive, retry] {
      const bool due = alive.lock() != nullptr && retry == retries_;
      if (due) Refresh(false);
    });
      });
}

void Member::Reload() {
  if (sink_ != nullptr) Refresh(true);
}

// Makes a session of the kubeconfig as it is now, if there is none or the text has changed.
// `gone_ends`: a kubeconfig that was taken away ends the session.
void Member::Refresh(bool gone_ends) {
  const SessionPtr now = session();
  if (now == nullptr) return Open();
  if (TextOf(options_.kubeconfig) == kubeconfig_) {
    failures_ = 0;
    if (!std::exchange(unusable_, "").empty()) now->SetRemark("");
    return;
  }
  const auto access = Load();
  const bool gone = !access.ok() && access.error().code == Code::kNotFound;
  if (!access.ok() && !(gone && gone_ends)) return Keep(now, TroubleOf(options_, access.error()));
  CloseSession();
  Open();
}

void Member::SetHeartbeat(std::int64_t seconds) {
  if (heartbeat_s_ == seconds) return;
  heartbeat_s_ = seconds;
  if (const SessionPtr now = session()) now->SetHeartbeat(seconds);
}

// A session asks to be replaced.
void Member::Renew(Renewal why) {
  if (session() == nullptr) return;
  // The same text would lead to the same end.
  if (why == Renewal::kUnusable) return Refresh(false);
  CloseSession();
  Open();
}

// Ends the session, if there is one. Blocks until its last callback has run.
void Member::CloseSession() {
  SessionPtr ended;
  {
    MutexLock lock(mutex_);
    ended.swap(session_);
    trouble_ = "it is being connected anew";
  }
  if (ended == nullptr) return;
  if (session_ends_) session_ends_(ended.get());
  ended->Close();
}

SessionPtr Member::session(std::string* trouble) const {
  MutexLock lock(mutex_);
  if (trouble != nullptr) *trouble = trouble_;
  return session_;
}

ClusterFacts Member::facts() const {
  std::string trouble;
  if (const SessionPtr now = session(&trouble)) return now->facts();
  ClusterFacts facts;
  facts.cluster = options_.name;
  facts.labels = options_.labels;
  facts.healthy = false;
  facts.message = trouble;
  return facts;
}

}  // namespace muster::k8s
