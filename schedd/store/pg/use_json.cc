// Amounts of 0 are left out, as in the other JSON columns: most processes write and read little,
// and a step's row is written twice.
#include "schedd/store/pg/use_json.h"

#include "schedd/store/pg/json_fields.h"

namespace muster::pg {

std::string UseText(const MeasuredUse& use) {
  if (use == MeasuredUse{}) return "";
  json::object object;
  const auto put = [&object](std::string_view key, std::int64_t amount) {
    if (amount != 0) object[key] = amount;
  };
  put("userCpuUs", use.user_cpu_us);
  put("systemCpuUs", use.system_cpu_us);
  put("maxRssBytes", use.max_rss_bytes);
  put("readBytes", use.read_bytes);
  put("writtenBytes", use.written_bytes);
  return json::serialize(object);
}

Result<MeasuredUse> ParseUse(std::string_view text) {
  return ParseColumn<MeasuredUse>(text, "use", [](const json::value& root) {
    const json::object& object = root.as_object();
    MeasuredUse use;
    use.user_cpu_us = IntOf<std::int64_t>(object, "userCpuUs");
    use.system_cpu_us = IntOf<std::int64_t>(object, "systemCpuUs");
    use.max_rss_bytes = IntOf<std::int64_t>(object, "maxRssBytes");
    use.read_bytes = IntOf<std::int64_t>(object, "readBytes");
    use.written_bytes = IntOf<std::int64_t>(object, "writtenBytes");
    return use;
  });
}

}  // namespace muster::pg
