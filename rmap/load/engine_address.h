// Which database of which server: "clickhouse://HOST[:PORT]/DATABASE",
// "clickhouses://" with TLS, "postgres://"; "USER@" before the host.
#ifndef COUNTRACE_RMAP_LOAD_ENGINE_ADDRESS_H_
#define COUNTRACE_RMAP_LOAD_ENGINE_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace countrace::rmap {

enum class EngineKind : std::uint8_t { kClickHouse, kPostgres };

struct EngineAddress {
  EngineKind kind = EngineKind::kClickHouse;
  bool encrypted = false;  // PostgreSQL: PGSSLMODE says so
  std::string user, host, port, database;
  std::string trace;  // behind "#": of a fetch

  // "clickhouse://HOST:PORT/DATABASE": in messages.
  std::string Shown() const;
};

// True of what ParseEngineAddress() may accept: it is no name of a file.
bool IsEngineAddress(std::string_view text);

// %2F and the like stand for bytes: a socket's folder is a host of PostgreSQL.
// Errors: INVALID_ARGUMENT: what is wrong; never shows a password.
absl::StatusOr<EngineAddress> ParseEngineAddress(std::string_view text);

// From COUNTRACE_LOAD_PASSWORD, or the first line of `file`, if one is given.
// Errors: FAILED_PRECONDITION: others may read the file; that it cannot be
// read.
absl::StatusOr<std::string> EnginePassword(const std::string& file);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_ENGINE_ADDRESS_H_
