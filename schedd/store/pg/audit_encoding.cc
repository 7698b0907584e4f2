// Rows of the audit trail as SQL: the rows of a whole group of writes are one statement.
#include <boost/json/serialize.hpp>

#include <string>
#include <string_view>

#include "schedd/store/pg/batch_encoding.h"
#include "schedd/store/pg/statements.h"
#include "schedd/text/json.h"

namespace muster::pg {
namespace {

std::string AuditGroupsText(const std::vector<std::string>& groups) {
  if (groups.empty()) return "[]";
  return json::serialize(json::array(groups.begin(), groups.end()));
}

// The 32 bytes of a hash. The digits come from this daemon, or from the database's encode().
std::string BytesOfHex(std::string_view digits) {
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string bytes(digits.size() / 2, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
  return bytes;
}

// The columns of kAddAudit, in the order of its parameters.
struct AuditColumns {
  using E = ElementType;
  Column id{E::kInt8}, time{E::kInt8}, request_id{E::kText}, user{E::kText}, groups{E::kJson},
      method{E::kText}, impersonator{E::kText}, source{E::kText}, verb{E::kText}, object{E::kText},
      result{E::kText}, code{E::kText}, old_version{E::kInt8}, new_version{E::kInt8},
      count{E::kInt8}, detail{E::kText}, prev{E::kBytea}, hash{E::kBytea};

  void Add(const AuditRow& row, const AuditLink& link) {
    id.Int8(link.id);
    time.Int8(row.time.us);
    request_id.Text(row.request_id);
    user.Text(row.user);
    groups.Text(GroupsText(row.groups));
    method.Text(row.method);
    impersonator.Text(row.impersonator);
    source.Text(row.source);
    verb.Text(row.verb);
    object.Text(row.object);
    result.Text(row.result);
    code.Text(row.code);
    old_version.Int8(row.old_version);
    new_version.Int8(row.new_version);
    count.Int8(row.count);
    detail.Text(row.detail);
    prev.Text(BytesOfHex(link.prev));
    hash.Text(BytesOfHex(link.hash));
  }
  // Rows of one user follow one another: the JSON text of the last groups is kept.
  const std::string& GroupsText(const std::vector<std::string>& of) {
    if (last_groups_text_.empty() || of != last_groups_) {
      last_groups_ = of;
      last_groups_text_ = AuditGroupsText(of);
    }
    return last_groups_text_;
  }
  Params Take() {
    Params params;
    for (Column* column :
         {&id, &time, &request_id, &user, &groups, &method, &impersonator, &source, &verb, &object,
          &result, &code, &old_version, &new_version, &count, &detail, &prev, &hash}) {
      params.Array(*column);
    }
    return params;
  }

 private:
  std::vector<std::string> last_groups_;
  std::string last_groups_text_;
};

}  // namespace

Failure ReadAuditHead(PqConnection& connection, AuditHead* head) {
  PgResult rows(nullptr, &PQclear);
  Failure failure = connection.Query(sql::kAuditHead, Params(), &rows);
  if (failure.kind != FailureKind::kNone) return failure;
  if (PQntuples(rows.get()) != 1) {
    return {FailureKind::kEnvironment,
            Error{Code::kDataLoss, "the database has lost the beginning of its audit trail"}};
  }
  *head = AuditHead{IntAt(*rows, 0, 0), PQgetvalue(rows.get(), 0, 1)};
  return {};
}

// The rows are linked here, just before they leave. They themselves stay as they are, because a
// group that fails is written again with other numbers and hashes.
void QueueAudit(std::span<const AuditRow* const> rows, AuditHead* head, PqConnection& connection) {
  if (rows.empty()) return;
  AuditColumns columns;
  for (const AuditRow* row : rows) columns.Add(*row, head->Next(*row));
  connection.Queue(sql::kAddAudit.name, columns.Take());
}

void QueueNoAudit(PqConnection& connection) {
  connection.Queue(sql::kAddAudit.name, AuditColumns().Take());
}

}  // namespace muster::pg
