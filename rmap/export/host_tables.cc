#include "rmap/export/host_tables.h"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "logformat/description/trace_description.h"
#include "rmap/export/export_tables.h"
#include "rmap/export/streamed_tables.h"

namespace countrace::rmap {
namespace {

constexpr char kHosts[] = "hosts";

TableColumn Text(const char* name, const char* meaning) {
  return {name, ValueType::kText, Unit::kNone, meaning};
}
TableColumn Ns(const char* name, const char* meaning) {
  return {name, ValueType::kInteger, Unit::kNanoseconds, meaning};
}
TableColumn HostColumn() { return Text("host", "The host, as it was named."); }

TableSchema HostsTable() {
  return {
      kHosts,
      "The traces, and what their clocks became one by.",
      {HostColumn(),
       Text("path", "Its trace."),
       Text("uuid", "That of the trace."),
       Text("boot", "The boot it is of; absent: not known."),
       Text("clock", "How its clock is known."),
       Ns("offset_ns", "What its times at its begin became later by."),
       {"drift_ppb", ValueType::kReal, Unit::kCount,
        "Since then, in each second."},
       {"drift_ppb.lo", ValueType::kReal, Unit::kCount, "Lower limit of that."},
       {"drift_ppb.hi", ValueType::kReal, Unit::kCount, "Upper limit."},
       Ns("within_ns", "Its times are at most so far off; 0: exact."),
       Ns("begin_ns", "Its begin on the clock of all."),
       Ns("end_ns", "Its end on the clock of all.")}};
}

void WriteHost(const HostTrace& host, const HostClock& clock, RowWriter& rows) {
  const logformat::TraceInfo& info = host.reader->info();
  const std::string uuid = logformat::FormatUuid(info.uuid),
                    boot = logformat::FormatUuid(info.boot_id);
  const bool has_boot = info.boot_id != decltype(info.boot_id){};
  const std::uint64_t end_ns = host.reader->end_ns();
  const std::uint64_t begin_ns =
      std::max(info.begin_ns, host.reader->complete_from_ns());
  const auto offset =
      static_cast<std::int64_t>(clock.Common(begin_ns) - begin_ns);
  rows.Write(std::array<Value, 12>{
      std::string_view(host.name), std::string_view(info.path),
      std::string_view(uuid), TextOrAbsent(has_boot ? boot : ""),
      std::string_view(clock.how()), offset, clock.drift() * 1e9,
      clock.least_drift() * 1e9, clock.most_drift() * 1e9,
      // What is possible is convex, and widest at one of the ends.
      Integer(std::max(clock.WithinNs(begin_ns), clock.WithinNs(end_ns))),
      Integer(clock.Common(begin_ns)), Integer(clock.Common(end_ns))});
}

// Adds what `all` lacks of a host's `columns`.
void AddColumns(const std::vector<TableColumn>& columns, TableSchema& all) {
  for (const TableColumn& column : columns) {
    if (std::ranges::count(all.columns, column.name, &TableColumn::name) == 0) {
      all.columns.push_back(column);
      if (!column.is_instant) continue;
      all.columns.back().meaning += " Of hosts: on the clock of all.";
    }
  }
}

TableSchema OfHosts(TableSchema schema) {
  const std::vector<TableColumn> columns =
      std::exchange(schema.columns, {HostColumn()});
  AddColumns(columns, schema);
  for (auto& index : schema.indexes) index.insert(index.begin(), "host");
  return schema;
}

class HostTables final : public TableWriter {
 public:
  explicit HostTables(TableWriter& out) : out_(out) {}

  // Whose rows come next.
  void SetHost(const HostTrace& host, const HostClock& clock) {
    name_ = host.name;
    clock_ = &clock;
  }
  bool Takes(std::string_view table) const override {
    return out_.Takes(table);
  }
  RowWriter* Begin(const TableSchema& schema) override;
  absl::Status Finish() override { return status(); }  // of a host
  void WriteWaiting() {
    for (const auto& table : tables_) {
      if (table->out != nullptr) continue;
      table->out = out_.Begin(table->schema);
      for (std::vector<Value>& row : table->waiting) {
        row.resize(table->schema.columns.size());
        table->out->Write(row);
      }
    }
  }

 private:
  struct Table {
    TableSchema schema;        // with the columns of the hosts so far
    RowWriter* out = nullptr;  // null: rows wait
    std::vector<std::vector<Value>> waiting = {};
  };
  class Rows;

