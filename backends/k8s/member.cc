#include "backends/k8s/member.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "backends/k8s/client/kubeconfig.h"
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

// A registered member's file is a copy whose place means nothing to anybody.
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

void Member::Open() {
  KubeconfigOptions wanted;
  wanted.context = options_.context;
  if (!options_.credentials_dir.empty()) wanted.allowed_directories = {options_.credentials_dir};
  wanted.allow_exec = options_.allow_exec;
  wanted.inline_only = options_.registered;
  kubeconfig_ = TextOf(options_.kubeconfig);
  auto access = LoadKubeconfig(options_.kubeconfig, wanted);
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
  std::lock_guard lock(mutex_);
  session_ = std::move(made);
  trouble_.clear();
}

void Member::Fail(const std::string& trouble) {
  {
    std::lock_guard lock(mutex_);
    if (trouble_ != trouble) {
      Log(LogLevel::kWarning, "k8s", "member_not_usable",
          {{"cluster", options_.name}, {"err", trouble}});
    }
    trouble_ = trouble;
  }
  sink_->OnFacts(facts());
  const std::int64_t wait = std::min(kRetryMaxMs, kRetryMs << std::min(failures_++, 5));
  environment_.timers.At(
      environment_.clock.Now() + MillisToNanos(wait),
      [this, ask = ask_, alive = std::weak_ptr<bool>(alive_), retry = ++retries_] {
        ask([this, alive, retry] {
          const bool due = alive.lock() != nullptr && retry == retries_;
          if (due && session() == nullptr) Open();
        });
      });
}

void Member::Reload() {
  if (sink_ == nullptr) return;
  if (session() != nullptr && TextOf(options_.kubeconfig) == kubeconfig_) return;
  CloseSession();
  Open();
}

void Member::SetHeartbeat(std::int64_t seconds) {
  if (heartbeat_s_ == seconds) return;
  heartbeat_s_ = seconds;
  if (const SessionPtr now = session()) now->SetHeartbeat(seconds);
}

void Member::Renew(Renewal why) {
  if (session() == nullptr) return;
  // What was refused is asked again only with other words.
  if (why == Renewal::kCredentials && TextOf(options_.kubeconfig) == kubeconfig_) return;
  CloseSession();
  Open();
}

void Member::CloseSession() {
  SessionPtr ended;
  {
    std::lock_guard lock(mutex_);
    ended.swap(session_);
    trouble_ = "it is being connected anew";
  }
  if (ended == nullptr) return;
  if (session_ends_) session_ends_(ended.get());
  ended->Close();
}

SessionPtr Member::session(std::string* trouble) const {
  std::lock_guard lock(mutex_);
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
