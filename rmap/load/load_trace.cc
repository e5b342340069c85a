#include "rmap/load/load_trace.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "logformat/description/recorded_part.h"
#include "logformat/description/trace_description.h"
#include "logformat/description/trace_directory.h"
#include "rmap/export/export_tables.h"
#include "rmap/load/engine_tables.h"
#include "rmap/load/trace_key.h"

namespace countrace::rmap {
namespace {

// Rows of all tables that wait for their batch to be full.
constexpr std::size_t kWaitingBytes = 256 << 20;

class LoadedTable;

// What waits in all tables of a trace.
struct Waiting {
  std::int64_t batch_rows = kBatchRows;
  std::size_t bytes = 0;
  std::vector<LoadedTable*> tables = {};
  absl::Status FlushLargest() const;
};

// The rows of one table, of which the first ones may be there.
class LoadedTable final : public RowWriter {
 public:
  LoadedTable(TableWriter& writer, const TableSchema& schema, Engine& engine,
              const TraceKey& key, Waiting& waiting)
      : RowWriter(writer, schema),
        engine_(engine),
        key_(key),
        waiting_(waiting) {}

  absl::Status Open() {
    const auto stored =
        StoredRows(engine_, schema().name, logformat::FormatUuid(key_.trace));
    if (!stored.ok()) return stored.status();
    stored_ = *stored;
    into_ = absl::StrFormat(R"("%s" ("host", "boot", "trace", "row")",
                            schema().name);
    for (const TableColumn& column : schema().columns) {
      into_ += ", " + ColumnName(engine_.dialect(), column.name);
    }
    into_ += ")";
    return absl::OkStatus();
  }

  absl::Status Flush() {
    if (in_batch_ == 0) return absl::OkStatus();
    const absl::Status status = engine_.Insert(into_, batch_);
    waiting_.bytes -= batch_.size();
    batch_.clear();
    if (status.ok()) sent_ += in_batch_;
    in_batch_ = 0;
    return status;
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t stored() const { return std::min(stored_, rows_); }
  std::int64_t sent() const { return sent_; }
  std::size_t waiting_bytes() const { return batch_.size(); }

 protected:
  absl::Status Put(std::span<const Value> row) override {
    if (rows_++ < stored_) return absl::OkStatus();
    const std::size_t before = batch_.size();
    if (batch_.empty()) batch_ = engine_.BatchHead(into_);
    values_.assign(row.begin(), row.end());
    kept_.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (auto* const text = std::get_if<std::string_view>(&values_[i])) {
        *text = Storable(*text, kept_[i]);
      }
    }
    engine_.Append(key_, rows_ - 1, values_, batch_);
    waiting_.bytes += batch_.size() - before;
    if (++in_batch_ == waiting_.batch_rows) return Flush();
    return waiting_.bytes < kWaitingBytes ? absl::OkStatus()
                                          : waiting_.FlushLargest();
  }

 private:
  // UTF-8 without zero bytes.
  static std::string_view Storable(std::string_view text, std::string& kept) {
    std::string_view valid = Utf8Text(text, kept);
    if (valid.find('\0') == valid.npos) return valid;
    const std::string whole(valid);
    kept.clear();
    for (const char c : whole) kept += c == '\0' ? "\uFFFD" : std::string(1, c);
    return kept;
  }

  Engine& engine_;
  const TraceKey& key_;
  Waiting& waiting_;
  std::string into_;
  std::int64_t stored_ = 0, rows_ = 0, sent_ = 0, in_batch_ = 0;
  std::string batch_;
  std::vector<Value> values_;
  std::vector<std::string> kept_;
};

absl::Status Waiting::FlushLargest() const {
  return (*std::ranges::max_element(tables, {}, &LoadedTable::waiting_bytes))
      ->Flush();
}

// What a fetch makes the same table of: a line for each column and index.
std::string ColumnsText(const TableSchema& schema) {
  std::string text;
  for (const TableColumn& column : schema.columns) {
    absl::StrAppendFormat(&text, "%s\t%d\t%d\n", column.name,
                          static_cast<int>(column.type), column.of_report);
  }
  for (const auto& index : schema.indexes) {
    absl::StrAppendFormat(&text, "%s\t%s\n", kIndexLine,
                          absl::StrJoin(index, "\t"));
  }
  return text;
}

// The shards' own tables first: what those that stand for them have, they have.
absl::Status Prepare(std::vector<EngineTables>& places,
                     const TableSchema& schema) {
  absl::Status status;
  for (EngineTables& place : places) {
    if (status.ok()) status = place.Prepare(schema);
  }
  return status;
}

absl::StatusOr<std::vector<EngineTables>> OpenPlaces(
    const EngineCluster& cluster, bool migrate) {
  std::vector<EngineTables> places;
  absl::Status status;
  for (const auto& engine : cluster.engines) {
    places.emplace_back(*engine);
    if (status.ok()) status = places.back().Read();
  }
  if (status.ok()) status = CheckSchema(places, migrate);
  // The cluster may have got another shard.
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    for (const TableSchema& schema : places.back().Schemas()) {
      if (status.ok()) status = places[i].Prepare(schema);
    }
  }
  if (status.ok()) status = Prepare(places, LoadsSchema());
  if (status.ok()) status = Prepare(places, TracesSchema());
  if (!status.ok()) return status;
  return places;
}

class LoadingWriter final : public TableWriter {
 public:
  LoadingWriter(Engine& engine, std::vector<EngineTables>& places, TraceKey key,
                const logformat::TraceInfo& info, std::int64_t batch_rows)
      : engine_(engine), places_(places), key_(std::move(key)), info_(info) {
    waiting_.batch_rows = batch_rows;
  }

