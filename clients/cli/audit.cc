// muster audit: the last entries of the audit trail (GET /v1/audit), oldest first, as a table or as
// the server's own JSON.
#include <time.h>

#include <cstdio>

#include "clients/cli/commands.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "schedd/base/time.h"
#include "schedd/text/duration.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

// The value of --since as RFC 3339: a time as it stands, or a duration counted back from now. "" if
// the text is neither.
std::string SinceText(const std::string& text) {
  WallTime when;
  if (ParseRfc3339(text, &when)) return text;
  const auto ms = ParseDurationMs(text);
  if (!ms) return "";
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  when.us = now.tv_sec * kMicrosPerSecond + now.tv_nsec / 1000 - *ms * 1000;
  return FormatRfc3339Micros(when);
}

}  // namespace

int Audit(Session& session, const AuditOptions& options) {
  if (!options.output.empty() && options.output != "json" && options.output != "yaml")
    return PrintError("-o takes json or yaml, not \"" + options.output + "\""), kBadUsage;
  client::Query query;
  if (!options.since.empty()) {
    const std::string since = SinceText(options.since);
    if (since.empty()) {
      PrintError("--since takes a time such as 2026-11-21T10:00:00Z, or how long ago, such as 2h");
      return kBadUsage;
    }
    query.Add("since", since);
  }
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  const client::Outcome<json::value> answer = session.api.Get("/v1/audit" + query.text());
  if (!answer.ok()) return PrintFailure(answer.failure());
  if (options.output == "json") return std::printf("%s\n", WriteJsonPretty(*answer).c_str()), 0;
  if (options.output == "yaml") return std::fputs(WriteYaml(*answer).c_str(), stdout), 0;
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return PrintFailure(client::BadAnswer("the server's list has no items"));
  if (items->empty()) return std::fprintf(stderr, "No entries.\n"), 0;
  TextTable table({"TIME", "USER", "VERB", "OBJECT", "DETAIL"});
  for (const json::value& item : *items) {
    table.Add({client::PathText(item, "time"), client::PathText(item, "user"),
               client::PathText(item, "verb"), client::PathText(item, "object"),
               client::PathText(item, "detail")});
  }
  std::fputs(table.Render().c_str(), stdout);
  return 0;
}

}  // namespace muster::cli
