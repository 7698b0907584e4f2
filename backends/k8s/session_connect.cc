// Session: how a member is reached and what it is: its incarnation, its version, the kinds it has.
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

// The namespace that exists once per cluster and never goes: its uid names the cluster. Read as a
// list, whose resourceVersion says how far the member's history has come.
std::string ProbeTarget() {
  return "/api/v1/namespaces?fieldSelector=" + PercentEncode("metadata.name=kube-system");
}

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

// An API server that has only just started does not tell of all its kinds yet.
void Session::AskReady() {
  client_->Send(Get("/readyz"), [self = shared_from_this()](Result<ApiResponse> answer) {
    if (self->closed_) return;
    if (!answer.ok()) return self->Retry(answer.error().detail);
    if (answer->status >= 500) return self->Retry("its API server is not ready yet");
    self->AskVersion();
  });
}

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

void Session::Retry(const std::string& trouble) {
  trouble_ = trouble;
  FailQuestions(Away(trouble));
  TellFacts();
  const std::int64_t wait = std::min(kRetryMaxMs, kRetryMs << std::min(failures_++, 6));
  Later(wait / 2 + static_cast<std::int64_t>(environment_.random.Next() % (wait / 2 + 1)),
        [self = shared_from_this()] { self->Connect(); });
}

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
    self->refused_ = failed && failed->code == Code::kUnauthenticated;
    then(std::move(failed));
  });
}

// `before`: how far we had seen when the question was sent.
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

// The kinds of one group are told by one answer; slots go one after another, which is quick enough.
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

void Session::AskPriorityClasses() {
  client_->Send(Get(CollectionPath("scheduling.k8s.io/v1", "priorityclasses", "")),
                [self = shared_from_this()](Result<ApiResponse> answer) {
                  if (!answer.ok() || !answer->ok()) return;
                  const auto body = ParseMemberJson(answer->body);
                  if (!body.ok()) return;
                  auto& names = self->priority_classes_.emplace();
                  Reader(&*body)["items"].Each([&](const Reader& item) {
                    names.insert(item["metadata"]["name"].Text(kNameBytes));
                  });
                });
}

// A CRD may be installed later, and a member is upgraded under way.
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

void Session::StartFound() {
  if (closed_ || cache_ == nullptr) return;
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const Slot& one = slots_[slot];
    if (one.absent.empty() && one.reflector == nullptr) StartSlot(slot);
  }
  TellFacts();
}

}  // namespace muster::k8s
