// CheckMember: a sequence of blocking questions to a cluster that is no member yet.
//
// Asked in turn: the uid of kube-system, the version, which kinds are installed, which permissions
// the user has (SelfSubjectAccessReview), the number of nodes. All share one deadline of kWithinMs.
// If the first question is not answered the rest is pointless; every later failure becomes a
// sentence in MemberReport::problems, so that the user sees all of them at once. Questions of one
// group are sent together and their answers collected, to save round trips.
#include "backends/k8s/member_check.h"

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "backends/k8s/member_json.h"
#include "backends/k8s/permissions.h"
#include "backends/k8s/status/reader.h"
#include "schedd/text/percent.h"

namespace muster::k8s {
namespace {

constexpr std::int64_t kWithinMs = 15'000;
constexpr int kNotThere = 404;

class MemberCheck {
 public:
  MemberCheck(const ClientEnvironment& environment, MemberAccess access, const std::string& name)
      : clock_(environment.clock), until_(clock_.Now() + kWithinMs * kNanosPerMilli) {
    ApiClientOptions options;
    options.member = name;
    client_ = MakeApiClient(environment, std::move(access), std::move(options));
  }
  ~MemberCheck() { client_->Stop(); }
  MemberCheck(const MemberCheck&) = delete;
  MemberCheck& operator=(const MemberCheck&) = delete;

  MemberReport Run() {
    if (!AskWho()) return std::move(report_);
    AskVersion();
    AskKinds();
    AskPermissions();
    AskNodes();
    return std::move(report_);
  }

 private:
  using Answer = std::future<Result<ApiResponse>>;

  // Sends a request whose time-out is the rest of the deadline.
  Answer Send(std::string method, std::string target, std::string body = "") {
    auto promise = std::make_shared<std::promise<Result<ApiResponse>>>();
    ApiRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    if (!body.empty()) request.content_type = "application/json";
    request.body = std::move(body);
    request.timeout_ms = std::max<std::int64_t>(1, (until_ - clock_.Now()) / kNanosPerMilli);
    Answer answer = promise->get_future();
    client_->Send(std::move(request),
                  [promise](Result<ApiResponse> result) { promise->set_value(std::move(result)); });
    return answer;
  }
  Result<ApiResponse> Get(std::string target) { return Send("GET", std::move(target)).get(); }
  void Problem(std::string sentence) { report_.problems.push_back(std::move(sentence)); }

  // False: no cluster answers there, or it does not accept the credentials.
  bool AskWho() {
    const auto answer =
        Get("/api/v1/namespaces?fieldSelector=" + PercentEncode("metadata.name=kube-system"));
    if (!answer.ok()) {
      Problem(answer.error().detail);
      return false;
    }
    // AskPermissions reports this missing permission with the others.
    if (answer->status == 403) return true;
    if (!answer->ok()) {
      Problem("its API server answers: " + ErrorOf(*answer).detail);
      return false;
    }
    const auto body = ParseMemberJson(answer->body);
    if (body.ok()) {
      Reader(&*body)["items"].Each([this](const Reader& item) {
        report_.incarnation = item["metadata"]["uid"].Text(kNameBytes);
      });
    }
    if (!report_.incarnation.empty()) return true;
    Problem("what answers there is no Kubernetes API server with a namespace kube-system");
    return false;
  }

  void AskVersion() {
    const auto answer = Get("/version");
    if (!answer.ok() || !answer->ok()) return;
    if (const auto body = ParseMemberJson(answer->body); body.ok())
      report_.version = Reader(&*body)["gitVersion"].Text(64);
  }

  // A 404 means that the kind's API group is not installed.
  void AskKinds() {
    std::vector<Answer> answers;
    for (const KindInfo& kind : Kinds())
      answers.push_back(Send("GET", GroupPath(kind.api_version)));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const KindInfo& kind = Kinds()[i];
      const auto answer = answers[i].get();
      if (!answer.ok() || (!answer->ok() && answer->status != kNotThere)) {
        Problem("it does not tell whether it has the kind " + std::string(kind.kind) + ": " +
                (answer.ok() ? ErrorOf(*answer).detail : answer.error().detail));
        continue;
      }
      bool found = false;
      if (const auto body = ParseMemberJson(answer->body); answer->ok() && body.ok()) {
        Reader(&*body)["resources"].Each([&](const Reader& resource) {
          found = found || resource["name"].View() == kind.resource;
        });
      }
      (found ? report_.serves : report_.lacks).emplace_back(kind.kind);
      if (found) installed_.push_back(&kind);
    }
  }

  // Asks for the permissions that the installed kinds need. The printed ClusterRole grants more:
  // all kinds, since they may be installed later, and placements of configuration, which are
  // optional.
  void AskPermissions() {
    const std::vector<Permission> needed = PermissionsFor(installed_);
    std::vector<Answer> answers;
    for (const Permission& one : needed)
      answers.push_back(Send("POST", std::string(kAccessReviews), AccessReview(one)));
    std::vector<Permission> missing;
    std::optional<std::string> trouble;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto answer = answers[i].get();
      if (!answer.ok()) {
        trouble = answer.error().detail;
      } else if (!answer->ok()) {
        trouble = ErrorOf(*answer).detail;
      } else if (!IsAllowed(answer->body)) {
        missing.push_back(needed[i]);
      }
    }
    if (trouble) Problem("it does not tell what Muster's user may do there: " + *trouble);
    if (missing.empty()) return;
    Problem("Muster's user lacks permissions there: " + DescribePermissions(missing));
    std::vector<const KindInfo*> all;
    for (const KindInfo& kind : Kinds()) all.push_back(&kind);
    std::vector<Permission> useful = PermissionsFor(all);
    for (Permission& one : ConfigurationPermissions()) useful.push_back(std::move(one));
    report_.role = ClusterRoleYaml(useful);
  }

  // Counts the nodes by a list of one and the number of remaining items.
  void AskNodes() {
    const auto answer = Get("/api/v1/nodes?limit=1");
    if (!answer.ok() || !answer->ok()) return;
    const auto body = ParseMemberJson(answer->body);
    if (!body.ok()) return;
    std::int32_t count = Reader(&*body)["metadata"]["remainingItemCount"].Count();
    Reader(&*body)["items"].Each([&count](const Reader&) { ++count; });
    report_.nodes = count;
  }

  const Clock& clock_;
  const Monotonic until_;
  std::unique_ptr<ApiClient> client_;
  std::vector<const KindInfo*> installed_;
  MemberReport report_;
};

}  // namespace

MemberReport CheckMember(const ClientEnvironment& environment, MemberAccess access,
                         const std::string& name) {
  return MemberCheck(environment, std::move(access), name).Run();
}

}  // namespace muster::k8s
