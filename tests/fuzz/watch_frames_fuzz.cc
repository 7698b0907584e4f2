// What a member's API server sends: an HTTP answer with lines of JSON, each an event of a watch. It
// reads the same in one piece and byte by byte; each object is read as a job of every kind and as a
// pod, and the jobs are observed with all pods so far.
#include <vector>

#include "backends/k8s/client/api_client.h"
#include "backends/k8s/client/response_reader.h"
#include "backends/k8s/member_json.h"
#include "backends/k8s/status/kinds.h"
#include "backends/k8s/status/status.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace muster;

struct Answer {
  bool ok = true;
  int status = 0;
  std::string body;
  std::int64_t retry_after_ms = 0;
};

Answer Read(std::string_view bytes, std::size_t piece) {
  constexpr std::size_t kBodyMost = 1 << 20;
  k8s::ResponseReader reader(kBodyMost);
  Answer answer;
  for (std::size_t at = 0; at < bytes.size() && answer.ok && !reader.done(); at += piece) {
    answer.ok = reader.Feed(bytes.substr(at, piece)).ok();
    if (answer.ok) answer.body += reader.TakeBody();
  }
  if (answer.ok && !reader.done()) answer.ok = reader.FeedEnd().ok();
  if (answer.ok) {
    answer.status = reader.status();
    answer.retry_after_ms = reader.retry_after_ms();
  }
  return answer;
}

void ReadFrame(std::string_view line, std::vector<k8s::PodState>* pods) {
  k8s::MemberDocument document(line);
  if (!document.ok() || !document->is_object()) return;
  const json::value* object = document->as_object().if_contains("object");
  if (object == nullptr) return;
  static_cast<void>(k8s::ReadApiStatus(*object));
  if (!object->is_object()) return;
  const json::object& fields = object->as_object();
  static_cast<void>(k8s::ReadAttemptLabels(fields));
  pods->push_back(k8s::ReadPod(fields));
  static_cast<void>(k8s::ToPodStatus(pods->back()));
  for (const k8s::KindInfo& kind : k8s::Kinds())
    static_cast<void>(k8s::Observe(k8s::ReadObject(kind, fields), *pods));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::Text(data, size);
  const Answer whole = Read(bytes, bytes.size() + 1);
  const Answer pieces = Read(bytes, 1);
  // What follows a complete answer makes it bad, and is not read in pieces.
  fuzz::Require(!whole.ok || (pieces.ok && whole.status == pieces.status &&
                              whole.body == pieces.body),
                "a good answer reads the same in pieces");
  if (!whole.ok) return 0;
  const Error error = k8s::ErrorOf({whole.status, whole.body, whole.retry_after_ms});
  fuzz::Require(!error.detail.empty(), "an error says what is wrong");
  std::vector<k8s::PodState> pods;
  std::string_view rest = whole.body;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    ReadFrame(rest.substr(0, end), &pods);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return 0;
}