  TableWriter& out_;
  std::string_view name_;
  const HostClock* clock_ = nullptr;
  std::vector<std::unique_ptr<Table>> tables_;  // in the order of Begin()
  std::vector<std::unique_ptr<RowWriter>> rows_;
  std::set<std::string, std::less<>> texts_;  // of rows that wait
};

// The rows of one host in one table.
class HostTables::Rows final : public RowWriter {
 public:
  Rows(HostTables& all, Table& table, const TableSchema& schema)
      : RowWriter(all, schema), all_(all), table_(table) {
    const auto& columns = table.schema.columns;
    for (const TableColumn& column : schema.columns) {
      places_.push_back(
          std::ranges::find(columns, column.name, &TableColumn::name) -
          columns.begin());
    }
  }

 protected:
  absl::Status Put(std::span<const Value> row) override {
    row_.assign(table_.schema.columns.size(), Value());
    row_[0] = all_.name_;
    for (std::size_t i = 0; i < row.size(); ++i) {
      Value& value = row_[static_cast<std::size_t>(places_[i])] = row[i];
      const auto* const number = std::get_if<std::int64_t>(&row[i]);
      if (number != nullptr && schema().columns[i].is_instant) {
        value =
            Integer(all_.clock_->Common(static_cast<std::uint64_t>(*number)));
      }
      const auto* const text = std::get_if<std::string_view>(&row[i]);
      if (text == nullptr || table_.out != nullptr) continue;
      value = std::string_view(*all_.texts_.emplace(*text).first);
    }
    if (table_.out != nullptr) {
      table_.out->Write(row_);
    } else {
      table_.waiting.push_back(row_);
    }
    return all_.out_.status();
  }

 private:
  HostTables& all_;
  Table& table_;
  std::vector<std::ptrdiff_t> places_;  // of the host's columns in the table
  std::vector<Value> row_;
};

RowWriter* HostTables::Begin(const TableSchema& schema) {
  auto table = std::ranges::find_if(tables_, [&](const auto& one) {
    return one->schema.name == schema.name;
  });
  if (table == tables_.end()) {
    tables_.push_back(std::make_unique<Table>(Table{OfHosts(schema)}));
    table = tables_.end() - 1;
    if (std::ranges::count(StreamedTables(), schema.name, &TableSchema::name)) {
      (*table)->out = out_.Begin((*table)->schema);
    }
  }
  AddColumns(schema.columns, (*table)->schema);
  rows_.push_back(std::make_unique<Rows>(*this, **table, schema));
  return rows_.back().get();
}

}  // namespace

absl::StatusOr<std::vector<TableSchema>> TablesOf(
    const std::vector<HostTrace>& traces,
    const std::vector<HostClock>& clocks) {
  std::vector<TableSchema> all;
  for (const HostTrace& trace : traces) {
    auto tables = TablesOf(trace.reader->info());
    if (!tables.ok() || clocks.empty()) return tables;
    for (TableSchema& table : *tables) {
      const auto found = std::ranges::find(all, table.name, &TableSchema::name);
      if (found == all.end()) {
        all.push_back(OfHosts(std::move(table)));
      } else {
        AddColumns(table.columns, *found);
      }
    }
  }
  all.push_back(HostsTable());
  return all;
}

absl::StatusOr<std::string> ExportTables(
    const std::vector<HostTrace>& traces, const std::vector<HostClock>& clocks,
    const std::vector<ExportRows>& rows,
    const logformat::ProgressCallback& progress, TableWriter& writer) {
  if (clocks.empty()) {
    return ExportTables(*traces[0].reader, rows[0], progress, writer);
  }
  HostTables tables(writer);
  std::string names = kHosts;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    tables.SetHost(traces[i], clocks[i]);
    const auto of_host =
        ExportTables(*traces[i].reader, rows[i], progress, tables);
    if (!of_host.ok()) return of_host;
    absl::StrAppend(&names, "; of ", traces[i].name, ": ", *of_host);
  }
  tables.WriteWaiting();
  RowWriter* const hosts =
      writer.Takes(kHosts) ? writer.Begin(HostsTable()) : nullptr;
  for (std::size_t i = 0; hosts != nullptr && i < traces.size(); ++i) {
    WriteHost(traces[i], clocks[i], *hosts);
  }
  const absl::Status status = writer.Finish();
  if (status.ok()) return names;
  if (!absl::IsNotFound(status)) return status;
  return absl::NotFoundError(
      absl::StrCat(status.message(), "; the traces have ", names));
}

}  // namespace countrace::rmap
