#include "viewer/server/http/kept_address.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "absl/strings/str_format.h"
#include "base/text/quantity_parse.h"
#include "viewer/index/open/cache_directory.h"

namespace countrace::viewer {
namespace {

constexpr std::size_t kTokenDigits = 32;

bool IsToken(std::string_view text) {
  return text.size() == kTokenDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Only in a home of this user: with sudo it may be another's, who could not
// write into a directory of root's later.
void MakeOwnCacheDirectory(const std::string& path) {
  const char* const home = std::getenv("HOME");
  struct stat status;
  if (path == CacheDirectory() && home != nullptr &&
      ::stat(home, &status) == 0 && status.st_uid == ::geteuid()) {
    MakeCacheDirectory(path);
  }
}

}  // namespace

std::string KeptAddressPath(std::span<const std::uint8_t, 16> trace_uuid) {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string directory = runtime != nullptr && runtime[0] == '/'
                                    ? std::string(runtime)
                                    : CacheDirectory();
  if (directory.empty()) return "";
  std::string name;
  for (const std::uint8_t byte : trace_uuid) {
    name += absl::StrFormat("%02x", byte);
  }
  return absl::StrFormat("%s/countrace-view-%s", directory, name);
}

std::optional<KeptAddress> ReadKeptAddress(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const int file =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return std::nullopt;
  struct stat status;
  char bytes[64];
  ssize_t size = -1;
  // Anybody else who may write it could choose the token.
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_uid == ::geteuid() && (status.st_mode & 0077) == 0) {
    size = ::read(file, bytes, sizeof(bytes));
  }
  ::close(file);
  if (size <= 0) return std::nullopt;
  const std::string_view text(bytes, static_cast<std::size_t>(size));
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const auto port = base::ParseInteger(text.substr(0, space));
  const std::string_view token = text.substr(space + 1);
  if (!port || *port == 0 || *port > 65535 || !IsToken(token)) {
    return std::nullopt;
  }
  return KeptAddress{static_cast<std::uint16_t>(*port), std::string(token)};
}

void KeepAddress(const std::string& path, const KeptAddress& address) {
  if (path.empty()) return;
  MakeOwnCacheDirectory(path.substr(0, path.rfind('/')));
  const std::string fresh = absl::StrFormat("%s.%d", path, ::getpid());
  const int file =
      ::open(fresh.c_str(),
             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return;
  const std::string text =
      absl::StrFormat("%d %s", address.port, address.token);
  const bool whole = ::write(file, text.data(), text.size()) ==
                     static_cast<ssize_t>(text.size());
  ::close(file);
  if (!whole || ::rename(fresh.c_str(), path.c_str()) != 0) {
    ::unlink(fresh.c_str());
  }
}

}  // namespace countrace::viewer
