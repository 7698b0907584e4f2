// Credentials: from their sources to the header and the TLS context of a request.
//
// Sources are looked at when a request needs them, at most once a second: a file is read again if
// its stamp (time, size, inode) has changed. If any content has changed, Auth is rebuilt with a new
// generation; only changed certificates make a new TLS context, so a rotated token keeps the
// connections. An unreadable or half-written file does not replace credentials that work.
//
// An exec plugin runs on a thread of its own. Its credentials are used until they expire; a minute
// before that it is run again, in the background. While there are none, Current answers null and
// requests wait.
//
// After a 401, Renew reads the files again or rejects the plugin's credentials. Until the member
// accepts something, a further renewal waits kRenewAgainMs, so that a member that refuses
// everything costs little.
#include "backends/k8s/client/credentials.h"

#include <utility>

#include "schedd/telemetry/log.h"

namespace muster::k8s {
namespace {

// How soon a rotated file is noticed.
constexpr std::int64_t kLookMs = 1000;
constexpr std::int64_t kRenewAgainMs = 10'000;
// How long before its credentials expire the plugin is run again.
constexpr std::int64_t kRunEarlyUs = 60 * kMicrosPerSecond;

Error Unauthenticated(std::string detail) { return {Code::kUnauthenticated, std::move(detail)}; }

// Token files often end with a newline.
void TrimToken(std::string* text) {
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r' || text->back() == ' '))
    text->pop_back();
}

bool Printable(const std::string& text) {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f) return false;
  }
  return true;
}

}  // namespace

// One run of the plugin; shared with its thread.
struct Credentials::PluginRun {
  ExecPlugin plugin;
  std::string info;
  ExecStop stop;
};

Credentials::Credentials(const Clock& clock, std::shared_ptr<StrandGate> gate,
                         const MemberAccess& access, std::string member,
                         std::function<void()> changed)
    : clock_(clock),
      gate_(std::move(gate)),
      access_(access),
      member_(std::move(member)),
      changed_(std::move(changed)),
      ca_{access.ca, "certificate-authority", {}, {}},
      certificate_{access.client_certificate, "client-certificate", {}, {}},
      key_{access.client_key, "client-key", {}, {}},
      token_{access.token, "tokenFile", {}, {}} {}

Credentials::~Credentials() { Stop(); }

Result<const Auth*> Credentials::Current() {
  LookAtFiles(false);
  if (!access_.exec.empty()) {
    const Monotonic now = clock_.Now();
    const WallTime wall = clock_.CalendarNow();
    const bool usable =
        given_ && !plugin_rejected_ && (!given_->expires.set() || wall.us < given_->expires.us);
    const bool early = usable && given_->expires.set() && wall.Plus(kRunEarlyUs) >= given_->expires;
    if ((!usable || early) && run_ == nullptr && now >= plugin_retry_at_) StartPlugin();
    if (!usable && run_ != nullptr) return static_cast<const Auth*>(nullptr);
    if (!usable) return error_.value_or(Unauthenticated("the exec plugin gave no credentials"));
  }
  if (auth_) return &*auth_;
  return error_.value_or(Unauthenticated("there are no credentials"));
}

bool Credentials::Renew(std::uint64_t generation) {
  if (plugin_rejected_ || (auth_ && auth_->generation != generation)) return true;
  const bool by_plugin = !access_.exec.empty();
  if (!by_plugin && access_.token.file.empty() && access_.client_certificate.file.empty())
    return false;
  const Monotonic now = clock_.Now();
  if (renewals_ > 0 && now - renewed_at_ < kRenewAgainMs * kNanosPerMilli) return false;
  ++renewals_;
  renewed_at_ = now;
  if (by_plugin) {
    plugin_rejected_ = true;
    plugin_retry_at_ = Monotonic{};
    return true;
  }
  LookAtFiles(true);
  return auth_ && auth_->generation != generation;
}

void Credentials::Accepted(std::uint64_t generation) {
  if (auth_ && auth_->generation == generation) renewals_ = 0;
}

void Credentials::Stop() {
  stopped_ = true;
  if (run_ != nullptr) run_->stop.Stop();
  if (thread_.joinable()) thread_.join();
  run_.reset();
}

