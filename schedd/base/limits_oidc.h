// Bounds of credentials that others issue: JSON web tokens, their issuers' keys, munge credentials.
// Include schedd/base/limits.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace muster::limits {

// --- JSON web tokens
// One token; all headers of a request together may not have more (kHeaderBytes).
inline constexpr std::size_t kJwtBytes = 16 << 10;
// How far the clocks of the issuer and of this host may be apart.
inline constexpr std::int64_t kJwtSkewS = 60;
// A NumericDate beyond the year 5138 is a number of milliseconds or nonsense.
inline constexpr std::int64_t kJwtLatestS = 100'000'000'000;
// One user or group name with its prefix: Kubernetes' own names are shorter.
inline constexpr std::size_t kJwtNameBytes = 256;
// Groups of one token: more do not fit into kJwtBytes with names of a usual length.
inline constexpr std::size_t kJwtGroups = 500;
// Tokens whose signature was found good, so that it is not computed again for each request. An
// entry with its groups costs some KB.
inline constexpr std::size_t kJwtRemembered = 4096;

// --- the keys of an issuer
// Issuers of one daemon: each has a thread of its own.
inline constexpr std::size_t kIssuers = 8;
// One discovery document or key set: Microsoft's, the largest that we know, has 20 KB.
inline constexpr std::size_t kIssuerDocumentBytes = 256 << 10;
// Keys of one set.
inline constexpr std::size_t kIssuerKeys = 100;
// RSA keys: NIST SP 800-131A forbids shorter ones; longer ones only cost time.
inline constexpr std::size_t kRsaBitsMin = 2048, kRsaBitsMax = 8192;
// Keys are fetched again when their Cache-Control says, but within these bounds.
inline constexpr std::int64_t kKeysFreshMinS = 300, kKeysFreshMaxS = 86'400;
// Without a Cache-Control.
inline constexpr std::int64_t kKeysFreshS = 3600;
// Without an answer of the provider the last keys are used for this long after they were fetched.
inline constexpr std::int64_t kKeysStaleS = 86'400;
// A token with an unknown key causes at most one fetch in this time: anybody can send such a token.
inline constexpr std::int64_t kKeysAskAgainS = 10;
// After failures in a row the next fetch waits twice as long, up to this.
inline constexpr std::int64_t kKeysRetryMaxS = 300;
// A request waits this long for such a fetch. At most so many requests of one issuer wait at once,
// because each one holds a thread.
inline constexpr std::int64_t kKeysWaitMs = 2000;
inline constexpr int kKeysWaiters = 2;
// One fetch: to connect, and as a whole.
inline constexpr std::int64_t kIssuerConnectMs = 3000, kIssuerFetchMs = 5000;

// --- munge
// One credential: munged's own limit is 1 MiB; ours carry 64 characters.
inline constexpr std::size_t kMungeBytes = 4096;
// Credentials that are remembered so that a second use is refused also after munged was started
// anew: what 800 requests a second make in munge's default life of 300 s. Each costs some 150 B.
inline constexpr std::size_t kMungeRemembered = 1 << 18;

}  // namespace muster::limits
