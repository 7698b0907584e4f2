// ElasticScale as JSON: the size that the job has (with the generation and uid of its slice), the
// larger size that waits for quota (`pending`), and the sizes that have ended (`finished`). A size
// is written as the fields parallelism and completions of batch/v1 Job.
#include "schedd/store/pg/scale_json.h"

#include <stdexcept>

#include "schedd/store/pg/json_fields.h"

namespace muster::pg {
namespace {

// A size without completions leaves the field out.
void PutSize(json::object* object, const JobSize& size) {
  (*object)["parallelism"] = size.parallelism;
  if (size.completions) (*object)["completions"] = *size.completions;
}

JobSize SizeOf(const json::object& object) {
  JobSize size;
  size.parallelism = IntOf<std::int32_t>(object, "parallelism", 1);
  if (object.contains("completions")) size.completions = IntOf<std::int32_t>(object, "completions");
  return size;
}

// An absent uid is the uid that is not set; a malformed one throws.
Uid UidOf(const json::object& object, std::string_view key) {
  Uid uid;
  const std::string text = TextOf(object, key);
  if (!text.empty() && !Uid::Parse(text, &uid)) throw std::runtime_error("not a uuid");
  return uid;
}

}  // namespace

json::object ScaleJson(const ElasticScale& scale) {
  json::object object{{"generation", scale.generation}};
  PutSize(&object, scale.size);
  if (scale.slice.set()) object["uid"] = scale.slice.ToString();
  if (scale.pending) {
    json::object pending{{"uid", scale.pending->uid.ToString()},
                         {"since", scale.pending->since.us},
                         {"sequence", scale.pending->sequence},
                         {"reason", ReasonName(scale.pending->reason)}};
    PutSize(&pending, scale.pending->size);
    PutText(&pending, "message", scale.pending->message);
    object["pending"] = std::move(pending);
  }
  json::array finished;
  for (const FinishedSlice& slice : scale.finished) {
    finished.push_back(json::object{{"uid", slice.uid.ToString()},
                                    {"pods", slice.pods},
                                    {"end", slice.end.us},
                                    {"message", slice.message}});
  }
  if (!finished.empty()) object["finished"] = std::move(finished);
  return object;
}

ElasticScale ScaleOfJson(const json::object& object) {
  ElasticScale scale;
  scale.generation = IntOf<std::int64_t>(object, "generation", 1);
  scale.size = SizeOf(object);
  scale.slice = UidOf(object, "uid");
  if (const json::value* value = object.if_contains("pending")) {
    const json::object& pending = value->as_object();
    scale.pending = PendingSlice{UidOf(pending, "uid"),
                                 SizeOf(pending),
                                 {IntOf<std::int64_t>(pending, "since")},
                                 IntOf<std::int64_t>(pending, "sequence"),
                                 ReasonOf(TextOf(pending, "reason")),
                                 TextOf(pending, "message")};
  }
  for (const json::value& value : ArrayOf(object, "finished")) {
    const json::object& slice = value.as_object();
    scale.finished.push_back({UidOf(slice, "uid"),
                              IntOf<std::int32_t>(slice, "pods"),
                              {IntOf<std::int64_t>(slice, "end")},
                              TextOf(slice, "message")});
  }
  return scale;
}

}  // namespace muster::pg