// Reads the sources that have changed. `force`: read them all, whatever their stamps say.
void Credentials::LookAtFiles(bool force) {
  const Monotonic now = clock_.Now();
  if (looked_ && !force && now - looked_at_ < kLookMs * kNanosPerMilli) return;
  looked_ = true;
  looked_at_ = now;
  Status read = muster::Done{};
  for (Source* source : {&ca_, &certificate_, &key_, &token_}) {
    auto each = ReadSource(source, force);
    if (!each && read) read = each.error();
  }
  // A file that is half written, or gone for a moment, does not end credentials that work.
  // What it has changed already counts until the rest is there.
  if (read && (stale_ || !auth_)) read = Rebuild();
  if (!read && !auth_) error_ = read.error();
  TellUnused(read);
}

// While older credentials are used instead, no request fails for it, so the log says it, once.
void Credentials::TellUnused(const Status& read) {
  const std::string why = read || !auth_ ? "" : read.error().detail;
  if (why == unused_) return;
  unused_ = why;
  if (why.empty()) return;
  Log(LogLevel::kWarning, "k8s", "credentials_not_usable",
      {{"cluster", member_}, {"err", why + ": the ones before are still used"}});
}

// Reads one source; sets stale_ if its content is another than before.
Status Credentials::ReadSource(Source* source, bool force) {
  if (source->material.empty()) return muster::Done{};
  if (!source->material.data.empty()) {
    stale_ = stale_ || source->content.empty();
    source->content = source->material.data;
    return muster::Done{};
  }
  const FileStamp stamp = StampOf(source->material.file);
  if (!force && !source->content.empty() && stamp == source->stamp) return muster::Done{};
  auto read = ReadMemberFile(source->material.file, access_.allowed_directories);
  if (!read) {
    return Unauthenticated(std::string("the file of ") + source->field + " " + read.error().detail);
  }
  if (source == &token_) {
    TrimToken(&read->content);
    if (!Printable(read->content))
      return Unauthenticated("the file of tokenFile holds something that is no token");
  }
  if (read->content.empty())
    return Unauthenticated(std::string("the file of ") + source->field + " is empty");
  source->stamp = read->stamp;
  stale_ = stale_ || source->content != read->content;
  source->content = std::move(read->content);
  return muster::Done{};
}

// Makes Auth from the sources, or from what the plugin gave.
Status Credentials::Rebuild() {
  if (!access_.exec.empty() && !given_) return muster::Done{};
  Auth next;
  const bool exec = given_.has_value();
  const std::string& token = exec ? given_->token : token_.content;
  if (!token.empty()) next.header = "Bearer " + token;
  if (auth_) {
    next.tls = auth_->tls;
    next.tls_generation = auth_->tls_generation;
  }
  TlsMaterial material{ca_.content, exec ? given_->certificate_pem : certificate_.content,
                       exec ? given_->key_pem : key_.content, access_.skip_verify};
  // A new token alone needs no new connections.
  if (access_.tls && tls_made_of_ != material) {
    auto context = MakeTlsContext(material);
    if (!context) return context.error();
    next.tls = *context;
    ++next.tls_generation;
    tls_made_of_ = std::move(material);
  }
  next.generation = ++generation_;
  auth_ = std::move(next);
  stale_ = false;
  error_.reset();
  return muster::Done{};
}

void Credentials::StartPlugin() {
  if (stopped_) return;
  // The thread of the earlier run has ended.
  if (thread_.joinable()) thread_.join();
  run_ = std::make_shared<PluginRun>();
  run_->plugin = access_.exec;
  run_->info = ExecInfo(access_, ca_.content);
  plugin_retry_at_ = clock_.Now() + kRenewAgainMs * kNanosPerMilli;
  thread_ = std::thread([run = run_, &clock = clock_, gate = gate_, weak = weak_from_this()] {
    auto result = RunExecPlugin(run->plugin, run->info, clock, run->stop);
    gate->Post([weak, result = std::move(result)]() mutable {
      if (const auto self = weak.lock()) self->PluginDone(std::move(result));
    });
  });
}

// On the strand: takes over what the plugin has printed, or remembers why it failed.
void Credentials::PluginDone(Result<ExecCredentials> result) {
  if (stopped_) return;
  run_.reset();
  if (result && result->expires.set() && result->expires <= clock_.CalendarNow())
    result = Unauthenticated("the exec plugin printed credentials that have expired");
  if (result) {
    given_ = *std::move(result);
    plugin_rejected_ = false;
    if (auto built = Rebuild(); !built) {
      error_ = built.error();
      given_.reset();
    }
  } else {
    error_ = result.error();
    plugin_retry_at_ = clock_.Now() + kRenewAgainMs * kNanosPerMilli;
  }
  changed_();
}

}  // namespace muster::k8s
