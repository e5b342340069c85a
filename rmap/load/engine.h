// A database server as the place of a trace's tables: what differs between
// ClickHouse and PostgreSQL. engine_tables.h has what is the same.
//
// Each row has four columns before its own: host, boot, trace, row. Thread:
// one.
#ifndef COUNTRACE_RMAP_LOAD_ENGINE_H_
#define COUNTRACE_RMAP_LOAD_ENGINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rmap/export/table_schema.h"
#include "rmap/load/engine_address.h"

namespace countrace::rmap {

using EngineUuid = std::array<std::uint8_t, 16>;

// Whose rows they are.
struct TraceKey {
  std::string host;
  EngineUuid boot{}, trace{};
};

// What the statements of one engine call the types, and its clauses.
struct Dialect {
  const char *integer, *real, *text;  // may be absent
  const char *name, *uuid, *number;   // of the first four columns
  const char* not_of_report;          // behind the type of such a column
  const char* table_end;              // of CREATE TABLE
  // SELECT of all tables and views: TABLE, COLUMN, its type, 1 (known to be of
  // the report); columns in their order.
  const char* columns;
  const char *add_column, *drop_view, *create_view;
  bool replaces_view;                    // create_view does
  const char *rename_table, *rename_to;  // around the old name
  std::size_t name_bytes;                // the longest name of a column
};

// A cell as text; absent: null.
using TextRow = std::vector<std::optional<std::string>>;

// Errors of all: UNAVAILABLE the server does not answer, is silent or went
// away; PERMISSION_DENIED; INVALID_ARGUMENT else, in the engine's words.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual const Dialect& dialect() const = 0;

  // One statement.
  virtual absl::Status Run(const std::string& sql) = 0;
  virtual absl::Status Read(
      const std::string& select,
      const std::function<absl::Status(const TextRow&)>& on_row) = 0;
  // Of CREATE TABLE.
  virtual std::string TableEnd(const std::string& /*table*/) const {
    return dialect().table_end;
  }
  // False: its tables stand for those of other servers.
  virtual bool HasRows() const { return true; }

  // What the rows for Insert() begin with. `into`: "NAME (COLUMN, ...)".
  virtual std::string BatchHead(const std::string& into) const = 0;
  // Adds a row.
  virtual void Append(const TraceKey& trace, std::int64_t row,
                      std::span<const Value> values,
                      std::string& rows) const = 0;
  // All of them or none; at most kBatchRows.
  virtual absl::Status Insert(const std::string& into,
                              std::string_view rows) = 0;

  // Waits until nothing inserts rows of this trace, a loader that died
  // included.
  virtual absl::Status HoldTrace(const std::string& trace) = 0;
  // One process at a time between the two, if the engine can.
  virtual absl::Status BeginTables() = 0;
  virtual absl::Status EndTables() = 0;
  // Makes sure that the trace's rows, 0 to `rows` - 1, are there once.
  virtual absl::Status Settle(const std::string& table,
                              const std::string& trace, std::int64_t rows) = 0;
};

inline constexpr std::int64_t kBatchRows = 1'000'000;

// Ends the program with "BEFORE, its address, BEHIND" on stderr and exit status
// 1 if a server does not go on for so long, or a connection is not made in
// kConnectSeconds.
void EndWhenSilent(const std::string& before, const std::string& behind,
                   int seconds);
inline constexpr unsigned kConnectSeconds = 10;
// While one exists, a server is expected to go on.
struct Awaited {
  explicit Awaited(const EngineAddress& address, unsigned at_most = ~0u);
  ~Awaited();
};

// What the database of a shard's own rows is called, behind that of `address`.
inline constexpr char kLocalEnd[] = "_local";

// `cluster`, of ClickHouse: "", or tables stand for those of its shards.
absl::StatusOr<std::unique_ptr<Engine>> OpenEngine(const EngineAddress& address,
                                                   const std::string& password,
                                                   const std::string& cluster);
absl::StatusOr<std::unique_ptr<Engine>> OpenClickHouse(
    const EngineAddress& address, const std::string& password,
    const std::string& cluster);
absl::StatusOr<std::unique_ptr<Engine>> OpenPostgres(
    const EngineAddress& address, const std::string& password);

// A line of the text form that both engines have: tabs between cells, \N for
// null, backslashes before what is not itself.
TextRow CellsOf(std::string_view line);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_LOAD_ENGINE_H_
