// PostgreSQL by libpq. A COPY is a transaction: all of its rows are there or
// none. A session's lock on the trace ends with the server's process of a
// loader that died, so what that did is seen.
#include <libpq-fe.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "rmap/load/engine.h"

namespace countrace::rmap {
namespace {

constexpr char kColumns[] =
    "SELECT relname, attname, '', 0 FROM pg_attribute JOIN pg_class c ON c.oid "
    "= "
    "attrelid WHERE relnamespace = current_schema()::regnamespace AND relkind "
    "IN ('r', 'v') AND attnum > 0 AND NOT attisdropped ORDER BY c.oid, attnum";

constexpr Dialect kDialect = {.integer = "bigint",
                              .real = "double precision",
                              .text = "text",
                              .name = "text NOT NULL",
                              .uuid = "uuid NOT NULL",
                              .number = "bigint NOT NULL",
                              .not_of_report = "",
                              .table_end = R"(, PRIMARY KEY ("trace", "row")))",
                              .columns = kColumns,
                              .add_column = "ADD COLUMN IF NOT EXISTS ",
                              .drop_view = "DROP VIEW IF EXISTS ",
                              .create_view = "CREATE OR REPLACE VIEW ",
                              .replaces_view = true,
                              .rename_table = "ALTER TABLE ",
                              .rename_to = " RENAME TO ",
                              .name_bytes = 63};

constexpr std::string_view kCopyHead("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
constexpr std::string_view kCopyEnd("\377\377", 2);
constexpr std::size_t kPieceBytes = 256 << 10;
// One number for all tables of this program.
constexpr char kTablesLock[] = "SELECT pg_advisory_xact_lock(7236293021)";

struct ResultEnd {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Result = std::unique_ptr<PGresult, ResultEnd>;

// Big-endian.
template <typename Number>
void AppendRaw(Number number, std::string& out) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  std::reverse(std::begin(bytes), std::end(bytes));
  out.append(bytes, sizeof(bytes));
}

void AppendText(std::string_view text, std::string& out) {
  AppendRaw(static_cast<std::int32_t>(text.size()), out);
  out += text;
}

void AppendUuid(const EngineUuid& uuid, std::string& out) {
  AppendRaw(std::int32_t{16}, out);
  for (const std::uint8_t byte : uuid) out += static_cast<char>(byte);
}

template <typename Number>
void AppendNumber(Number number, std::string& out) {
  AppendRaw(std::int32_t{sizeof(number)}, out);
  AppendRaw(number, out);
}

class Postgres final : public Engine {
 public:
  explicit Postgres(EngineAddress address) : address_(std::move(address)) {}
  ~Postgres() override { PQfinish(connection_); }

  absl::Status Open(const std::string& password) {
    const std::string seconds = std::to_string(kConnectSeconds);
    const char* const names[] = {"host",
                                 "port",
                                 "dbname",
                                 "user",
                                 "password",
                                 "connect_timeout",
                                 "client_encoding",
                                 "application_name",
                                 nullptr};
    // An empty one is as libpq's own.
    const char* const values[] = {address_.host.c_str(),
                                  address_.port.c_str(),
                                  address_.database.c_str(),
                                  address_.user.c_str(),
                                  password.c_str(),
                                  seconds.c_str(),
                                  "UTF8",
                                  "countrace load",
                                  nullptr};
    const Awaited awaited(address_);
    connection_ = PQconnectdbParams(names, values, 0);
    if (connection_ == nullptr || PQstatus(connection_) != CONNECTION_OK) {
      return Failure(nullptr);
    }
    PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    return absl::OkStatus();
  }

  const Dialect& dialect() const override { return kDialect; }

  absl::Status Run(const std::string& sql) override {
    if (PQsendQuery(connection_, sql.c_str()) == 0) return Failure(nullptr);
    return End();
  }

  absl::Status Read(
      const std::string& select,
      const std::function<absl::Status(const TextRow&)>& on_row) override {
    const auto begun = Copy("COPY (" + select + ") TO STDOUT", PGRES_COPY_OUT);
    if (!begun.ok()) return begun;
    absl::Status status;
    for (char* line = nullptr;;) {
      const Awaited awaited(address_);
      const int bytes = PQgetCopyData(connection_, &line, /*async=*/0);
      if (bytes < 0) break;
      if (status.ok()) {
        status = on_row(CellsOf({line, static_cast<std::size_t>(bytes) - 1}));
      }
      PQfreemem(line);
    }
    const absl::Status ended = End();
    return ended.ok() ? status : ended;
  }

  std::string BatchHead(const std::string& /*into*/) const override {
    return std::string(kCopyHead);
  }

  void Append(const TraceKey& trace, std::int64_t row,
              std::span<const Value> values, std::string& rows) const override {
    AppendRaw(static_cast<std::int16_t>(4 + values.size()), rows);
    AppendText(trace.host, rows);
    AppendUuid(trace.boot, rows);
    AppendUuid(trace.trace, rows);
    AppendNumber(row, rows);
    for (const Value& value : values) {
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        AppendNumber(*number, rows);
      } else if (const auto* real = std::get_if<double>(&value)) {
        AppendNumber(std::bit_cast<std::int64_t>(*real), rows);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        AppendText(*text, rows);
      } else {
        AppendRaw(std::int32_t{-1}, rows);
      }
    }
  }

  absl::Status Insert(const std::string& into, std::string_view rows) override {
    absl::Status status =
        Copy("COPY " + into + " FROM STDIN (FORMAT BINARY)", PGRES_COPY_IN);
    while (status.ok() && !rows.empty()) {
      const std::string_view piece = rows.substr(0, kPieceBytes);
      status = Put(piece);
      rows.remove_prefix(piece.size());
    }
    if (status.ok()) status = Put(kCopyEnd);
    if (!status.ok()) return status;
    if (PQputCopyEnd(connection_, nullptr) < 0) return Failure(nullptr);
    return End();
  }

  absl::Status HoldTrace(const std::string& trace) override {
    return Run(absl::StrFormat(
        "SELECT pg_advisory_lock(hashtextextended('%s', 0))", trace));
  }
  absl::Status BeginTables() override {
    const absl::Status begun = Run("BEGIN");
    return begun.ok() ? Run(kTablesLock) : begun;
  }
  absl::Status EndTables() override { return Run("COMMIT"); }
  // The key sees to that.
  absl::Status Settle(const std::string&, const std::string&,
                      std::int64_t) override {
    return absl::OkStatus();
  }

 private:
  // `result` null: the connection failed.
  absl::Status Failure(const PGresult* result) const {
    const char* const text = result == nullptr ? PQerrorMessage(connection_)
                                               : PQresultErrorMessage(result);
    const std::string_view all(text);
    const std::string what =
        absl::StrFormat("%s: %s", address_.Shown(),
                        all.substr(0, all.find('\n')).substr(0, 300));
    const char* const state =
        result == nullptr ? nullptr
                          : PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const std::string_view code = state == nullptr ? "" : state;
    if (code.starts_with("28") || code == "42501" ||
        all.find("password") != all.npos) {
      return absl::PermissionDeniedError(what);
    }
    const bool gone = result == nullptr ||
                      PQstatus(connection_) != CONNECTION_OK ||
                      code.starts_with("57P") || code.starts_with("08") ||
                      code.starts_with("53") || code == "55P03";
    return gone && all.find("does not exist") == all.npos
               ? absl::UnavailableError(what)
               : absl::InvalidArgumentError(what);
  }

  absl::Status Put(std::string_view piece) {
    const Awaited awaited(address_);
    const int put = PQputCopyData(connection_, piece.data(),
                                  static_cast<int>(piece.size()));
    return put < 0 ? Failure(nullptr) : absl::OkStatus();
  }

  // Null: there is no more.
  Result Next() {
    const Awaited awaited(address_);
    return Result(PQgetResult(connection_));
  }

  absl::Status Copy(const std::string& sql, ExecStatusType wanted) {
    if (PQsendQuery(connection_, sql.c_str()) == 0) return Failure(nullptr);
    const Result result = Next();
    if (PQresultStatus(result.get()) == wanted) return absl::OkStatus();
    const absl::Status why = Failure(result.get());
    End().IgnoreError();
    return why;
  }

  // Takes all results. Returns: the first failure.
  absl::Status End() {
    absl::Status first;
    while (const Result result = Next()) {
      const ExecStatusType status = PQresultStatus(result.get());
      if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) continue;
      first.Update(Failure(result.get()));
      // The others come again and again.
      if (status != PGRES_FATAL_ERROR) break;
    }
    if (first.ok() && PQstatus(connection_) != CONNECTION_OK) {
      return Failure(nullptr);
    }
    return first;
  }

  const EngineAddress address_;
  PGconn* connection_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> OpenPostgres(
    const EngineAddress& address, const std::string& password) {
  auto engine = std::make_unique<Postgres>(address);
  const absl::Status status = engine->Open(password);
  if (!status.ok()) return status;
  return engine;
}

}  // namespace countrace::rmap