  // Says that a load has begun.
  absl::Status Open() {
    loads_ = Add(LoadsSchema());
    if (status().ok()) {
      AddLoad("", Value(), "");
      Fail(loads_->Flush());
    }
    return status();
  }

  RowWriter* Begin(const TableSchema& schema) override {
    LoadedTable* const table = Add(schema);
    tables_of_trace_.push_back(table);
    return table;
  }

  absl::Status Finish() override {
    for (LoadedTable* const table : tables_of_trace_) {
      if (status().ok()) Fail(table->Flush());
      if (status().ok()) {
        Fail(engine_.Settle(table->schema().name,
                            logformat::FormatUuid(key_.trace), table->rows()));
      }
    }
    for (const LoadedTable* const table : tables_of_trace_) {
      AddLoad(table->schema().name, table->rows(),
              ColumnsText(table->schema()));
    }
    if (status().ok()) Fail(loads_->Flush());
    if (!status().ok()) return status();
    LoadedTable* const traces = Add(TracesSchema());
    const std::string recording = logformat::FormatUuid(info_.uuid);
    traces->Write(std::array<Value, 6>{
        TextOrAbsent(info_.path), TextOrAbsent(info_.command),
        std::string_view(recording), Integer(info_.begin_ns),
        info_.realtime_offset_ns, rows()});
    if (status().ok()) Fail(traces->Flush());
    return status();
  }

  std::int64_t rows() const { return Sum(&LoadedTable::rows); }
  std::int64_t stored() const { return Sum(&LoadedTable::stored); }
  std::int64_t sent() const { return Sum(&LoadedTable::sent); }

 private:
  std::int64_t Sum(std::int64_t (LoadedTable::*number)() const) const {
    std::int64_t sum = 0;
    for (const LoadedTable* const table : tables_of_trace_) {
      sum += (table->*number)();
    }
    return sum;
  }

  LoadedTable* Add(const TableSchema& schema) {
    tables_.push_back(
        std::make_unique<LoadedTable>(*this, schema, engine_, key_, waiting_));
    if (status().ok()) Fail(Prepare(places_, schema));
    if (status().ok()) Fail(tables_.back()->Open());
    waiting_.tables.push_back(tables_.back().get());
    return tables_.back().get();
  }

  void AddLoad(std::string_view name, Value rows, std::string_view columns) {
    loads_->Write(std::array<Value, 4>{std::string_view(kTablesSchema), name,
                                       rows, columns});
  }

  Engine& engine_;
  std::vector<EngineTables>& places_;
  const TraceKey key_;
  const logformat::TraceInfo& info_;
  Waiting waiting_;
  std::vector<std::unique_ptr<LoadedTable>> tables_;
  std::vector<LoadedTable*> tables_of_trace_;
  LoadedTable* loads_ = nullptr;
};

}  // namespace

absl::StatusOr<Loaded> LoadTrace(logformat::TraceReader& reader,
                                 const LoadRequest& request,
                                 const EngineCluster& cluster) {
  const logformat::TraceInfo& info = reader.info();
  if (info.recording) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is being recorded: load it when it has ended", info.path));
  }
  const auto listed = logformat::ListTraceDirectory(reader.directory());
  if (!info.finished && listed.ok() && listed->copied) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s was copied before its recording ended: load the whole of it, its "
        "rows would be there twice",
        info.path));
  }
  auto places = OpenPlaces(cluster, request.migrate);
  if (!places.ok()) return places.status();
  const EngineUuid key = TraceKeyOf(reader);
  const std::string trace = logformat::FormatUuid(key);
  const std::string& host = request.host.empty() ? info.hostname : request.host;
  const auto home = cluster.ShardOf(trace, host);
  if (!home.ok()) return home.status();
  Engine& engine = **home;
  absl::Status status = engine.HoldTrace(trace);
  if (!status.ok()) return status;
  const auto there = StoredRows(engine, kTracesTable, trace);
  if (!there.ok()) return there.status();
  if (*there > 0) return Loaded{.before = true};
  LoadingWriter writer(engine, *places, {host, info.boot_id, key}, info,
                       request.batch_rows);
  status = writer.Open();
  if (!status.ok()) return status;
  const ExportRows rows = {
      .range = {.from_ns = logformat::PartBeginNs(info, reader.end_ns())},
      .texts = request.texts};
  const auto names = ExportTables(reader, rows, nullptr, writer);
  if (names.ok()) {
    return Loaded{.rows = writer.rows(), .stored_before = writer.stored()};
  }
  if (!absl::IsUnavailable(names.status())) return names.status();
  return absl::UnavailableError(absl::StrFormat(
      "%s; %d rows of %s were sent, %d were there before",
      names.status().message(), writer.sent(), info.path, writer.stored()));
}

}  // namespace countrace::rmap
