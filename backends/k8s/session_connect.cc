// Session: how it finds out what the member is.
//
// The steps, each started by the answer to the one before: Probe (which cluster answers), AskReady,
// AskVersion, Discover (which of the kinds are installed), then Follow (session_follow.cc). If a
// step fails, Retry begins again after a pause that doubles from 0.5 s to 15 s, with jitter; it
// never gives up.
//
// Probe reads the namespace kube-system, whose uid is the member's incarnation. It is repeated
// while the session lives. Another uid means that another cluster answers at the address. A list
// version behind the versions already seen means that the member was restored from a backup. Both
// end the session, for no knowledge in it can be trusted; its owner makes another.
//
// A kind without its CRD is refused with a sentence and looked for again every minute, and when a
// job of the kind is dispatched (Seek).
#include <algorithm>
#include <charconv>
#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/session.h"
#include "backends/k8s/status/reader.h"
#include "schedd/telemetry/log.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kProbeMs = 10'000;
constexpr std::int64_t kRetryMs = 500, kRetryMaxMs = 15'000;

// The namespace kube-system exists once per cluster and is never deleted, so its uid identifies the
// cluster. It is read as a list, because a list's resourceVersion is that of the whole cluster.
std::string ProbeTarget() {
  return "/api/v1/namespaces?fieldSelector=" + PercentEncode("metadata.name=kube-system");
}

// A resource version as a number; 0 if it is none. Versions of one cluster increase.
std::uint64_t NumberOf(std::string_view version) {
  std::uint64_t number = 0;
  const auto [end, failed] =
      std::from_chars(version.data(), version.data() + version.size(), number);
  return failed == std::errc() && end == version.data() + version.size() ? number : 0;
}

ApiRequest Get(std::string target) {
  ApiRequest request;
  request.target = std::move(target);
  request.timeout_ms = kProbeMs;
  return request;
}

}  // namespace

void Session::Connect() {
  if (closed_) return;
  Probe([this](std::optional<Error> failed) {
    if (closed_) return;
    if (failed) return Retry(failed->detail);
    AskReady();
  });
}

// An API server that has just started does not list all its kinds yet; /readyz says when it does.
void Session::AskReady() {
  client_->Send(Get("/readyz"), [self = shared_from_this()](Result<ApiResponse> answer) {
    if (self->closed_) return;
    if (!answer.ok()) return self->Retry(answer.error().detail);
    if (answer->status >= 500) return self->Retry("its API server is not ready yet");
    self->AskVersion();
  });
}

// Sets up one slot per kind and three more (our pods, pods of others, nodes), then discovers the
// kinds.
void Session::AskVersion() {
  client_->Send(Get("/version"), [self = shared_from_this()](Result<ApiResponse> answer) {
    if (self->closed_) return;
    if (!answer.ok()) return self->Retry(answer.error().detail);
    self->TakeVersion(*answer);
    self->slots_.clear();
    for (const KindInfo& kind : Kinds()) {
      self->slots_.emplace_back();
      self->slots_.back().kind = &kind;
    }
    self->slots_.resize(self->slots_.size() + 3);  // our pods, pods of others, nodes
    self->slots_[self->OthersSlot()].optional = true;
    self->Discover(0, [self](std::optional<Error> undone) {
      if (self->closed_) return;
      if (undone) return self->Retry(undone->detail);
      self->last_discovery_ = self->environment_.clock.Now();
      self->AskPriorityClasses();
      self->Follow();
    });
  });
}

void Session::TakeVersion(const ApiResponse& answer) {
  const auto body = ParseMemberJson(answer.body);
  if (answer.ok() && body.ok()) version_ = Reader(&*body)["gitVersion"].Text(64);
}

// Fails the lists that wait, and connects again after the pause.
void Session::Retry(const std::string& trouble) {
  trouble_ = trouble;
  FailQuestions(Away(trouble));
  TellFacts();
  const std::int64_t wait = std::min(kRetryMaxMs, kRetryMs << std::min(failures_++, 6));
  Later(wait / 2 + static_cast<std::int64_t>(environment_.random.Next() % (wait / 2 + 1)),
        [self = shared_from_this()] { self->Connect(); });
}

// Reads the namespace kube-system. `then` gets the reason if that fails.
void Session::Probe(std::function<void(std::optional<Error>)> then) {
  probing_ = true;
  const std::uint64_t before = newest_;
  client_->Send(Get(ProbeTarget()), [self = shared_from_this(), before,
                                     then = std::move(then)](Result<ApiResponse> answer) {
    self->probing_ = false;
    self->last_probe_ = self->environment_.clock.Now();
    std::optional<Error> failed;
    if (!answer.ok()) {
      failed = answer.error();
    } else if (!answer->ok()) {
      failed = ErrorOf(*answer);
    } else if (const auto body = ParseMemberJson(answer->body); body.ok()) {
      self->last_answer_ = self->Now();
      std::string uid;
      Reader(&*body)["items"].Each(
          [&](const Reader& item) { uid = item["metadata"]["uid"].Text(kNameBytes); });
      if (uid.empty()) {
        failed = Unavailable("it does not tell which cluster it is: no namespace kube-system");
      } else {
        self->Probed(uid, NumberOf(Reader(&*body)["metadata"]["resourceVersion"].View()), before);
      }
    } else {
      failed = Unavailable("what answers there is no Kubernetes API server");
    }
    self->probe_trouble_ = failed ? failed->detail : "";
    then(std::move(failed));
  });
}

