// The sealed form is a JSON object, because that is what the database keeps of an object:
// {"sealed":"v1","key":"ID","box":"BASE64"}, where the box is the nonce and the ciphertext. It is
// written and read here as text: it has these three members in this order and no others.
#include "schedd/store/seal/sealer.h"

#include <sodium.h>

#include <utility>

#include "schedd/base/check.h"

namespace muster::seal {
namespace {

constexpr std::string_view kPrefix = R"({"sealed":"v1","key":")";
constexpr std::string_view kMiddle = R"(","box":")";
constexpr std::string_view kSuffix = R"("})";
constexpr std::size_t kIdBytes = 8;
constexpr std::size_t kNonce = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr std::size_t kTag = crypto_aead_xchacha20poly1305_ietf_ABYTES;

static_assert(kKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);

// libsodium must be initialised before anything else of it is used; more than once does no harm.
void Initialise() { MUSTER_CHECK(sodium_init() >= 0); }

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string Base64(const std::string& bytes) {
  const std::size_t size = sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  std::string text(size, '\0');
  sodium_bin2base64(text.data(), size, Bytes(bytes), bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the NUL at the end
  return text;
}

// The parts of a sealed text; an empty id if the text is not one.
struct SealedParts {
  std::string_view id, box;
};
SealedParts PartsOf(std::string_view text) {
  if (!text.starts_with(kPrefix) || !text.ends_with(kSuffix)) return {};
  text.remove_prefix(kPrefix.size());
  text.remove_suffix(kSuffix.size());
  if (text.size() < kIdBytes + kMiddle.size() || text.substr(kIdBytes, kMiddle.size()) != kMiddle) {
    return {};
  }
  return {text.substr(0, kIdBytes), text.substr(kIdBytes + kMiddle.size())};
}

Error CannotOpen(std::string_view belongs_to, const std::string& why) {
  return {Code::kFailedPrecondition, "a sealed object cannot be opened (" +
                                         std::string(belongs_to.substr(0, belongs_to.find('\n'))) +
                                         "): " + why};
}

}  // namespace

Key MakeKey(const std::array<unsigned char, kKeyBytes>& bytes) {
  Initialise();
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(), bytes.data(), bytes.size(), nullptr, 0);
  std::array<char, 2 * crypto_generichash_BYTES_MIN + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), hash.data(), hash.size());
  return {bytes, std::string(hex.data(), kIdBytes)};
}

Sealer::Sealer(std::vector<Key> keys) : keys_(std::move(keys)) {
  Initialise();
  MUSTER_CHECK(!keys_.empty());
}

std::string Sealer::Seal(std::string_view text, std::string_view belongs_to) const {
  std::string box(kNonce + text.size() + kTag, '\0');
  auto* out = reinterpret_cast<unsigned char*>(box.data());
  randombytes_buf(out, kNonce);
  unsigned long long size = 0;
  crypto_aead_xchacha20poly1305_ietf_encrypt(out + kNonce, &size, Bytes(text), text.size(),
                                             Bytes(belongs_to), belongs_to.size(), nullptr, out,
                                             keys_.front().bytes.data());
  MUSTER_CHECK(size == text.size() + kTag);
  return std::string(kPrefix) + keys_.front().id + std::string(kMiddle) + Base64(box) +
         std::string(kSuffix);
}

bool Sealer::IsSealed(std::string_view text) { return !PartsOf(text).id.empty(); }

bool Sealer::IsCurrent(std::string_view text) const { return PartsOf(text).id == keys_.front().id; }

Result<std::string> Sealer::Open(std::string_view sealed, std::string_view belongs_to) const {
  const SealedParts parts = PartsOf(sealed);
  const Key* key = nullptr;
  for (const Key& one : keys_)
    if (one.id == parts.id) key = &one;
  if (key == nullptr) {
    return CannotOpen(belongs_to, "the key file has no key " + std::string(parts.id));
  }
  std::string box(parts.box.size(), '\0');
  std::size_t size = 0;
  if (sodium_base642bin(reinterpret_cast<unsigned char*>(box.data()), box.size(), parts.box.data(),
                        parts.box.size(), nullptr, &size, nullptr,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      size < kNonce + kTag) {
    return CannotOpen(belongs_to, "its text is damaged");
  }
  const auto* in = reinterpret_cast<const unsigned char*>(box.data());
  std::string text(size - kNonce - kTag, '\0');
  unsigned long long opened = 0;
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          reinterpret_cast<unsigned char*>(text.data()), &opened, nullptr, in + kNonce,
          size - kNonce, Bytes(belongs_to), belongs_to.size(), in, key->bytes.data()) != 0) {
    return CannotOpen(belongs_to, "it was changed, or sealed for another object");
  }
  return text;
}

}  // namespace muster::seal
