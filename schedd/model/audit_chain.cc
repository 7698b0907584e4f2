// The canonical text is a list of netstrings (LENGTH ":" BYTES) in a fixed order with the name of
// the format first. Numbers are decimal; the groups are preceded by their count. The hash is
// SHA-256 by OpenSSL's EVP interface over the 64 digits of the hash before and that text.
#include "schedd/model/audit_chain.h"

#include <openssl/evp.h>

#include <array>
#include <string_view>

#include "schedd/base/check.h"
#include "schedd/base/limits.h"
#include "schedd/model/plain_text.h"

namespace muster {
namespace {

constexpr char kAuditFormat[] = "muster-audit-1";
constexpr char kHexDigits[] = "0123456789abcdef";
// The hash before and the canonical text of most rows.
constexpr std::size_t kUsualRowBytes = 576;

void AddNetstring(std::string_view text, std::string* out) {
  out->append(std::to_string(text.size())).append(":").append(text);
}
void AddNetstring(std::int64_t number, std::string* out) {
  AddNetstring(std::to_string(number), out);
}

// Appends the canonical text of `row` with the number `id`.
void AddCanonical(const AuditRow& row, std::int64_t id, std::string* out) {
  AddNetstring(std::string_view(kAuditFormat), out);
  AddNetstring(id, out);
  AddNetstring(row.time.us, out);
  for (const std::string* text : {&row.request_id, &row.user}) AddNetstring(*text, out);
  AddNetstring(static_cast<std::int64_t>(row.groups.size()), out);
  for (const std::string& group : row.groups) AddNetstring(group, out);
  for (const std::string* text : {&row.method, &row.impersonator, &row.source, &row.verb,
                                  &row.object, &row.result, &row.code}) {
    AddNetstring(*text, out);
  }
  for (const std::int64_t number : {row.old_version, row.new_version, row.count})
    AddNetstring(number, out);
  AddNetstring(row.detail, out);
}

std::string HashOf(const std::string& prev, const AuditRow& row, std::int64_t id) {
  // Found once: each look-up in the library's table of algorithms costs as much as a hash.
  static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::string text;
  text.reserve(kUsualRowBytes);
  text = prev;
  AddCanonical(row, id, &text);
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned int size = 0;
  MUSTER_CHECK(EVP_Digest(text.data(), text.size(), bytes.data(), &size, sha256, nullptr) == 1);
  std::string hex;
  hex.reserve(2 * std::size_t{size});
  for (std::size_t i = 0; i < size; ++i) {
    hex += kHexDigits[bytes[i] >> 4];
    hex += kHexDigits[bytes[i] & 15];
  }
  return hex;
}

}  // namespace

std::string AuditGenesis() { return std::string(64, '0'); }

std::string CanonicalAuditRow(const AuditRow& row) {
  std::string out;
  AddCanonical(row, row.id, &out);
  return out;
}

std::string AuditHash(const std::string& prev, const AuditRow& row) {
  return HashOf(prev, row, row.id);
}

AuditLink AuditHead::Next(const AuditRow& row) {
  AuditLink link{++id, std::move(hash), {}};
  hash = link.hash = HashOf(link.prev, row, link.id);
  return link;
}

void AuditHead::Link(AuditRow* row) {
  AuditLink link = Next(*row);
  row->id = link.id;
  row->prev = std::move(link.prev);
  row->hash = std::move(link.hash);
}

std::string AuditVerifier::Check(const AuditRow& row) {
  if (row.id <= head_.id && checked_ == 0) return "";
  const std::string number = std::to_string(row.id);
  if (row.id != head_.id + 1) {
    return "row " + number + " follows row " + std::to_string(head_.id) +
           ": rows between them are missing, or one was added";
  }
  if (row.prev != head_.hash)
    return "row " + number + " does not continue the hash of the row before it";
  if (AuditHash(row.prev, row) != row.hash) return "row " + number + " was changed after its write";
  head_ = {row.id, row.hash};
  ++checked_;
  return "";
}

void BoundAuditRow(AuditRow* row) {
  for (std::string* text :
       {&row->user, &row->method, &row->verb, &row->object, &row->detail, &row->impersonator,
        &row->source, &row->request_id, &row->result, &row->code}) {
    BoundText(text, limits::kAuditTextBytes);
  }
  if (row->groups.size() > limits::kAuditGroups) {
    const std::size_t more = row->groups.size() - limits::kAuditGroups + 1;
    row->groups.resize(limits::kAuditGroups - 1);
    row->groups.push_back("(" + std::to_string(more) + " more)");
  }
  for (std::string& group : row->groups) BoundText(&group, limits::kAuditTextBytes);
}

}  // namespace muster
