// libpq parses the URL into options; the missing ones are added, and all options are written back
// as a connection string of quoted key='value' pairs, which any libpq accepts.
#include "schedd/store/pg/url.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace muster::pg {
namespace {

struct Addition {
  const char* key;
  const char* value;
  const char* environment;  // libpq's environment variable for it; null: none
};

// With these, a server that is gone is given up in seconds; the kernel's defaults take a quarter of
// an hour.
constexpr Addition kAdditions[] = {
    {"target_session_attrs", "read-write", "PGTARGETSESSIONATTRS"},
    {"connect_timeout", "2", "PGCONNECT_TIMEOUT"},
    {"tcp_user_timeout", "3000", nullptr},
    {"keepalives_idle", "5", nullptr},
    {"keepalives_interval", "2", nullptr},
    {"keepalives_count", "3", nullptr},
};

// Appends key='value'; quotes and backslashes are escaped.
void Append(std::string* text, const char* key, const char* value) {
  if (!text->empty()) *text += ' ';
  *text += key;
  *text += "='";
  for (const char* c = value; *c != '\0'; ++c) {
    if (*c == '\'' || *c == '\\') *text += '\\';
    *text += *c;
  }
  *text += '\'';
}

}  // namespace

bool MayHavePassword(const char* url) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url, nullptr), &PQconninfoFree);
  if (options == nullptr) return true;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const bool secret = std::strcmp(option->keyword, "password") == 0 ||
                        std::strcmp(option->keyword, "sslpassword") == 0;
    if (secret && option->val != nullptr) return true;
  }
  return false;
}

// libpq's own error would repeat the text.
Result<std::string> CompleteUrl(const std::string& url) {
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), nullptr), &PQconninfoFree);
  if (options == nullptr) {
    return InvalidArgument(
        "the database's address is neither a URL (postgresql://...) nor a connection string "
        "(KEY=VALUE ...) of libpq");
  }
  std::string complete;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    const char* value = option->val;
    for (const Addition& addition : kAdditions) {
      if (value != nullptr || std::strcmp(addition.key, option->keyword) != 0) continue;
      const bool said = addition.environment != nullptr && std::getenv(addition.environment);
      if (!said) value = addition.value;
    }
    if (value != nullptr) Append(&complete, option->keyword, value);
  }
  return complete;
}

}  // namespace muster::pg
