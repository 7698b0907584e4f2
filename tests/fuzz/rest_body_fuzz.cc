// Requests as they come over a socket: the guard, then the body as JSON, YAML or Kubernetes'
// protobuf. They read the same in one piece and byte by byte.
#include <vector>

#include "api/rest/body.h"
#include "api/rest/http/guard.h"
#include "schedd/base/limits_objects.h"
#include "schedd/text/json.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace muster;

const rest::RouteTable& Routes() {
  static const rest::SyncHandler none = [](rest::Request&) { return rest::Response{}; };
  constexpr std::size_t kBody = 1 << 16;
  static const rest::RouteTable routes(
      {{rest::Method::kPost, "/v1/apply", auth::Verb::kCreate, "x", kBody, rest::Run::kInline, none},
       {rest::Method::kPost, "/v1/namespaces/{namespace}/jobs", auth::Verb::kCreate, "x", kBody,
        rest::Run::kInline, none},
       {rest::Method::kPost, "/apis/batch/v1/namespaces/{namespace}/jobs", auth::Verb::kCreate, "x",
        kBody, rest::Run::kInline, none},
       {rest::Method::kGet, "/v1/jobs", auth::Verb::kList, "x", 0, rest::Run::kInline, none}});
  return routes;
}

struct Heard {
  std::vector<std::string> bodies;
  int refused = 0;  // the status of the refusal
};

Heard Read(std::string_view bytes, std::size_t piece, bool look) {
  using Step = rest::RequestReader::Step;
  rest::RequestReader reader(Routes());
  Heard heard;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.Feed(bytes.substr(at, piece));
    for (Step step = reader.Next(); step != Step::kNeedMore; step = reader.Next()) {
      if (step == Step::kRefused) {
        heard.refused = reader.refusal().status;
        return heard;
      }
      if (step != Step::kRequest) continue;
      const rest::ParsedRequest read = reader.Take();
      heard.bodies.push_back(read.request.body);
      if (look && rest::TakesMedia(read.request)) {
        static_cast<void>(rest::ReadDocuments(read.request));
        const auto document = rest::ReadDocument(read.request);
        if (document.ok())
          fuzz::Require(ParseJson(WriteJson(*document)).ok(), "a document can be written");
      }
      if (!read.keep_alive) return heard;
    }
  }
  return heard;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::Text(data, size);
  const Heard whole = Read(bytes, bytes.size() + 1, true), pieces = Read(bytes, 1, false);
  // A bad beginning may be refused later, when more of it has come. Of headers that are too long
  // and wrong besides, whichever is seen first is told.
  constexpr int kTooLong = 431;
  const bool both =
      bytes.size() > limits::kHeaderBytes && whole.refused != 0 && pieces.refused == kTooLong;
  fuzz::Require(whole.bodies == pieces.bodies &&
                    (pieces.refused == 0 || pieces.refused == whole.refused || both),
                "requests read the same in pieces");
  return 0;
}
