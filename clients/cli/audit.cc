// muster audit: the audit trail (GET /v1/audit) as a table, as the server's own JSON, or as a file
// of JSON lines; and the check of its chain.
//
// The check is made here, from the rows themselves, so that the answer does not depend on the
// server's word: every row is hashed anew (schedd/model/audit_chain) and compared with what it and
// the row after it say. The server says where the chain begins: after the last row that retention
// has removed.
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>

#include "clients/cli/commands.h"
#include "clients/cli/durations.h"
#include "clients/cli/text_table.h"
#include "clients/lib/job_view.h"
#include "schedd/base/time.h"
#include "schedd/model/audit_chain.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

constexpr char kAuditPath[] = "/v1/audit";
// Rows of one request while the whole trail is read: some megabytes.
constexpr char kAuditRowsAtOnce[] = "5000";

// The parameters of the options; false, with a message, if a time is none.
bool QueryOf(const AuditOptions& options, client::Query* query) {
  for (const auto& [name, text] : {std::pair("since", &options.since), {"until", &options.until}}) {
    if (text->empty()) continue;
    const std::string time = TimeText(*text);
    if (time.empty()) {
      PrintError("--" + std::string(name) +
                 " takes a time such as 2026-11-21T10:00:00Z, or how long ago, such as 2h");
      return false;
    }
    query->Add(name, time);
  }
  for (const auto& [name, text] :
       {std::pair("user", &options.user), {"verb", &options.verb}, {"object", &options.object}}) {
    if (!text->empty()) query->Add(name, *text);
  }
  return true;
}

std::int64_t NumberOf(const json::value& item, const char* name) {
  const json::value* number = item.is_object() ? item.get_object().if_contains(name) : nullptr;
  return number != nullptr && number->is_int64() ? number->get_int64() : 0;
}

// A row as the server writes it. What is missing or of another type stays empty, and then has
// another hash.
AuditRow RowOf(const json::value& item) {
  AuditRow row;
  row.id = NumberOf(item, "id");
  ParseRfc3339(client::PathText(item, "time"), &row.time);
  row.request_id = client::PathText(item, "requestId");
  row.user = client::PathText(item, "user");
  if (const json::array* groups = FindArray(item, "groups"); groups != nullptr) {
    for (const json::value& group : *groups)
      row.groups.emplace_back(group.is_string() ? group.get_string() : "");
  }
  row.method = client::PathText(item, "method");
  row.impersonator = client::PathText(item, "impersonator");
  row.source = client::PathText(item, "source");
  row.verb = client::PathText(item, "verb");
  row.object = client::PathText(item, "object");
  row.result = client::PathText(item, "result");
  row.code = client::PathText(item, "code");
  row.old_version = NumberOf(item, "oldResourceVersion");
  row.new_version = NumberOf(item, "newResourceVersion");
  row.count = NumberOf(item, "count");
  row.detail = client::PathText(item, "detail");
  row.prev = client::PathText(item, "prev");
  row.hash = client::PathText(item, "hash");
  return row;
}

// Gives all rows that match to `take`, page after page, until it returns false. `begin` gets the
// anchor of the chain first; may be null. Returns an exit code.
int ReadAll(Session& session, client::Query query,
            const std::function<void(const AuditAnchor&)>& begin,
            const std::function<bool(const json::value&)>& take) {
  query.Add("limit", kAuditRowsAtOnce);
  std::string token = "0";
  for (bool first = true; !token.empty(); first = false) {
    client::Query page = query;
    page.Add("page_token", token);
    const client::Outcome<json::value> answer = session.api.Get(kAuditPath + page.text());
    if (!answer.ok()) return PrintFailure(answer.failure());
    const json::array* items = FindArray(*answer, "items");
    if (items == nullptr) return PrintFailure(client::BadAnswer("the server's list has no items"));
    if (first && begin != nullptr) {
      const json::value* chain = answer->get_object().if_contains("chain");
      if (chain == nullptr) return PrintFailure(client::BadAnswer("the server tells no chain"));
      begin({NumberOf(*chain, "after"), client::PathText(*chain, "hash")});
    }
    for (const json::value& item : *items) {
      if (!take(item)) return 0;
    }
    std::string next = client::PathText(*answer, "next_page_token");
    if (next == token) return PrintFailure(client::BadAnswer("the server's list does not end"));
    token = std::move(next);
  }
  return 0;
}