// Judges a probe's answer. `before` is the newest version that had been seen when the probe was
// sent: the answer must not be older.
void Session::Probed(const std::string& uid, std::uint64_t version, std::uint64_t before) {
  if (incarnation_.empty()) incarnation_ = uid;
  const bool other = uid != incarnation_;
  const bool back = version != 0 && version < before;
  if (!other && !back) return;
  renewing_ = true;
  ready_ = false;
  trouble_ = "another cluster answers there; it is being connected anew";
  Log(LogLevel::kWarning, "k8s", other ? "member_is_another" : "member_went_back",
      {{"cluster", options_.member}, {"incarnation", uid}});
  renew_(Renewal::kOtherMember);
}

// Asks for one kind after another, from `slot` on. A 404 means that the kind's group is not
// installed.
void Session::Discover(std::size_t slot, std::function<void(std::optional<Error>)> then) {
  if (slot >= slots_.size() || slots_[slot].kind == nullptr) return then(std::nullopt);
  client_->Send(Get(GroupPath(slots_[slot].kind->api_version)),
                [self = shared_from_this(), slot,
                 then = std::move(then)](Result<ApiResponse> answer) mutable {
    if (!answer.ok()) return then(answer.error());
    if (!answer->ok() && answer->status != 404) return then(ErrorOf(*answer));
    self->Discovered(&self->slots_[slot], *answer);
    self->Discover(slot + 1, std::move(then));
  });
}

// Sets `absent` by the resources that the group lists.
void Session::Discovered(Slot* slot, const ApiResponse& response) {
  bool found = false;
  if (const auto body = ParseMemberJson(response.body); response.ok() && body.ok()) {
    Reader(&*body)["resources"].Each([&](const Reader& resource) {
      found = found || resource["name"].View() == slot->kind->resource;
    });
  }
  slot->absent = found ? "" : AbsentText(*slot->kind);
}

std::string Session::AbsentText(const KindInfo& kind) const {
  return "the kind " + std::string(kind.kind) + " (" + std::string(kind.api_version) +
         ") is not installed on member cluster " + options_.member;
}

// Without the permission to list them priority_classes_ stays empty, and none is left out of
// objects.
void Session::AskPriorityClasses() {
  client_->Send(Get(CollectionPath("scheduling.k8s.io/v1", "priorityclasses", "")),
                [self = shared_from_this()](Result<ApiResponse> answer) {
    if (!answer.ok() || !answer->ok()) return;
    const auto body = ParseMemberJson(answer->body);
    if (!body.ok()) return;
    auto& names = self->priority_classes_.emplace();
    Reader(&*body)["items"].Each(
        [&](const Reader& item) { names.insert(item["metadata"]["name"].Text(kNameBytes)); });
  });
}

// Repeats version and discovery: a CRD may be installed later, and members are upgraded while the
// daemon runs.
void Session::DiscoverAgain() {
  last_discovery_ = environment_.clock.Now();
  client_->Send(Get("/version"), [self = shared_from_this()](Result<ApiResponse> answer) {
    if (answer.ok()) self->TakeVersion(*answer);
  });
  AskPriorityClasses();
  const bool all = std::all_of(slots_.begin(), slots_.end(),
                               [](const Slot& slot) { return slot.absent.empty(); });
  if (all) return;
  Discover(0, [self = shared_from_this()](std::optional<Error>) { self->StartFound(); });
}

void Session::Seek(const KindInfo& kind, std::function<void()> then) {
  client_->Send(
      Get(GroupPath(kind.api_version)),
      [self = shared_from_this(), &kind, then = std::move(then)](Result<ApiResponse> answer) {
    for (Slot& slot : self->slots_) {
      if (slot.kind != &kind || !answer.ok()) continue;
      if (answer->ok() || answer->status == 404) self->Discovered(&slot, *answer);
    }
    self->StartFound();
    then();
      });
}

// Starts reflectors for kinds that have been found.
void Session::StartFound() {
  if (closed_ || cache_ == nullptr) return;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const Slot& one = slots_[slot];
    if (one.absent.empty() && one.reflector == nullptr) StartSlot(slot);
  }
  TellFacts();
}

}  // namespace muster::k8s
