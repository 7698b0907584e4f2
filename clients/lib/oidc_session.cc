// The login is one file. A command that finds the token about to end has it renewed: `muster login
// --renew` takes a lock on a file beside it, reads again (another command may have renewed the
// token meanwhile), asks the provider and replaces the file. A program of its own does it, because
// what speaks to a provider takes longer to load than a command like squeue runs.
#include "clients/lib/oidc_session.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "schedd/credentials/exec_credential.h"
#include "schedd/text/base64.h"
#include "schedd/text/lenient.h"
#include "schedd/text/provider_url.h"

namespace muster::client {
namespace {

// A token that ends within this time is renewed: it must still be good when it arrives.
constexpr std::int64_t kRenewLoginBeforeS = 30;
// A token that lasts longer, by the word of its provider, is renewed after a year.
constexpr std::int64_t kTokenLifeMaxS = 366 * 86'400;
// A program that prints more than a sentence or two is not ours.
constexpr std::size_t kSaidBytes = 4096;

// A descriptor that is closed at the end.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// The `exp` of a JSON web token, which nobody checks here: the server does. 0 if it has none.
std::int64_t EndOfToken(const std::string& token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string::npos ? first : token.find('.', first + 1);
  if (second == std::string::npos) return 0;
  std::string payload = token.substr(first + 1, second - first - 1);
  for (char& c : payload) c = c == '-' ? '+' : c == '_' ? '/' : c;
  payload.append((4 - payload.size() % 4) % 4, '=');
  const Result<json::value> claims = ParseJson(DecodeBase64(payload).value_or(""));
  return claims.ok() ? IntegerAt(*claims, "exp").value_or(0) : 0;
}

json::object LoginObject(const StoredLogin& login) {
  return {{"server", login.server},
          {"issuer", login.client.issuer},
          {"client_id", login.client.client_id},
          {"scopes", login.client.scopes},
          {"token", login.client.token},
          {"ca", login.client.ca},
          {"token_endpoint", login.token_endpoint},
          {"bearer", login.bearer},
          {"refresh_token", login.refresh_token},
          {"expires", login.expires_s}};
}

bool LastsStill(const StoredLogin& login) {
  return WallSeconds() + kRenewLoginBeforeS < login.expires_s;
}

// Takes the lock beside the file, which stays there: another command may wait for it. A negative
// descriptor, with errno set, if that fails.
OpenFile LockLogin(const std::string& file) {
  int fd = ::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  while (fd >= 0 && ::flock(fd, LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    const int error = errno;
    ::close(fd);
    fd = -1;
    errno = error;
  }
  return OpenFile(fd);
}

// As WriteLogin, for who has the lock.
Status ReplaceLogin(const std::string& file, const StoredLogin& login) {
  const std::string fresh = file + "." + std::to_string(::getpid());
  ::unlink(fresh.c_str());
  const OpenFile out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string text = WriteJson(LoginObject(login)) + "\n";
  const bool written = out.fd() >= 0 && ::write(out.fd(), text.data(), text.size()) ==
                                            static_cast<ssize_t>(text.size());
  if (written && ::rename(fresh.c_str(), file.c_str()) == 0) return Done{};
  const std::string why = std::strerror(errno);
  ::unlink(fresh.c_str());
  return Internal(file + ": cannot be written: " + why);
}

// The token to send, after it was renewed if need be.
Result<std::string> CurrentBearer(const std::string& file, const std::string& server,
                                  const LoginRenewal& renew) {
  auto login = ReadLogin(file);
  if (!login.ok()) return login.error();
  if (!login->has_value() || (*login)->server != server) return std::string();
  if (server.starts_with("http://") && !IsLoopbackUrl(server)) {
    return InvalidArgument("the login is not sent to " + server + ": use https");
  }
  if (LastsStill(**login)) return (*login)->bearer;
  const Status done = renew(file);
  if (!done.ok()) {
    // A provider that is away for a moment does not end what still lasts.
    const bool away = done.error().code == Code::kUnavailable;
    if (away && WallSeconds() < (*login)->expires_s) return (*login)->bearer;
    return done.error();
  }
  login = ReadLogin(file);
  if (!login.ok()) return login.error();
  // Another command may have logged in elsewhere meanwhile.
  const bool still = login->has_value() && (*login)->server == server;
  return still ? (*login)->bearer : std::string();
}

// `muster` stands beside the calling program, above the directory of the Slurm-named commands (in a
// build), in bin (installed), or on the user's PATH.
std::string MusterProgram() {
  std::error_code failed;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const char* place : {"muster", "../muster", "../../../bin/muster"}) {
    const auto program = here / place;
    if (!failed && ::access(program.c_str(), X_OK) == 0) return program.lexically_normal();
  }
  return "muster";
}

// The last line that a program has printed, without the name that our programs put before it.
std::string LastSentence(const std::string& printed) {
  const std::size_t last = printed.find_last_not_of('\n');
  if (last == std::string::npos) return "";
  const std::size_t before = printed.rfind('\n', last);
  const std::string line =
      printed.substr(before == std::string::npos ? 0 : before + 1, last - before);
  constexpr std::string_view kName = "muster: ";
  return line.starts_with(kName) ? line.substr(kName.size()) : line;
}

// Runs a program to its end; its stderr goes to `said`, as far as it fits. Its wait status, or the
// errno of its start as a negative number.
int RunQuietly(const char* program, char* const words[], std::string* said) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return -errno;
  const OpenFile from(ends[0]);
  pid_t pid = 0;
  int error = 0;
  {
    const OpenFile to(ends[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to.fd(), STDERR_FILENO);
    error = ::posix_spawnp(&pid, program, &actions, nullptr, words, environ);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  if (error != 0) return -error;
  std::array<char, 1024> piece;
  for (;;) {
    const ssize_t got = ::read(from.fd(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (said->size() < kSaidBytes) said->append(piece.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What `muster login --renew` ends with if the provider cannot be reached (rule C2).
constexpr int kProviderAway = 3;

// What it says goes into the error, so that the user reads one sentence.
Status RenewByMuster(const std::string&) {
  const std::string program = MusterProgram();
  std::array<char*, 4> words = {const_cast<char*>(program.c_str()), const_cast<char*>("login"),
                                const_cast<char*>("--renew"), nullptr};
  std::string said;
  const int status = RunQuietly(program.c_str(), words.data(), &said);
  if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return Done{};
  const std::string why = status < 0 ? std::strerror(-status) : LastSentence(said);
  const bool away = status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == kProviderAway;
  const Code code = away ? Code::kUnavailable : Code::kUnauthenticated;
  if (status >= 0 && !why.empty()) return Error{code, why};
  return Error{code, "the login could not be renewed by " + program + " login --renew" +
                         (why.empty() ? "" : ": " + why)};
}

}  // namespace

std::int64_t WallSeconds() { return std::int64_t{::time(nullptr)}; }

Status TakeOidcClient(const json::value& section, const std::string& path, OidcClient* out) {
  if (!section.is_object()) return InvalidArgument(path + ": oidc must be a mapping");
  for (const auto& entry : section.get_object()) {
    const std::string key(entry.key());
    const std::string place = path + ": oidc." + key;
    if (!entry.value().is_string()) return InvalidArgument(place + " must be text");
    const std::string value(entry.value().get_string());
    if (key == "issuer")
      out->issuer = value;
    else if (key == "client-id")
      out->client_id = value;
    else if (key == "scopes")
      out->scopes = value;
    else if (key == "token")
      out->token = value;
    else if (key == "ca")
      out->ca = value;
    else
      return InvalidArgument(place + ": unknown key (known: issuer, client-id, scopes, token, ca)");
  }
  if (out->token == "id" || out->token == "access") return Done{};
  return InvalidArgument(path + ": oidc.token must be id or access");
}

std::string LoginFile(const std::function<std::string(const char*)>& env) {
  const std::string xdg = env("XDG_CACHE_HOME");
  if (!xdg.empty()) return xdg + "/muster/login.json";
  const std::string home = env("HOME");
  return home.empty() ? std::string() : home + "/.cache/muster/login.json";
}

Result<std::optional<StoredLogin>> ReadLogin(const std::string& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return std::optional<StoredLogin>();
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return InvalidArgument(file +
                           ": holds tokens but other users may read it; run chmod 600 on it");
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  const Result<json::value> parsed = ParseJson(text.str());
  if (!in || !parsed.ok()) {
    return InvalidArgument(file + ": cannot be read; run muster login again");
  }
  StoredLogin out;
  out.server = TextAt(*parsed, "server");
  out.client = {TextAt(*parsed, "issuer"), TextAt(*parsed, "client_id"), TextAt(*parsed, "scopes"),
                TextAt(*parsed, "token"), TextAt(*parsed, "ca")};
  out.token_endpoint = TextAt(*parsed, "token_endpoint");
  out.bearer = TextAt(*parsed, "bearer");
  out.refresh_token = TextAt(*parsed, "refresh_token");
  out.expires_s = IntegerAt(*parsed, "expires").value_or(0);
  return std::optional<StoredLogin>(std::move(out));
}

Status WriteLogin(const std::string& file, const StoredLogin& login) {
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  std::error_code failed;
  std::filesystem::create_directories(directory.parent_path(), failed);
  ::mkdir(directory.c_str(), 0700);
  const OpenFile lock = LockLogin(file);
  if (lock.fd() < 0) return Internal(file + ".lock: " + std::strerror(errno));
  return ReplaceLogin(file, login);
}

Status ForgetLogin(const std::string& file) {
  const OpenFile lock = LockLogin(file);
  if (lock.fd() < 0 && errno == ENOENT) return Done{};
  if (lock.fd() < 0) return Internal(file + ".lock: " + std::strerror(errno));
  if (::unlink(file.c_str()) == 0 || errno == ENOENT) return Done{};
  return Internal(file + ": " + std::strerror(errno));
}

// A refresh may leave the refresh token out; then the old one stays (RFC 6749, section 6).
Status TakeTokens(const json::object& answer, std::int64_t now_s, StoredLogin* login) {
  const std::string name = login->client.token + "_token";
  const std::string bearer = TextAt(answer, name);
  if (bearer.empty()) {
    return Error{Code::kUnauthenticated,
                 "the provider gives no " + name +
                     (name == "id_token" ? ": is \"openid\" among the scopes?" : "")};
  }
  if (!FitsBearerHeader(bearer))
    return Error{Code::kUnauthenticated, "the provider gives an " + name + " with a blank in it"};
  login->bearer = bearer;
  login->expires_s = EndOfToken(bearer);
  if (login->expires_s == 0) {
    const std::int64_t lasts_s = IntegerAt(answer, "expires_in").value_or(300);
    login->expires_s = now_s + std::clamp<std::int64_t>(lasts_s, 0, kTokenLifeMaxS);
  }
  const std::string refresh = TextAt(answer, "refresh_token");
  if (!refresh.empty()) login->refresh_token = refresh;
  return Done{};
}

Status RenewOnce(const std::string& file, const std::function<Status(StoredLogin*)>& ask) {
  const OpenFile lock = LockLogin(file);
  if (lock.fd() < 0 && errno == ENOENT) return Done{};
  if (lock.fd() < 0) return Internal(file + ".lock: " + std::strerror(errno));
  auto login = ReadLogin(file);
  if (!login.ok()) return login.error();
  if (!login->has_value() || LastsStill(**login)) return Done{};
  StoredLogin renewed = **login;
  const Status asked = ask(&renewed);
  return asked.ok() ? ReplaceLogin(file, renewed) : asked;
}

RequestSigner LoginSigner(std::string file, std::string server, LoginRenewal renew) {
  if (renew == nullptr) renew = &RenewByMuster;
  return [file = std::move(file), server = std::move(server),
          renew = std::move(renew)](const HttpRequest&) -> Result<std::string> {
    Result<std::string> bearer = CurrentBearer(file, server, renew);
    if (!bearer.ok() || bearer->empty()) return bearer;
    return "Bearer " + *bearer;
  };
}

}  // namespace muster::client
