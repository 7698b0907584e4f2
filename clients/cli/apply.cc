// muster apply: reads all documents of all files and sends them in one POST /v1/apply.
//
// The server checks all documents before it changes anything, so one bad document changes nothing.
// A refusal names its field as `documents[i].field`; documents.h turns that into the file and the
// number of the document there. The request has an idempotency key: applying the same documents
// twice gives the same objects, so the request may be sent again when its answer is lost.
#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/documents.h"
#include "clients/lib/idempotency_key.h"
#include "clients/lib/job_view.h"
#include "schedd/text/lenient.h"

namespace muster::cli {
namespace {

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  return text;
}

}  // namespace

int Apply(Session& session, const ApplyOptions& options) {
  client::Outcome<std::vector<Document>> documents = ReadDocuments(options.files);
  if (!documents.ok()) return PrintFailure(documents.failure());
  json::array body;
  for (const Document& document : *documents) body.push_back(document.value);
  client::Query query;
  query.Add("namespace", session.ns());
  if (options.dry_run) query.Add("dryRun", "true");
  const client::Outcome<json::value> answer = session.api.Send(
      {"POST", "/v1/apply" + query.text(), json::serialize(body), client::NewIdempotencyKey()});
  if (!answer.ok()) return PrintFailure(NameSources(answer.failure(), *documents));
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return PrintFailure(client::BadAnswer("the server's answer has no items"));
  for (const json::value& item : *items) {
    std::printf("%s/%s %s%s\n", Lower(ShownText(item, "kind")).c_str(),
                ShownText(item, "name").c_str(), ShownText(item, "outcome").c_str(),
                options.dry_run ? " (dry run)" : "");
    PrintWarnings(item);
  }
  return 0;
}

}  // namespace muster::cli