int Verify(Session& session) {
  std::unique_ptr<AuditVerifier> verifier;
  std::string problem;
  json::value broken;
  const int read = ReadAll(
      session, client::Query(),
      [&](const AuditAnchor& anchor) { verifier = std::make_unique<AuditVerifier>(anchor); },
      [&](const json::value& item) {
    problem = verifier->Check(RowOf(item));
    if (!problem.empty()) broken = item;
    return problem.empty();
      });
  if (read != 0) return read;
  if (!problem.empty()) {
    PrintError("the audit trail is broken: " + problem);
    std::printf("%s\n", WriteJsonPretty(broken).c_str());
    return 1;
  }
  std::printf("The audit trail is whole: %lld rows, up to row %lld with the hash %s.\n",
              static_cast<long long>(verifier->checked()),
              static_cast<long long>(verifier->head().id), verifier->head().hash.c_str());
  return 0;
}

int Export(Session& session, const AuditOptions& options, client::Query query) {
  const bool standard = options.export_file == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      standard ? nullptr : std::fopen(options.export_file.c_str(), "we"), &std::fclose);
  std::FILE* const out = standard ? stdout : file.get();
  if (out == nullptr)
    return PrintError(options.export_file + ": " + std::strerror(errno)), kBadUsage;
  bool written = true;
  long long rows = 0;
  const int read = ReadAll(session, std::move(query), nullptr, [&](const json::value& item) {
    ++rows;
    return written = std::fprintf(out, "%s\n", WriteJson(item).c_str()) > 0;
  });
  written = written && std::fflush(out) == 0;
  if (!written) return PrintError(options.export_file + ": " + std::strerror(errno)), 1;
  if (read == 0 && !standard)
    std::fprintf(stderr, "%lld rows are in %s.\n", rows, options.export_file.c_str());
  return read;
}

// Refusals and failures show why; `wide` adds how and from where.
void PrintTable(const json::array& items, bool wide) {
  std::vector<std::string> headers = {"TIME", "USER", "VERB", "OBJECT", "RESULT", "DETAIL"};
  if (wide) {
    headers = {"ROW",  "TIME",   "USER",   "AS",   "METHOD", "SOURCE", "REQUEST",
               "VERB", "OBJECT", "RESULT", "CODE", "COUNT",  "DETAIL"};
  }
  TextTable table(headers);
  for (const json::value& item : items) {
    const auto text = [&item](const char* name) { return client::PathText(item, name); };
    const std::int64_t count = NumberOf(item, "count");
    const std::string times = count > 1 ? " (" + std::to_string(count) + " times)" : "";
    if (!wide) {
      table.Add({text("time"), text("user"), text("verb"), text("object"), text("result"),
                 text("detail") + times});
      continue;
    }
    const std::string by = text("impersonator");
    table.Add({std::to_string(NumberOf(item, "id")), text("time"), by.empty() ? text("user") : by,
               by.empty() ? "" : text("user"), text("method"), text("source"), text("requestId"),
               text("verb"), text("object"), text("result"), text("code"), std::to_string(count),
               text("detail")});
  }
  std::fputs(table.Render().c_str(), stdout);
}

}  // namespace

int Audit(Session& session, const AuditOptions& options) {
  const bool wide = options.output == "wide";
  if (!options.output.empty() && !wide && options.output != "json" && options.output != "yaml")
    return PrintError("-o takes wide, json or yaml, not \"" + options.output + "\""), kBadUsage;
  client::Query query;
  if (!QueryOf(options, &query)) return kBadUsage;
  if (options.verify) {
    if (!query.text().empty() || options.limit > 0 || !options.export_file.empty())
      return PrintError("--verify checks the whole trail and takes no other option"), kBadUsage;
    return Verify(session);
  }
  if (!options.export_file.empty()) {
    if (options.limit > 0 || !options.output.empty())
      return PrintError("--export writes all rows as JSON lines and takes no --limit or -o"),
             kBadUsage;
    return Export(session, options, std::move(query));
  }
  if (options.limit > 0) query.Add("limit", std::to_string(options.limit));
  const client::Outcome<json::value> answer = session.api.Get(kAuditPath + query.text());
  if (!answer.ok()) return PrintFailure(answer.failure());
  if (options.output == "json") return std::printf("%s\n", WriteJsonPretty(*answer).c_str()), 0;
  if (options.output == "yaml") return std::fputs(WriteYaml(*answer).c_str(), stdout), 0;
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return PrintFailure(client::BadAnswer("the server's list has no items"));
  if (items->empty()) return std::fprintf(stderr, "No entries.\n"), 0;
  PrintTable(*items, wide);
  return 0;
}

}  // namespace muster::cli
