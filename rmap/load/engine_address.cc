#include "rmap/load/engine_address.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/small_file.h"
#include "base/text/quantity_parse.h"

namespace countrace::rmap {
namespace {

struct Scheme {
  std::string_view begin;
  EngineKind kind;
  bool encrypted;
  const char* port;
};
constexpr Scheme kSchemes[] = {
    {"clickhouse://", EngineKind::kClickHouse, false, "8123"},
    {"clickhouses://", EngineKind::kClickHouse, true, "8443"},
    {"postgres://", EngineKind::kPostgres, false, "5432"},
    {"postgresql://", EngineKind::kPostgres, false, "5432"}};

const Scheme* SchemeOf(std::string_view text) {
  const auto found = std::ranges::find_if(kSchemes, [&](const Scheme& scheme) {
    return text.starts_with(scheme.begin);
  });
  return found == std::end(kSchemes) ? nullptr : found;
}

std::string Decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = text[i] == '%' && i + 2 < text.size()
                          ? base::ParseInteger(text.substr(i + 1, 2), 16)
                          : std::nullopt;
    out += byte ? static_cast<char>(*byte) : text[i];
    if (byte) i += 2;
  }
  return out;
}

// What is before `end`, which `text` then begins behind; all of it without one.
std::string_view TakeUntil(char end, std::string_view& text) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

}  // namespace

std::string EngineAddress::Shown() const {
  return absl::StrFormat(
      "%s%s://%s:%s/%s",
      kind == EngineKind::kPostgres ? "postgres" : "clickhouse",
      encrypted ? "s" : "", host, port, database);
}

bool IsEngineAddress(std::string_view text) {
  return SchemeOf(text) != nullptr;
}

absl::StatusOr<EngineAddress> ParseEngineAddress(std::string_view text) {
  constexpr char kForms[] =
      "clickhouse://[USER@]HOST[:PORT]/DATABASE or "
      "postgres://[USER@]HOST[:PORT]/DATABASE";
  const Scheme* const scheme = SchemeOf(text);
  if (scheme == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrFormat("say which database: %s", kForms));
  }
  std::string_view rest = text.substr(scheme->begin.size());
  EngineAddress address;
  address.kind = scheme->kind;
  address.encrypted = scheme->encrypted;
  std::string_view place = TakeUntil('/', rest);
  address.database = Decoded(TakeUntil('#', rest));
  address.trace = rest;
  if (const std::size_t at = place.rfind('@'); at != place.npos) {
    address.user = Decoded(place.substr(0, at));
    if (place.substr(0, at).find(':') != place.npos) {
      return absl::InvalidArgumentError(
          "a password in an address is seen by all users of this machine: "
          "give it by --password-file FILE or in COUNTRACE_LOAD_PASSWORD");
    }
    place.remove_prefix(at + 1);
  }
  if (place.starts_with('[')) {  // IPv6
    place.remove_prefix(1);
    address.host = TakeUntil(']', place);
    TakeUntil(':', place);
  } else {
    address.host = Decoded(TakeUntil(':', place));
  }
  address.port = place.empty() ? scheme->port : std::string(place);
  const auto port = base::ParseInteger(address.port);
  if (!port || *port == 0 || *port > 65535) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "the port is a number from 1 to 65535, not `%s`", address.port));
  }
  const bool query = address.database.find('?') != std::string::npos;
  if (address.host.empty() || address.database.empty() || query) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s has %s; it is %s", address.Shown(),
                        query ? "options" : "no host or no database", kForms));
  }
  return address;
}

absl::StatusOr<std::string> EnginePassword(const std::string& file) {
  if (file.empty()) {
    const char* const given = std::getenv("COUNTRACE_LOAD_PASSWORD");
    return std::string(given == nullptr ? "" : given);
  }
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) {
    return base::ErrnoStatus(errno, "Cannot read " + file);
  }
  if ((found.st_mode & 077) != 0) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s has mode %04o, so others may read the password: chmod 600 %s", file,
        found.st_mode & 07777, file));
  }
  auto text = base::ReadSmallFile(file);
  if (text.ok()) text->resize(std::min(text->find('\n'), text->size()));
  return text;
}

}  // namespace countrace::rmap
