// muster get: lists and single objects as tables, JSON, YAML or names, and -w, which watches them.
//
// A watch prints the table when the event stream is connected. Then it reads an object again at
// each event about it and prints a row below the table if a column other than an age has changed.
// Ages change with every look, so they are ignored in the comparison. Events only tell which object
// to read; the row shows the object as it is now.
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "clients/cli/commands.h"
#include "clients/cli/durations.h"
#include "clients/cli/jobs.h"
#include "clients/cli/kinds.h"
#include "clients/cli/text_table.h"
#include "clients/lib/event_stream.h"
#include "schedd/base/limits_objects.h"
#include "schedd/text/lenient.h"
#include "schedd/text/yaml_write.h"

namespace muster::cli {
namespace {

using Objects = std::vector<json::value>;

bool ShowsNamespace(const Session& session, const Kind& kind) {
  return kind.namespaced && session.all_namespaces;
}

std::string NamespaceOf(const Kind& kind, const json::value& object) {
  return client::PathText(object, kind.is_job() ? "namespace" : "metadata.namespace");
}

// The name by which `get` shows an object. Of a job it is the id, because names of batch scripts
// are not unique.
std::string NameOf(const Kind& kind, const json::value& object) {
  return client::PathText(object, kind.is_job() ? "id" : "metadata.name");
}

std::vector<std::string> Headers(const Session& session, const Kind& kind, bool wide) {
  std::vector<std::string> out;
  if (ShowsNamespace(session, kind)) out.emplace_back("NAMESPACE");
  for (const KindColumn& column : kind.columns) {
    if (wide || !column.wide_only) out.emplace_back(column.header);
  }
  return out;
}

std::vector<std::string> Cells(const Session& session, const Kind& kind, bool wide,
                               const json::value& object) {
  std::vector<std::string> out;
  if (ShowsNamespace(session, kind)) out.push_back(NamespaceOf(kind, object));
  for (const KindColumn& column : kind.columns) {
    if (wide || !column.wide_only) out.push_back(column.cell(object));
  }
  return out;
}

// One object by name; a job by anything that FindJob takes.
client::Outcome<json::value> GetOne(Session& session, const Kind& kind, const std::string& name) {
  if (!kind.is_job()) return session.api.Get(ObjectPath(kind, session.ns(), name));
  client::Outcome<client::JobView> job = FindJob(session, name, JobUse::kRead);
  if (!job.ok()) return job.failure();
  return json::value(std::move(job.value().all));
}

// What the options ask of a list of jobs; false, with a message, if a time is none.
bool JobQueryOf(const Session& session, const GetOptions& options, client::Query* query) {
  const std::string since = options.since.empty() ? "" : TimeText(options.since);
  if (since.empty() && !options.since.empty()) {
    PrintError("--since takes a time such as 2026-11-21T10:00:00Z, or how long ago, such as 24h");
    return false;
  }
  query->Add("namespace", session.all_namespaces ? "" : session.ns());
  for (const JobListOption& one : kJobListOptions)
    query->Add(one.name, one.value == &GetOptions::since ? since : options.*one.value);
  return true;
}

// The options of a list of jobs that were given, for those that take none.
std::string JobOptionsIn(const GetOptions& options) {
  std::string given;
  for (const JobListOption& one : kJobListOptions) {
    if ((options.*one.value).empty()) continue;
    given += given.empty() ? "--" : ", --";
    given += one.name;
  }
  return given;
}

// All objects of a kind in the session's namespace, or in all. Job filters are applied by the
// server.
client::Outcome<Objects> GetMany(Session& session, const Kind& kind, const GetOptions& options,
                                 const client::Query& jobs) {
  const std::string ns = session.all_namespaces ? "" : session.ns();
  if (kind.is_job()) {
    client::Query query = jobs;
    // What is searched comes as one list, which has no pages.
    const std::size_t limit = options.search.empty() ? limits::kPageItems : limits::kPageItemsMax;
    return session.api.ListAll("/v1/jobs", query.Add("limit", std::to_string(limit)));
  }
  client::Outcome<json::value> answer = session.api.Get(ObjectPath(kind, ns, ""));
  if (!answer.ok()) return answer.failure();
  const json::array* items = FindArray(*answer, "items");
  if (items == nullptr) return client::BadAnswer("the server's list has no items");
  return Objects(items->begin(), items->end());
}

void PrintValue(const json::value& value, const std::string& output) {
  const std::string text = output == "json" ? WriteJsonPretty(value) : WriteYaml(value);
  std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

// `-o json` of one named object prints the object itself, of a list `{"items": [...]}`, as kubectl
// does.
void Print(const Session& session, const Kind& kind, const GetOptions& options,
           const Objects& objects) {
  if (options.output == "name") {
    for (const json::value& object : objects)
      std::printf("%s/%s\n", kind.singular.c_str(), NameOf(kind, object).c_str());
    return;
  }
  if (options.output == "json" || options.output == "yaml") {
    if (!options.name.empty() && objects.size() == 1)
      return PrintValue(objects.front(), options.output);
    return PrintValue(json::object{{"items", json::array(objects.begin(), objects.end())}},
                      options.output);
  }
  if (objects.empty()) {
    std::fprintf(stderr, "No %s found%s.\n", kind.plural,
                 kind.namespaced && !session.all_namespaces
                     ? (" in namespace " + session.ns()).c_str()
                     : "");
    return;
  }
  const bool wide = options.output == "wide";
  TextTable table(Headers(session, kind, wide));
  for (const json::value& object : objects) table.Add(Cells(session, kind, wide, object));
  std::fputs(table.Render().c_str(), stdout);
}

// True if the event is about an object that this `get` shows; its name then is in `*name`. Events
// about objects carry "kind/name" or "kind/namespace/name".
bool Concerns(const Kind& kind, const GetOptions& options, const client::JobEventNote& note,
              std::string* name) {
  if (kind.is_job()) {
    if (note.job == 0) return false;
    *name = std::to_string(note.job);
    return options.name.empty() || options.name == *name;
  }
  const std::string prefix = std::string(kind.singular) + "/";
  if (!note.object.starts_with(prefix)) return false;
  *name = note.object.substr(note.object.rfind('/') + 1);
  return options.name.empty() || options.name == *name;
}

// The cells with the ages emptied, for comparing rows.
std::vector<std::string> Ageless(const std::vector<std::string>& headers,
                                 std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (headers[i].ends_with("AGE")) cells[i].clear();
  return cells;
}

// Runs until the user interrupts it or the server cannot be reached any more. The name of a job is
// resolved to its id first, because events carry ids.
int Watch(Session& session, const Kind& kind, GetOptions options, const client::Query& jobs) {
  const bool wide = options.output == "wide";
  const std::vector<std::string> headers = Headers(session, kind, wide);
  TextTable table(headers);
  std::map<std::string, std::vector<std::string>> shown;  // by namespace/name, without ages
  int exit = 0;
  bool first = true;
  if (kind.is_job() && !options.name.empty()) {
    const client::Outcome<client::JobView> job = FindJob(session, options.name, JobUse::kRead);
    if (!job.ok()) return PrintFailure(job.failure());
    options.name = std::to_string(job->id);
  }
  // Adds the object's row; false if the last row of the same object shows the same.
  const auto add = [&](const json::value& object) {
    std::vector<std::string> cells = Cells(session, kind, wide, object);
    std::vector<std::string>& before =
        shown[NamespaceOf(kind, object) + "/" + NameOf(kind, object)];
    std::vector<std::string> now = Ageless(headers, cells);
    if (before == now) return false;
    before = std::move(now);
    table.Add(std::move(cells));
    return true;
  };
  const auto show = [&](const json::value& object) {
    if (!add(object)) return;
    std::fputs(table.RenderLast().c_str(), stdout);
    std::fflush(stdout);
  };
  client::EventHandlers handlers;
  handlers.on_connect = [&] {
    if (!first) return true;
    first = false;
    client::Outcome<Objects> objects = Objects();
    if (options.name.empty()) {
      objects = GetMany(session, kind, options, jobs);
    } else {
      client::Outcome<json::value> one = GetOne(session, kind, options.name);
      objects = one.ok() ? client::Outcome<Objects>(Objects{*one})
                         : client::Outcome<Objects>(one.failure());
    }
    if (!objects.ok()) return exit = PrintFailure(objects.failure()), false;
    for (const json::value& object : *objects) add(object);
    std::fputs(table.Render().c_str(), stdout);
    std::fflush(stdout);
    return true;
  };
  handlers.on_event = [&](const client::JobEventNote& note) {
    std::string name;
    if (!Concerns(kind, options, note, &name)) return true;
    if (!JobOptionsIn(options).empty()) {
      // The server says whether the job is one of those that are listed. Without options the job is
      // asked for by its number, which costs the server less.
      client::Query query = jobs;
      const client::Outcome<Objects> found = session.api.ListAll("/v1/jobs", query.Add("id", name));
      if (found.ok() && !found->empty()) show(found->front());
      return true;
    }
    const client::Outcome<json::value> object = GetOne(session, kind, name);
    const bool elsewhere = object.ok() && kind.namespaced && !session.all_namespaces &&
                           NamespaceOf(kind, *object) != session.ns();
    if (object.ok() && !elsewhere) show(*object);
    return true;
  };
  client::ApiClient stream(session.api.settings());
  const client::Outcome<Done> followed = client::FollowEvents(stream, 0, handlers);
  if (!followed.ok() && exit == 0) return PrintFailure(followed.failure());
  return exit;
}

}  // namespace

const std::array<JobListOption, 7> kJobListOptions = {{
    {"state", &GetOptions::state, "Jobs in these states"},
    {"queue", &GetOptions::queue, "Jobs of this LocalQueue"},
    {"user", &GetOptions::user, "Jobs of this user"},
    {"kind", &GetOptions::job_kind, "Jobs of this kind (JobSet, BatchScript, ...)"},
    {"array", &GetOptions::array, "The tasks of this array"},
    {"since", &GetOptions::since,
     "Of ended jobs those that ended since then (RFC 3339), or so long ago (24h)"},
    {"search", &GetOptions::search,
     "Jobs with this in their name, or of this number, uid, array task or pod"},
}};

// The message goes to stderr.
int UnknownKind(const std::string& name) {
  PrintError("unknown kind \"" + name + "\"; the kinds are " + KindList());
  return kBadUsage;
}

int Get(Session& session, const GetOptions& options) {
  const Kind* kind = FindKind(options.kind);
  if (kind == nullptr) return UnknownKind(options.kind);
  client::Query jobs;
  if (const std::string given = JobOptionsIn(options); !given.empty()) {
    if (!kind->is_job() || !options.name.empty())
      return PrintError(given + (given.find(',') == std::string::npos ? " goes" : " go") +
                        " with lists of jobs only"),
             kBadUsage;
  }
  if (kind->is_job() && !JobQueryOf(session, options, &jobs)) return kBadUsage;
  for (const char* known : {"", "wide", "json", "yaml", "name"}) {
    if (options.output != known) continue;
    if (options.watch) {
      if (options.output.empty() || options.output == "wide")
        return Watch(session, *kind, options, jobs);
      return PrintError("-w goes with tables only, not with -o " + options.output), kBadUsage;
    }
    client::Outcome<Objects> objects = Objects();
    if (options.name.empty()) {
      objects = GetMany(session, *kind, options, jobs);
    } else {
      client::Outcome<json::value> one = GetOne(session, *kind, options.name);
      objects = one.ok() ? client::Outcome<Objects>(Objects{*one})
                         : client::Outcome<Objects>(one.failure());
    }
    if (!objects.ok()) return PrintFailure(objects.failure());
    Print(session, *kind, options, *objects);
    return 0;
  }
  return PrintError("-o takes wide, json, yaml or name, not \"" + options.output + "\""), kBadUsage;
}

}  // namespace muster::cli
