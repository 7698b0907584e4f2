#include "schedd/store/pg/restore_script.h"

#include <array>

#include "schedd/base/limits_doctor.h"
#include "schedd/store/pg/statements_restore.h"

namespace muster::pg {
namespace {

// A text between dollars, which no migration contains (embed_migrations.cmake has the same rule).
std::string Quoted(const std::string& text) { return "$muster_sql$" + text + "$muster_sql$"; }

}  // namespace

std::string RestoreScript(const ArchiveFacts& facts, const std::vector<Migration>& migrations) {
  std::string script = sql::kRestorePath;
  for (const Migration& one : migrations) {
    if (facts.migrations.contains(one.number)) continue;
    script += one.up;
    script += "\ninsert into schema_migrations (number, name, checksum) values (" +
              std::to_string(one.number) + ", " + Quoted(one.name) + ", encode(sha256(convert_to(" +
              Quoted(one.up) + ", 'UTF8')), 'hex'));\n";
  }
  std::string mark = sql::kRestoreMark;
  const std::array<std::int64_t, 4> values = {facts.taken.us, limits::kRestoreSkipsEvents,
                                              limits::kRestoreSkipsJobs,
                                              limits::kRestoreSkipsEpochs};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = "%" + std::to_string(i + 1);
    mark.replace(mark.find(name), name.size(), std::to_string(values[i]));
  }
  return script + mark;
}

}  // namespace muster::pg
